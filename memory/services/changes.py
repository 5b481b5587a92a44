"""Changing what a memory says; what it said before stays in its history."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import IntegrityError, transaction

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.models import Memory, MemoryClaim, MemoryVersion, Status, Visibility, owner_scope
from memory.models.encrypted import reseal
from memory.privacy import meaning
from memory.recall.vocabulary import vocabularies
from memory.services.actors import UNSET, Actor, Permission, Target, write_target, written_scope
from memory.services.announcing import memories_changed
from memory.services.clock import now
from memory.services.drafts import Draft, Ready, make_ready, refuse_expired
from memory.services.embedding import embed_texts
from memory.services.features import require_memory
from memory.services.graph.turn import take_turn_for
from memory.services.hidden_places import forget_places
from memory.services.memories import visible_memory
from memory.services.narrowing import is_narrower, lock_with_drawn, take_along
from memory.services.settings import current_settings
from memory.services.times import insert_times, replace_times
from memory.services.token_vectors import reseal_token_vectors
from memory.services.writing import (
    Embedded,
    call_for_look,
    insert_postings,
    insert_vectors,
    move_scope,
    note_expiry,
    queue_vectors,
    remove_from_indexes,
    replace_labels,
)
from memory.text.tokens import ANALYZER_VERSION

CHANGEABLE: Final = frozenset(
    {
        "text", "category", "kind", "importance", "confidence", "tags", "topics", "source", "metadata",
        "occurred_at", "valid_from", "valid_until", "expires_at",
    }
)  # fmt: skip


def change_memory(
    *, actor: Actor, memory_id: UUID, changes: Mapping[str, Any], scope: Any = UNSET, version: int | None = None
) -> Memory:
    """Change fields of a live memory; what it said before stays in its history.

    Args:
        actor: who changes it.
        memory_id: which.
        changes: new values by field, see `CHANGEABLE`.
        scope: who may read it from now on, when given; what was drawn from it alone follows it to fewer readers, see
            `memory.services.narrowing.take_along`.
        version: refuse the change when the memory has another version by now.

    Raises:
        NotFound: not there or hidden.
        InvalidInput, TooLarge: a field that cannot be changed, or its value; nothing was changed.
        Conflict: another version, not live, or another live memory says the same already.
    """
    require_memory()
    actor.require(Permission.WRITE)
    unknown = sorted(set(changes) - CHANGEABLE)
    if unknown:
        raise InvalidInput(
            f"These fields cannot be changed: {', '.join(name[:40] for name in unknown[:5])}.", code="field.unknown"
        )
    target = None if scope is UNSET else write_target(actor, scope)
    with owner_scope(actor.owner_id):
        before = visible_memory(actor, memory_id)
        if target is not None and actor.agent_id is not None and before.agent_id != actor.agent_id:
            raise PermissionRefused("Only the agent that stored a memory, or a person, can change who may read it.")
        ready = make_ready(draft_of(before, changes), ring=keyring().of(actor.owner_id))
        if changes.get("expires_at") is not None:
            refuse_expired(ready, now=now())
        text_changed = "text" in changes and ready.text != before.text
    embedded = (
        embed_texts([ready.embeddable], owner_id=actor.owner_id, agent_id=actor.agent_id) if text_changed else None
    )
    moment = now()
    with owner_scope(actor.owner_id):
        narrower = target is not None and is_narrower(before, target)
        row, drawn = _lock(before, narrower=narrower, moved=target is not None, at=moment)
        _require_current(row, version if version is not None else before.version)
        former = {name: _plain(getattr(row, name)) for name in changes if name != "text"}
        if target is not None:
            former["scope"] = written_scope(row.visibility, row.group_id)
        by_meaning = _kept_by_meaning(row, former) if text_changed else meaning.kinds_in(row.pii_kinds)
        _keep_version(row, actor, former, moment)
        reseal(row)
        sealed_for = row.sealing_agent_id
        _apply(row, ready, moment, by_meaning=by_meaning)
        if text_changed:
            _read_anew(row)
        if target is not None:
            _retarget(row, actor, target)
        save_unique(row)
        memories_changed()
        replace_labels(row, ready.labels)
        if text_changed:
            vocabularies.forget(actor.owner_id)
            remove_from_indexes([row.pk])
            add_to_indexes(row, ready, embedded, moment)
        else:
            note_expiry([row])
            if "occurred_at" in changes:
                replace_times(row)
        if target is not None:
            if not text_changed:
                move_scope(row)
                reseal_token_vectors(row, sealed_for=sealed_for)
            if narrower:
                take_along(row, drawn, left=before.scope, target=target, actor=actor, at=moment)
        return row


def draft_of(row: Memory, changes: Mapping[str, Any]) -> Draft:
    """Make the draft that a row would come from, with some fields changed."""
    values: dict[str, Any] = {
        "text": row.text, "kind": row.kind, "category": row.category, "tier": row.tier,
        "summary_level": row.summary_level, "importance": row.importance, "confidence": row.confidence,
        "tags": row.tags or (), "topics": row.topics or (), "source": row.source, "metadata": row.metadata,
        "occurred_at": row.occurred_at, "valid_from": row.valid_from, "valid_until": row.valid_until,
        "expires_at": row.expires_at, "role": row.role, "speaker": row.speaker, "tool_name": row.tool_name,
        "call_id": row.call_id,
    }  # fmt: skip
    return Draft(**{**values, **changes})


def _lock(before: Memory, *, narrower: bool, moved: bool, at: datetime) -> tuple[Memory, list[UUID]]:
    """Lock a memory, and what follows it to fewer readers, after the graph where that has to change too."""
    drawn = lock_with_drawn(before.pk, scope=before.scope, at=at) if narrower else []
    if moved and not narrower:
        take_turn_for([before.pk], at=at)
    row: Memory | None = Memory.objects.select_for_update().filter(pk=before.pk).first()
    if row is None:
        raise NotFound
    return row, drawn


def _require_current(row: Memory, version: int) -> None:
    if row.version != version:
        raise Conflict(
            "The memory was changed meanwhile. Nothing was changed; read it again.",
            code="memory.version",
            version=row.version,
        )
    if row.status != Status.LIVE:
        raise Conflict("Only a live memory can be changed. Restore it first.", code="memory.not_live")


def _keep_version(row: Memory, actor: Actor, former: Mapping[str, Any], moment: datetime) -> None:
    MemoryVersion.objects.create(
        memory_id=row.pk,
        number=row.version,
        text=row.text,
        changes=former,
        actor=actor.label,
        sealed_for=row.sealing_agent_id,
        scope=row.scope,
        reason="changed",
        created_at=moment,
    )


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _kept_by_meaning(row: Memory, former: dict[str, Any]) -> tuple[str, ...]:
    """Give the kinds by meaning that a memory keeps although its text changes: until the model has read the new one.

    Where it reads none, they go with the text. What they were stands in the history, so that lists mask what it said.
    """
    by_meaning = meaning.kinds_in(row.pii_kinds)
    if not by_meaning:
        return ()
    former["pii_kinds"] = list(row.pii_kinds)
    return by_meaning if current_settings()["values"]["privacy_model"] != "off" else ()


def _read_anew(row: Memory) -> None:
    """Let everything that reads texts read a changed one: what it claimed is not what it says now."""
    row.analyzer_version = ANALYZER_VERSION
    row.extracted_at = row.classified_at = None
    MemoryClaim.objects.filter(memory_id=row.pk).delete()
    forget_places(row)


def _apply(row: Memory, ready: Ready, moment: datetime, *, by_meaning: Sequence[str]) -> None:
    row.text, row.kind, row.category = ready.text, ready.kind, ready.category
    row.importance, row.confidence = ready.importance, ready.confidence
    row.tags, row.topics = ready.tags or None, ready.topics or None
    row.source, row.metadata, row.content_hash = ready.source, ready.metadata, ready.content_hash
    for name in ("valid_from", "valid_until", "expires_at"):
        setattr(row, name, ready.moments[name])
    row.occurred_at = ready.moments["occurred_at"] or row.occurred_at
    row.pii_kinds = sorted({*ready.pii_kinds, *by_meaning})
    row.pii_tier = int(max(ready.pii_tier, meaning.tier_of(by_meaning)))
    row.injection_kinds = ready.injection_kinds
    row.token_count, row.highest_tf = ready.length, max(ready.terms.values(), default=0)
    row.is_question, row.has_time = ready.signals.is_question, ready.signals.has_time
    row.has_number, row.name_hashes = ready.signals.has_number, ready.name_hashes
    row.updated_at = moment
    row.version += 1


def save_unique(row: Memory) -> None:
    """Save a row, turning a second live row with the same statement into a Conflict."""
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError as error:
        if "memory_statement_once" not in str(error):
            raise
        same = Memory.objects.filter(scope=row.scope, content_hash=row.content_hash, status=Status.LIVE).first()
        raise Conflict(
            "Another live memory says the same already. Nothing was changed.",
            code="memory.duplicate",
            memory_id=str(same.pk) if same else None,
        ) from error


def add_to_indexes(row: Memory, ready: Ready, embedded: Embedded | None, moment: datetime) -> None:
    """Put a live row into postings, times and vectors, or queue its vector, call for what is due and tell pages."""
    memories_changed()
    # In the order of `insert_rows`, so that no two writers wait for each other.
    insert_postings([(row, ready.terms, ready.length)])
    insert_times([row])
    note_expiry([row])
    if row.classified_at is None:
        call_for_look([ready], now=moment, flagged=row.pii_tier > 0)
    if embedded is None:
        queue_vectors([row.pk], now=moment)
    else:
        insert_vectors([row], embedded)


def _retarget(row: Memory, actor: Actor, target: Target) -> None:
    row.visibility, row.scope, row.group_id = target.visibility, target.scope, target.group_id
    if target.visibility == Visibility.AGENT:
        row.agent_id = actor.agent_id
