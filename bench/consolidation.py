"""Consolidation without a language model: turns a second, and what idle cycles do to a store that stays the same."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final
from uuid import UUID

from bench.database import analyze, new_owner
from bench.dataset import Item, Store
from memory.errors import InvalidInput
from memory.ids import new_id
from memory.models import (
    ConsolidationRun,
    DueWork,
    Entity,
    Memory,
    Relation,
    RunState,
    RunTrigger,
    Status,
    Tier,
    owner_scope,
)
from memory.ports import Passage
from memory.recall.profiles import shipped
from memory.services import clock
from memory.services.actors import Actor
from memory.services.consolidation.choices import tools_of
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import search
from memory.services.settings import change_settings
from memory.services.turns import MAX_TURNS, TurnDraft, ingest_turns

SECONDS: Final = 600.0
MOST_RUNS: Final = 10_000
MOST_QUESTIONS: Final = 40
CYCLE: Final = timedelta(minutes=5)
MOST_SETTLING: Final = 2_000


class _Moved:
    """A clock that moves only when it is told to."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def now(self) -> datetime:
        """Give its moment."""
        return self.at


def measure(
    stores: Sequence[Store], *, turns: int, cycles: int, tell: Callable[[str], None], extractor: str = "rules"
) -> dict[str, Any]:
    """Store turns of one owner, consolidate them, and then run idle cycles of every stage over what is there.

    Vectors wait in the queue and no language model is asked, so what is timed is selection, extraction, the gate, and
    all writing. Between two cycles the clock moves by five minutes; questions are asked of the same moment before and
    after, since the ranking of statements depends on their age.

    Args:
        stores: whose turns are taken, in order.
        turns: how many of them.
        cycles: idle cycles.
        tell: prints a line.
        extractor: `rules` or `spacy`, whose model is loaded before the time begins.

    Raises:
        InvalidInput: fewer turns than asked for, or an extractor that is not installed.
        RuntimeError: a run failed.
    """
    items = [item for store in stores for item in store.items if item.session is not None][:turns]
    if not 1 <= turns <= len(items):
        raise InvalidInput(f"turns is a number from 1 to {len(items)}.", code="bench.range")
    actor = new_owner()
    change_settings(actor=actor, changes={"consolidation_extractor": extractor})
    _load(extractor)
    _ingest(actor, items)
    analyze()
    tell(f"{turns} turns stored")
    begun = time.perf_counter()
    failed = _draw(actor)
    seconds = time.perf_counter() - begun
    tell(f"{turns / seconds:.1f} turns/s")
    questions = [question.text for store in stores for question in store.questions][:MOST_QUESTIONS]
    with _standing_clock() as time_:
        _settle(actor, time_)
        start, end = time_.at, time_.at + cycles * CYCLE
        time_.at = end
        facts, ranked = _facts(actor), _ranked(actor, questions)
        time_.at = start
        for _ in range(cycles):
            _cycle(actor)
            time_.at += CYCLE
        after, ranked_after = _facts(actor), _ranked(actor, questions)
    with owner_scope(actor.owner_id):
        return {
            "extractor": extractor,
            "turns": turns,
            "turns_per_s": round(turns / seconds, 1),
            "facts": len(facts),
            "entities": Entity.objects.count(),
            "relations": Relation.objects.count(),
            "failed_writes": failed,
            "cycles": cycles,
            "questions": len(questions),
            "facts_lost": len(facts - after),
            "rank_changes": sum(one != other for one, other in zip(ranked, ranked_after, strict=True)),
            "rss_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }


def _load(extractor: str) -> None:
    """Let an extractor read one text, so that its model is there when the time begins."""
    chosen = {"sleep": "off", "privacy_model": "off", "consolidation_batch_characters": 4_000}
    tools = tools_of({"consolidation_extractor": extractor, **chosen})
    if tools.notes:
        raise InvalidInput(f"the extractor {extractor} is not installed.", code="bench.extractor")
    tools.extractor.extract([Passage(key="first", text="I live in Lisbon.", occurred_at=clock.now())])


def _ingest(actor: Actor, items: Sequence[Item]) -> None:
    for session, group in groupby(items, key=lambda item: item.session):
        drafts = [
            TurnDraft(draft=Draft(text=item.text, role=item.role, speaker=item.speaker, occurred_at=item.at))
            for item in group
        ]
        for start in range(0, len(drafts), MAX_TURNS):
            ingest_turns(actor=actor, session=str(session), turns=drafts[start : start + MAX_TURNS])


def _draw(actor: Actor) -> int:
    """Draw from everything that was stored; gives how many rows could not be written."""
    failed = 0
    for _ in range(MOST_RUNS):
        run = _run(actor, [Group.KNOWLEDGE])
        failed += run.failed_writes
        if not run.backlog_rows or not run.rows_seen:
            return failed
    raise RuntimeError("consolidation leaves a backlog")


def _cycle(actor: Actor) -> None:
    # Vectors are late for as long as nothing embeds, and a run by itself makes way for them.
    DueWork.objects.filter(owner_id=actor.owner_id).delete()
    _run(actor, list(Group), trigger=RunTrigger.SCHEDULE)


def _settle(actor: Actor, time_: _Moved) -> None:
    """Run cycles until every stage has seen all that was stored: the sleep pass takes a few rows at a time."""
    before = -1
    for _ in range(MOST_SETTLING):
        _cycle(actor)
        time_.at += CYCLE
        with owner_scope(actor.owner_id):
            waiting = Memory.objects.filter(status=Status.LIVE, slept_at=None).count()
        if waiting == before:
            return
        before = waiting
    raise RuntimeError("the sleep pass does not come to an end")


def _run(actor: Actor, groups: Sequence[Group], *, trigger: RunTrigger = RunTrigger.HAND) -> ConsolidationRun:
    run = run_consolidation(owner_id=actor.owner_id, trigger=trigger, groups=groups, seconds=SECONDS)
    if run is None or run.state != RunState.DONE:
        raise RuntimeError(f"consolidation ended as {run.state if run else 'busy'}")
    return run


def _facts(actor: Actor) -> set[str]:
    with owner_scope(actor.owner_id):
        rows = Memory.objects.filter(status=Status.LIVE, tier=Tier.SEMANTIC, session__isnull=True)
        return {row.text for row in rows.defer("metadata")}


def _ranked(actor: Actor, questions: Sequence[str]) -> list[list[UUID]]:
    """Ask the questions without counting that as a use."""
    profile, ranked = shipped("default"), []
    for text in questions:
        request = RecallRequest(query=text)
        query = prepare_query(actor, text, request)
        with owner_scope(actor.owner_id):
            ranked.append([hit.memory.pk for hit in search(query, profile, request, new_id()).hits])
    return ranked


@contextmanager
def _standing_clock() -> Iterator[_Moved]:
    # In the morning, so that no day ends while the store has to stay as it is.
    moved = _Moved(clock.now().replace(hour=4, minute=0, second=0, microsecond=0) + timedelta(days=1))
    clock.set_clock(moved)
    try:
        yield moved
    finally:
        clock.set_clock(None)
