"""The actions of `manage.py telemetry` about turn events and test mode."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from memory.management.answers import answer, counted
from memory.services.actors import Actor
from memory.services.legible import UNREADABLE
from telemetry.management.actions import ActionSpec, Options, Write
from telemetry.management.arguments import up_to
from telemetry.models import Outcome, Stream
from telemetry.services.turns.events import (
    DEFAULT_DAYS,
    MOST_DAYS,
    EventsRequest,
    ShownEvent,
    TelemetryStatus,
    list_events,
    telemetry_status,
)
from telemetry.services.turns.pruning import prune
from telemetry.services.turns.test_mode import TestMode, set_test_mode, test_mode

DEFAULT_LIMIT: Final = 20
MOST_LIMIT: Final = 10_000


def show_status(actor: Actor, options: Options, write: Write) -> None:
    """Tell how an owner's turn events stand, without what was recorded in this process, which has only just begun."""
    found = telemetry_status(actor=actor)
    value = asdict(found)
    del value["recording"]
    answer(write, value, as_json=options["json"], lines=_standing(found))


def show_events(actor: Actor, options: Options, write: Write) -> None:
    """List turn events, newest first, with personal data covered unless `--reveal` is given."""
    standing = telemetry_status(actor=actor)
    request = EventsRequest(
        days=options["days"],
        stream=options["stream"] or standing.stream,
        spoke=options["spoke"],
        outcome=options["outcome"],
        masked=not options["reveal"],
    )
    rows = list_events(actor=actor, request=request, after=None, size=options["limit"])
    value = {
        "stream": request.stream,
        "test_mode": standing.test_mode,
        "days": request.days,
        "unreadable": sum(row.unreadable for row in rows),
        "items": [_event(row) for row in rows],
    }
    lines = [_line(row) for row in rows] or [f"No events of the last {request.days} days."]
    if standing.test_mode:
        lines.insert(0, described(test_mode(actor=actor)))
    answer(write, value, as_json=options["json"], lines=lines)


def remove_old(actor: Actor, options: Options, write: Write) -> None:
    """Remove events that are past their time or too many."""
    gone = prune(actor=actor)
    events, vectors = counted(gone.events, "event"), counted(gone.vectors, "vector")
    lines = [f"{events}, {vectors} and {counted(gone.spokes, 'spoke')} were removed."]
    answer(write, asdict(gone), as_json=options["json"], lines=lines)


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


def _event(row: ShownEvent) -> dict[str, Any]:
    """Name the parts of an event as the REST API does."""
    value = asdict(row)
    return {"event_id": value.pop("event_id"), "id": value.pop("id"), "timestamp": value.pop("occurred_at"), **value}


def _standing(found: TelemetryStatus) -> list[str]:
    kept = f"kept for {counted(found.retention_days, 'day')}, {found.most_events} at most"
    return [
        "Telemetry is on." if found.enabled else "Telemetry is switched off in this installation; nothing is kept.",
        described(TestMode(found.test_mode, found.test_mode_since)),
        f"{counted(found.live_events, 'event')}, {kept}; {found.test_events} in the test stream.",
    ]


def _line(row: ShownEvent) -> str:
    request = UNREADABLE if row.request is None else " ".join(row.request.split())
    spoke = row.matched_spoke or UNREADABLE
    # 0 stands for a duration that was not told.
    took = f"{row.duration_ms} ms" if row.duration_ms else "–"
    return f"{row.occurred_at:%Y-%m-%d %H:%M:%S}  {row.outcome:9}  {spoke}  {took}  {request}"


def _take_state(parser: ArgumentParser) -> None:
    parser.add_argument("state", nargs="?", choices=["on", "off"], help="what to switch to; left out: tell")


def _take_choice(parser: ArgumentParser) -> None:
    parser.add_argument("--days", type=up_to(MOST_DAYS), default=DEFAULT_DAYS, metavar="N", help="from N days back")
    parser.add_argument("--limit", type=up_to(MOST_LIMIT), default=DEFAULT_LIMIT, metavar="N", help="at most N events")
    parser.add_argument("--stream", choices=Stream.values, help="the one that events go to now when left out")
    parser.add_argument("--spoke", metavar="NAME", help="handed to the part of this name")
    parser.add_argument("--outcome", choices=Outcome.values, help="that ended so")
    parser.add_argument("--reveal", action="store_true", help="with personal data, which is covered otherwise")


ACTIONS: Final[Mapping[str, ActionSpec]] = {
    "status": ActionSpec("tell how turn events stand", show_status),
    "events": ActionSpec("list turn events, newest first", show_events, _take_choice),
    "test-mode": ActionSpec("switch test mode, which empties its stream", switch_test_mode, _take_state),
    "prune": ActionSpec("remove events past their time or too many, at once", remove_old),
}
