"""Recall beside summaries that a real run made: a turn is not crowded by what quotes it, at one query more."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.services import clock
from memory.services.actors import Actor
from memory.services.consolidation.summaries import summarise
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from tests.integration.consolidation.stage import MONDAY, Stopped, made, run, say

pytestmark = pytest.mark.django_db

SUNDAY = datetime(2026, 3, 8, 0, 30, tzinfo=UTC)


@pytest.fixture(autouse=True)
def time(monkeypatch: pytest.MonkeyPatch) -> Stopped:
    stopped = Stopped()
    monkeypatch.setattr(clock, "_clock", stopped)
    return stopped


def asked(owner: Actor, query: str) -> tuple[list[tuple[str, tuple[str, ...]]], list[str]]:
    """Give the hits with the levels of those they name, and the statements that read what summaries rest on."""
    levels = {row.pk: row.summary_level for row in made(owner, kind="summary")}
    with CaptureQueriesContext(connection) as seen:
        hits = recall(actor=owner, request=RecallRequest(query=query, limit=4, reinforce=False, record=False)).hits
    found = [
        (levels.get(hit.memory.pk, hit.memory.text), tuple(sorted(map(levels.__getitem__, hit.also)))) for hit in hits
    ]
    return found, [one["sql"] for one in seen.captured_queries if "WITH RECURSIVE rests" in one["sql"]]


def test_what_quotes_a_turn_is_named_by_it(alice: Actor, time: Stopped) -> None:
    roof = "Marta repairs the roof of the barn in Porto."
    say(alice, "talk", ("user", roof), ("user", "Al sold his sailing boat to Renée."),
        ("user", "Renée and Al fly to Lisbon on 12 May."), at=MONDAY)  # fmt: skip
    question = "Who repairs the roof of the barn?"
    found, read = asked(alice, question)
    assert (found[0], read) == ((roof, ()), [])
    time.at = SUNDAY
    run(summarise, alice, SUNDAY)
    assert [row.summary_level for row in made(alice, kind="summary")] == ["session", "daily", "weekly", "global"]
    found, read = asked(alice, question)
    assert found[0] == (roof, ("daily", "global", "session", "weekly"))
    assert len(read) == 1
    assert not {"session", "daily", "weekly", "global"} & {one for one, _ in found}
    # What no single turn tells is answered by the narrowest summary, once.
    found, _ = asked(alice, "roof boat Lisbon")
    assert {one for one, _ in found} & {"daily", "weekly", "global"} == set()
