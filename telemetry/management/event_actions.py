"""The actions of `manage.py telemetry` about turn events and test mode."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from memory.management.answers import answer
from memory.services.actors import Actor
from telemetry.management.actions import ActionSpec, Options, Write
from telemetry.services.test_mode import TestMode, set_test_mode, test_mode


def switch_test_mode(actor: Actor, options: Options, write: Write) -> None:
    """Switch test mode, or tell whether it is on."""
    found = set_test_mode(actor=actor, enabled=options["state"] == "on") if options["state"] else test_mode(actor=actor)
    answer(write, asdict(found), as_json=options["json"], lines=[described(found)])


def described(found: TestMode) -> str:
    """Say in one sentence whether test mode is on."""
    if not found.enabled:
        return "Test mode is off."
    since = f"{found.since:%Y-%m-%d %H:%M:%S} UTC" if found.since else "some time"
    return f"TEST MODE IS ON since {since}: events go to the test stream, which the next switch empties."


def _take_state(parser: ArgumentParser) -> None:
    parser.add_argument("state", nargs="?", choices=["on", "off"], help="what to switch to; left out: tell")


ACTIONS: Final[Mapping[str, ActionSpec]] = {
    "test-mode": ActionSpec("switch test mode, which empties its stream", switch_test_mode, _take_state),
}
