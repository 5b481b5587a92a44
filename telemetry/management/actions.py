"""The form of an action of `manage.py telemetry`; each part of telemetry gives its own in a module here."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from memory.services.actors import Actor

Options = Mapping[str, Any]
Write = Callable[[str], object]


def no_arguments(parser: ArgumentParser) -> None:
    """Declare nothing beside `--owner` and `--json`, which every action takes."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """An action of the command.

    Attributes:
        help: what it does, a few words for `--help`.
        run: does it, for the operator acting for an owner; writes with `memory.management.answers.answer`.
        add_arguments: declares what it takes beside `--owner` and `--json`.
        csv: where it also answers with a table, `--csv`: what that holds, for `--help`. It goes with no `--json`.
    """

    help: str
    run: Callable[[Actor, Options, Write], None]
    add_arguments: Callable[[ArgumentParser], None] = no_arguments
    csv: str | None = None


@dataclass(frozen=True, slots=True)
class InstallationAction:
    """An action of the command that is about the installation and no owner.

    Attributes:
        help: what it does, a few words for `--help`.
        run: does it; writes with `memory.management.answers.answer`.
        add_arguments: declares what it takes beside `--json`.
    """

    help: str
    run: Callable[[Options, Write], None]
    add_arguments: Callable[[ArgumentParser], None] = no_arguments
