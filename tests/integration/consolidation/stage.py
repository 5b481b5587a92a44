"""Short ways to run a stage as a run would, at a moment that a test sets."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from memory.ids import new_id
from memory.models import EdgeKind, Memory, MemoryEdge, MemorySource, Status, owner_scope
from memory.ports import Extract, Passage
from memory.services.actors import UNSET, Actor, system
from memory.services.consolidation.stages import Stage, StageContext, StageReport
from memory.services.drafts import Draft
from memory.services.settings_table import OWNER_SETTINGS
from memory.services.turns import TurnDraft, ingest_turns

MONDAY = datetime(2026, 3, 2, 9, tzinfo=UTC)


class NoExtractor:
    """The stages that are tested here draw nothing from texts."""

    name = "none"
    prompts = False

    def extract(self, passages: Sequence[Passage]) -> Extract:
        raise AssertionError("nothing is drawn here")


class Stopped:
    """A clock that a test moves."""

    def __init__(self, at: datetime = MONDAY) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def pass_(self, **span: float) -> datetime:
        self.at += timedelta(**span)
        return self.at


def run(stage: Stage, owner: Actor, at: datetime, *, model: Any = None, **settings: Any) -> StageReport:
    """Run a stage for an owner; `by_hand` and `local` are the context's, everything else is a setting."""
    options = {name: settings.pop(name) for name in ("by_hand", "local") if name in settings}
    values = {name: one.default for name, one in OWNER_SETTINGS.items()} | settings
    context = StageContext(
        actor=system(owner.owner_id),
        run_id=new_id(),
        moment=at,
        settings=values,
        extractor=NoExtractor(),
        model=model,
        **options,
    )
    (report,) = stage(context)
    return report


def say(
    actor: Actor, session: str, *turns: tuple[str, str] | Draft, at: datetime, scope: Any = UNSET
) -> tuple[UUID, list[UUID]]:
    """Store turns (role and text, or drafts) a minute apart and give the session's id and theirs."""
    drafts = [
        one if isinstance(one, Draft) else Draft(text=one[1], role=one[0], occurred_at=at + timedelta(minutes=place))
        for place, one in enumerate(turns)
    ]
    stored = ingest_turns(actor=actor, session=session, turns=[TurnDraft(draft=one) for one in drafts], scope=scope)
    assert stored.session_id is not None
    ids = [one.memory_id for one in stored.turns if one.memory_id is not None]
    assert len(ids) == len(turns), stored.turns
    return stored.session_id, ids


def made(owner: Actor, *, kind: str, status: str = Status.LIVE, **filters: Any) -> list[Memory]:
    """List memories of a kind, oldest first, with their texts opened."""
    with owner_scope(owner.owner_id):
        rows = list(Memory.objects.filter(kind=kind, status=status, **filters).order_by("created_at", "pk"))
        for row in rows:
            assert row.text
            _ = row.source, row.tags, row.metadata
        return rows


def sources_of(owner: Actor, row: Memory) -> set[UUID | None]:
    """Give what a memory is made from."""
    with owner_scope(owner.owner_id):
        return set(MemorySource.objects.filter(memory_id=row.pk).values_list("turn_id", flat=True))


def edges_from(owner: Actor, source: UUID, kind: EdgeKind) -> set[UUID]:
    """Give where the links of a kind lead from a memory."""
    with owner_scope(owner.owner_id):
        return set(MemoryEdge.objects.filter(source_id=source, kind=kind).values_list("target_id", flat=True))


def edges_to(owner: Actor, target: UUID, kind: EdgeKind) -> set[UUID]:
    """Give from where the links of a kind lead to a memory."""
    with owner_scope(owner.owner_id):
        return set(MemoryEdge.objects.filter(target_id=target, kind=kind).values_list("source_id", flat=True))


def everything(owner: Actor) -> list[tuple[Any, ...]]:
    """Give every memory and link as plain values, so that two moments can be compared."""
    with owner_scope(owner.owner_id):
        rows = Memory.objects.order_by("pk")
        memories = [(row.pk, row.status, row.version, row.text, row.updated_at) for row in rows]
        edges = MemoryEdge.objects.order_by("pk").values_list("pk", "source_id", "target_id", "kind", "weight")
        return [*memories, *edges]
