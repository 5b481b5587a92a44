"""Memories that consolidation makes from others: stored with their sources and links, renewed, and found again.

Each bears in its metadata what it is about (`about`), whose keyed label finds it without opening any row.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.models import (
    EdgeKind,
    LabelKind,
    Memory,
    MemoryEdge,
    MemoryLabel,
    MemorySource,
    Session,
    Status,
    SummaryLevel,
    Visibility,
    current_owner,
)
from memory.recall.metadata import entry
from memory.services.actors import Actor, Target
from memory.services.drafts import Draft, Ready, make_ready
from memory.services.embedding import embed_texts
from memory.services.sealed_values import is_closed
from memory.services.writing import Embedded, build_row, insert_rows, remove_from_indexes

ORIGIN: Final = "consolidation"
ABOUT: Final = "about"
MOST_SOURCES: Final = 500
MOST_LINKS: Final = 50
LINK_WEIGHT: Final = 0.7


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivation:
    """A memory to make from others.

    Attributes:
        draft: what it says; its metadata holds `about`.
        target: who may read it: the scope of all that it is made from.
        sources: the memories that it is made from, the most telling first; at most 500 are kept as sources.
        link: `derived_from` leads from the new memory to its sources, `part_of` from them to it; at most 50.
    """

    draft: Draft
    target: Target
    sources: Sequence[UUID]
    link: EdgeKind = EdgeKind.DERIVED_FROM


@dataclass(frozen=True, slots=True)
class Prepared:
    """A derivation that is checked and embedded, ready to be written."""

    derivation: Derivation
    ready: Ready
    embedded: Embedded | None


def prepare(actor: Actor, derivation: Derivation) -> Prepared:
    """Check a derivation and embed its text; never call it inside a transaction."""
    ready = make_ready(derivation.draft, ring=keyring().of(actor.owner_id))
    return Prepared(
        derivation, ready, embed_texts([ready.embeddable], owner_id=actor.owner_id, agent_id=actor.agent_id)
    )


def write(actor: Actor, prepared: Prepared, *, replaces: Memory | None = None, moment: datetime) -> Memory | None:
    """Store a derived memory; call it within `change_graph`.

    Args:
        actor: for whom it is made.
        prepared: what is stored.
        replaces: the live memory whose place it takes; that one stays in the history, and is left as it is when it
            says the same.
        moment: the moment of writing.

    Returns:
        The memory that says this now; None when one of its sources has been erased or hidden meanwhile, so that
        nothing was stored.
    """
    derivation = prepared.derivation
    sources = list(dict.fromkeys(derivation.sources))[:MOST_SOURCES]
    present = set(
        Memory.objects.filter(pk__in=sources, scope=derivation.target.scope)
        .exclude(status=Status.ERASING)
        .values_list("pk", flat=True)
    )
    if len(present) < len(sources):
        return None
    row = _same(prepared, replaces)
    if row is None:
        if replaces is not None:
            supersede(replaces, moment=moment)
        row = _insert(actor, prepared, moment)
        if replaces is not None:
            link([(replaces.pk, row.pk)], kind=EdgeKind.FOLLOWED_BY, target=derivation.target, moment=moment)
    note_sources(row, sources, moment=moment)
    inward = derivation.link == EdgeKind.PART_OF
    pairs = [(one, row.pk) if inward else (row.pk, one) for one in sources[:MOST_LINKS] if one != row.pk]
    link(pairs, kind=derivation.link, target=derivation.target, moment=moment)
    return row


def _same(prepared: Prepared, replaces: Memory | None) -> Memory | None:
    """Find a live statement with the same text in the same scope; one that is replaced counts too."""
    if replaces is not None and bytes(replaces.content_hash) == prepared.ready.content_hash:
        return replaces
    found: Memory | None = Memory.objects.filter(
        scope=prepared.derivation.target.scope,
        content_hash=prepared.ready.content_hash,
        status=Status.LIVE,
        session__isnull=True,
    ).first()
    return found


def _insert(actor: Actor, prepared: Prepared, moment: datetime) -> Memory:
    target = prepared.derivation.target
    row = build_row(prepared.ready, actor=actor, target=target, now=moment)
    if target.visibility == Visibility.AGENT:
        # The agent whose own key seals the row, since none but it may read it.
        row.agent_id = target.scope
    row.extracted_at = moment
    insert_rows([row], [prepared.ready], embedded=prepared.embedded, now=moment)
    # A statement without a turn counts as said by somebody; this one stands on what it was made from alone.
    MemorySource.objects.filter(memory_id=row.pk, turn=None).delete()
    return row


def note_sources(row: Memory, sources: Iterable[UUID], *, moment: datetime) -> None:
    """Note what a derived memory is made from; what is noted already stays as it is."""
    known = set(MemorySource.objects.filter(memory_id=row.pk).values_list("turn_id", flat=True))
    MemorySource.objects.bulk_create(
        [
            MemorySource(
                owner_id=row.owner_id,
                memory_id=row.pk,
                turn_id=one,
                sealed_for=row.sealing_agent_id,
                scope=row.scope,
                source=row.source,
                created_at=moment,
            )
            for one in sources
            if one not in known and one != row.pk
        ]
    )


def link(pairs: Sequence[tuple[UUID, UUID]], *, kind: EdgeKind, target: Target, moment: datetime) -> None:
    """Link pairs of memories of one scope; links that are there already stay as they are."""
    if not pairs:
        return
    sealed_for = target.scope if target.visibility == Visibility.AGENT else None
    unnamed = keyring().of(current_owner()).name("relationship\0")
    rows = [
        MemoryEdge(
            source_id=source,
            target_id=end,
            kind=kind,
            weight=LINK_WEIGHT,
            relationship_hash=unnamed,
            scope=target.scope,
            sealed_for=sealed_for,
            created_at=moment,
        )
        for source, end in sorted(set(pairs))
    ]
    MemoryEdge.objects.bulk_create(rows, ignore_conflicts=True)


def supersede(row: Memory, *, moment: datetime) -> None:
    """Retire a memory because a newer one took its place: no recall finds it, looking back still shows it."""
    remove_from_indexes([row.pk])
    row.status, row.archive_reason, row.archived_at = Status.SUPERSEDED, "superseded", moment
    row.valid_until = row.valid_until or max(moment, row.valid_from or moment)
    row.retracted_at, row.updated_at = moment, moment
    row.save(update_fields=["status", "archive_reason", "archived_at", "valid_until", "retracted_at", "updated_at"])


def made_about(actor: Actor, about: str, *, kind: str, scope: UUID) -> list[Memory]:
    """List the memories of a scope that consolidation made about something, within the owner's scope, oldest first.

    Those that newer ones took the place of are left out; archived ones are listed.
    """
    label = keyring().of(actor.owner_id).name(str(entry(ABOUT, about)))
    ids = MemoryLabel.objects.filter(kind=LabelKind.METADATA, label=label).values("memory_id")
    rows = Memory.objects.filter(pk__in=ids, kind=kind, scope=scope, session__isnull=True)
    found = rows.filter(status__in=[Status.LIVE, Status.ARCHIVED]).order_by("created_at", "pk")
    return [row for row in found if made_here(row)]


def live_about(actor: Actor, about: str, *, kind: str, scope: UUID) -> Memory | None:
    """Give the live one of `made_about`, if there is one."""
    found = [row for row in made_about(actor, about, kind=kind, scope=scope) if row.status == Status.LIVE]
    return found[-1] if found else None


def told_about(actor: Actor, abouts: Collection[str]) -> set[tuple[UUID, str]]:
    """Tell about which of some things memories were made, of any status, as pairs of a scope and the thing."""
    ring = keyring().of(actor.owner_id)
    labels = {ring.name(str(entry(ABOUT, about))): about for about in abouts}
    found = MemoryLabel.objects.filter(kind=LabelKind.METADATA, label__in=list(labels))
    return {(scope, labels[label]) for scope, label in found.values_list("memory__scope", "label")}


def made_here(row: Memory) -> bool:
    """Tell whether consolidation made a memory, which its source says."""
    return (row.source or "").split("/", 1)[0] == ORIGIN


def target_of(row: Memory) -> Target:
    """Give who may read what is made from a memory: those who may read it."""
    return Target(row.visibility, row.scope, row.group_id)


def summaries_quoting(memory_ids: Sequence[UUID]) -> list[UUID]:
    """List the summaries that were made from some memories which are about to be erased, and those made from these.

    They quote what is erased, so they have to go with it; the sessions and days are summed up anew from what stays.
    Call it within the owner's scope, before the memories are deleted, and delete what it gives too.
    """
    found: dict[UUID, None] = {}
    ring = list(memory_ids)
    while ring:
        made = Memory.objects.filter(
            pk__in=MemorySource.objects.filter(turn_id__in=ring).values("memory_id"), kind="summary"
        ).exclude(summary_level=SummaryLevel.RAW)
        # One that does not open any more may be one of ours, and says nothing to anybody.
        fresh = [row for row in made.order_by("pk") if row.pk not in found]
        ring = [row.pk for row in fresh if is_closed(row, "source") or made_here(row)]
        found.update(dict.fromkeys(ring))
    if found:
        sessions = Memory.objects.filter(pk__in=memory_ids, session__isnull=False).values("session_id")
        Session.objects.filter(pk__in=sessions).update(summarised_until=0)
    return list(found)
