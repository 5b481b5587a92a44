"""Whose memories a command is about, and as whom it acts."""

from __future__ import annotations

from uuid import UUID

from memory.errors import InvalidInput
from memory.services.actors import Actor, operator
from memory.services.logins import owner_named


def named_owner(login: str | None) -> UUID:
    """Find the owner that `--owner` names, the only one there is when it was left out.

    Raises:
        NotFound: no such login, none joined to it, or no owner at all.
        InvalidInput: no login, although there are several owners; the message says what to type.
    """
    try:
        return owner_named(login)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error.message} Add --owner LOGIN; `manage.py owner list` shows the logins.", code=error.machine_code
        ) from error


def acting_for(login: str | None) -> Actor:
    """Give the operator as who acts for the owner that `--owner` names; raises what `named_owner` raises."""
    return operator(named_owner(login))


def owners_counted(number: int) -> str:
    """Say how many owners a sentence is about."""
    return "1 owner" if number == 1 else f"{number:,} owners"
