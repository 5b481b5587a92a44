"""The measurement of consolidation end to end: turns are drawn from, and idle cycles change nothing."""

from __future__ import annotations

import pytest

from bench import consolidation, personas
from memory.errors import InvalidInput

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def test_a_few_turns_and_idle_cycles() -> None:
    told: list[str] = []
    figures = consolidation.measure(personas.load()[:1], turns=60, cycles=3, tell=told.append)
    assert (figures["turns"], figures["cycles"], figures["questions"]) == (60, 3, consolidation.MOST_QUESTIONS)
    assert figures["entities"] > 10
    assert figures["relations"] > 0
    assert (figures["facts_lost"], figures["rank_changes"], figures["failed_writes"]) == (0, 0, 0)
    assert figures["turns_per_s"] > 0
    assert figures["rss_mib"] > 0
    assert len(told) == 2


def test_more_turns_than_there_are() -> None:
    with pytest.raises(InvalidInput):
        consolidation.measure(personas.load()[:1], turns=100_000, cycles=1, tell=print)
