"""Readers of arguments that several actions of `manage.py telemetry` take; what they cannot use argparse refuses."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.management.agents import agent_named
from memory.services.actors import Actor
from memory.text.limits import checked_moment

MOST_DIGITS: Final = 9
SHOWN: Final = 40


def id_of(text: str) -> UUID:
    """Read an id."""
    try:
        return UUID(text)
    except ValueError:
        raise ArgumentTypeError(f"{text[:SHOWN]!r} is no id.") from None


def agent_id(actor: Actor, named: str | None) -> UUID | None:
    """Give the id of the owner's agent that `--agent` names or gives the id of, None where it was left out.

    Raises:
        NotFound: `agent.unknown`; the message says what to type.
    """
    return None if named is None else agent_named(actor, named).pk


def moment(text: str) -> datetime:
    """Read a day or a moment."""
    try:
        return checked_moment(text)
    except InvalidInput as error:
        raise ArgumentTypeError(error.message) from None


def up_to(most: int) -> Callable[[str], int]:
    """Make a reader of whole numbers from 1 to `most`."""

    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or len(text) > MOST_DIGITS or not 1 <= int(text) <= most:
            raise ArgumentTypeError(f"{text[:SHOWN]!r} is no whole number from 1 to {most}.")
        return int(text)

    return number
