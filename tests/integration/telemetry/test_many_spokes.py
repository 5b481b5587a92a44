"""Owners with very many names of spokes: how many are kept, and how many a report names."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memory.models import owner_scope
from memory.services.actors import Actor
from telemetry.models import Spoke
from telemetry.services.coverage import rows
from telemetry.services.coverage.parts import FURTHER
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.turns import spokes
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.events import EventsRequest, list_events
from telemetry.services.turns.recording import record_events
from telemetry.services.turns.spoke_names import one_form
from tests.integration.api.conftest import Client

AgentMaker = Callable[..., tuple[Actor, str]]


def handed_to(actor: Actor, *names: str, times: int = 1) -> list[list[str]]:
    """Record a turn for each name; gives the codes of what is noted about each."""
    drafts = [TurnDraft(request="x", matched_spoke=name) for name in names for _ in range(times)]
    told = record_events(actor=actor, events=drafts)
    return [[note["code"] for note in one.notes] for one in told.events]


def names(owner: Actor) -> list[str]:
    with owner_scope(owner.owner_id):
        return sorted(spoke.name for spoke in Spoke.objects.all())


def test_further_ones_count_as_other(alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    assert spokes.MOST_SPOKES == 1_000
    monkeypatch.setattr(spokes, "MOST_SPOKES", 3)
    assert sorted(handed_to(alice, "a", "b", "c", "d", "e")) == [[], [], [], ["spoke.other"], ["spoke.other"]]
    assert (len(names(alice)), "other" in names(alice)) == (4, True)
    kept = [name for name in names(alice) if name != "other"]
    assert handed_to(alice, *kept) == [[], [], []]
    assert handed_to(alice, "f") == [["spoke.other"]]
    kept_turns = list_events(actor=alice, request=EventsRequest(), after=None, size=100)
    assert sum(one.matched_spoke == "other" for one in kept_turns) == 3
    assert handed_to(mallory, "a") == [[]]


def test_fallbacks_and_direct_always_have_room(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spokes, "MOST_SPOKES", 1)
    handed_to(alice, "a")
    assert handed_to(alice, "FALLBACK", "generic", "delegate_task", "", "Other") == [[], [], [], [], []]
    assert names(alice) == ["a", "delegate_task", "direct", "fallback", "generic", "other"]
    assert coverage_report(actor=alice, request=ReportRequest()).fallback_rate == 0.5


def test_a_report_names_100_and_opens_no_further_ones(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    handed_to(alice, "most", times=3)
    handed_to(alice, *(f"spoke {number}" for number in range(150)))
    opened = []

    def counted(row: Spoke, field: str) -> str:
        opened.append(row.pk)
        return str(getattr(row, field))

    monkeypatch.setattr(rows, "legible", counted)
    report = coverage_report(actor=alice, request=ReportRequest(top_n=1))
    assert len(report.coverage_by_spoke) == 101
    assert list(report.coverage_by_spoke)[0] == "most"
    further = report.coverage_by_spoke[FURTHER]
    assert (list(report.coverage_by_spoke)[-1], further.count, further.share) == (FURTHER, 51, round(51 / 153, 4))
    assert sum(one.count for one in report.coverage_by_spoke.values()) == report.total_turns == 153
    assert len(report.clusters[0].matched_spokes) <= 100
    assert len(set(opened)) == 100


def test_the_key_of_the_others_is_no_name() -> None:
    assert one_form(FURTHER) != FURTHER


def test_the_note_is_told_and_lists_have_single_lines(
    agent: Client, woman: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spokes, "MOST_SPOKES", 1)
    path = "/telemetry/pipeline-coverage/events"
    body = {"events": [{"request": "x", "matched_spoke": name} for name in ("Mail", "mail\nroot")]}
    told = agent.json("post", path, body)
    assert told.status_code == 201
    assert sorted(note["code"] for one in told.json()["events"] for note in one["notes"]) == ["spoke.other"]
    (kept,) = (name for name in names(agent.actor) if name != "other")
    found = woman.json("get", f"{path}?spoke=%20{kept.replace(' ', '%20%20')}%E2%80%8B").json()["items"]
    assert [one["matched_spoke"] for one in found] == [kept]
