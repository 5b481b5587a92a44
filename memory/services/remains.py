"""What would still hold the text of memories that are erased, although no row of theirs does.

Kept answers and explanations, the records by which merges are undone, and aliases and properties that entities have
learnt. Foreign keys take care of everything else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.db.models import Min, Q, QuerySet

from memory.crypto.keyring import keyring
from memory.errors import MemoryErased
from memory.graph.names import canonical
from memory.models import (
    Entity,
    EntityMention,
    EntityMerge,
    IdempotencyRecord,
    Memory,
    RecallRecord,
    Relation,
    ReviewEvidence,
    ReviewItem,
    ReviewKind,
    current_owner,
)
from memory.services.graph.naming import name_anew
from memory.services.graph.row_records import Record
from memory.services.sealed_values import is_closed
from memory.text.tokens import term_frequencies

ERASED: Final = {"erased": True}
"""What is kept of an answer that spoke of an erased memory."""

ENGLISH: Final = "english"
"""Every text is also split as English, so that a name has the same words there and alone."""

ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Whether another memory that speaks of an entity has all words of a text.
SAID_ELSEWHERE: Final = """
    SELECT EXISTS (
        SELECT FROM memory_lexposting p JOIN memory_entitymention x ON x.owner_id = p.owner_id
            AND x.memory_id = p.memory_id
        WHERE p.owner_id = %(owner)s AND x.entity_id = %(entity)s AND p.term = ANY(%(terms)s::bigint[])
          AND NOT p.memory_id = ANY(%(gone)s::uuid[])
        GROUP BY p.memory_id HAVING count(DISTINCT p.term) = %(count)s
    )
"""


def close_remains(memory_ids: Sequence[UUID], *, in_purge: bool = False) -> None:
    """Take what some memories said out of everything that would outlive them, just before they are deleted.

    Call it within the owner's scope, after `take_turn`, and after the memories left indexes and graph. An answer that
    is kept under an idempotency key becomes 410 `memory.erased`: whoever sends that request again does not store the
    text anew. What does not open any more, since its key is destroyed, says nothing and is left or removed.

    Args:
        memory_ids: memories of the current owner that are about to be erased.
        in_purge: whether a purge erases them. Then entities that were stated without a memory lose aliases and
            properties too, of which nobody knows whether they were stated or learnt; everyday erasing leaves them what
            they were given. And the purge closes explanations itself, once, by `close_explanations`.
    """
    gone = set(memory_ids)
    if not gone:
        return
    close_answers(gone)
    if not in_purge:
        _close_explanations_of(gone)
    _close_reviews(gone)
    unlearnt = _unlearn(gone, of_stated=in_purge)
    _close_merges(gone, unlearnt)


def close_answers(gone: Collection[UUID]) -> None:
    """Close the answers kept under idempotency keys that name one of some erased rows of any sort, wherever in them.

    Call it within the owner's scope. Reads every answer that is kept.
    """
    for row in IdempotencyRecord.objects.exclude(status=None).order_by("pk").iterator():
        if is_closed(row, "body") or _mentions(row.body, gone):
            row.status, row.body = MemoryErased.status, ERASED
            row.save(update_fields=["status", "body"])


def close_explanations() -> int:
    """Delete the explanations of recalls that found memories which are erased by now; gives their number.

    Call it within the owner's scope. Reads every explanation that is kept.
    """
    there = set(Memory.objects.values_list("pk", flat=True).iterator())
    return _delete_explanations(RecallRecord.objects.all(), lambda found: not found <= there)


def forget_sources_in_reviews(gone: Collection[UUID]) -> None:
    """Take erased rows of `MemorySource` out of what approvals have made, which an undoing would look for."""
    for row in ReviewItem.objects.filter(outcome__isnull=False).order_by("pk").iterator():
        if is_closed(row, "outcome"):
            continue
        sources = (row.outcome or {}).get("sources", [])
        rest = [one for one in sources if UUID(one) not in gone]
        if len(rest) < len(sources):
            row.outcome = {**row.outcome, "sources": rest}
            row.save(update_fields=["outcome"])


def _close_explanations_of(gone: set[UUID]) -> None:
    # None is older than what it explains.
    first = Memory.objects.filter(pk__in=gone).aggregate(first=Min("created_at"))["first"]
    rows = RecallRecord.objects.filter(created_at__gte=first) if first else RecallRecord.objects.none()
    _delete_explanations(rows, lambda found: bool(found & gone))


def _delete_explanations(rows: QuerySet[RecallRecord], speaks: Callable[[set[UUID]], bool]) -> int:
    doomed = [
        row.pk
        for row in rows.order_by("pk").iterator()
        if is_closed(row, "explanation") or speaks({UUID(hit["memory_id"]) for hit in row.explanation.get("hits", ())})
    ]
    return int(RecallRecord.objects.filter(pk__in=doomed).delete()[0]) if doomed else 0


def _close_reviews(gone: set[UUID]) -> None:
    """Delete items of which an erased memory is a side, and those whose approval made one: they hold its words."""
    touched = set(ReviewEvidence.objects.filter(memory_id__in=gone).values_list("item_id", flat=True))
    bereft = [
        row.pk
        for row in ReviewItem.objects.filter(Q(pk__in=touched) | Q(outcome__isnull=False)).order_by("pk").iterator()
        if (row.kind == ReviewKind.CONTRADICTION and row.pk in touched)
        or any(not is_closed(row, name) and _mentions(getattr(row, name), gone) for name in ("payload", "outcome"))
    ]
    ReviewItem.objects.filter(pk__in=bereft).delete()


def _unlearn(gone: set[UUID], *, of_stated: bool) -> dict[UUID, set[str]]:
    """Take aliases and properties off entities that only some memories gave them; gives the lost aliases by entity."""
    mentioned = EntityMention.objects.filter(memory_id__in=gone)
    rows = Entity.objects.filter(pk__in=mentioned.values("entity_id")).exclude(aliases=None, properties=None)
    if not of_stated:
        rows = rows.filter(stated=False)
    lost: dict[UUID, set[str]] = {}
    terms: dict[UUID, frozenset[str]] = {}
    for row in rows.order_by("pk"):
        if is_closed(row, "aliases") or is_closed(row, "properties"):
            continue
        said = [
            _terms_of(memory_id, terms)
            for memory_id in mentioned.filter(entity_id=row.pk).values_list("memory_id", flat=True)
        ]
        aliases = {one for one in row.aliases or () if _only_here(row.pk, one, said, gone)}
        properties = {
            key for key, value in (row.properties or {}).items() if _only_here(row.pk, _text(value), said, gone)
        }
        if not aliases and not properties:
            continue
        lost[row.pk] = {canonical(one) for one in aliases}
        row.aliases = [one for one in row.aliases or () if one not in aliases] or None
        row.properties = {key: value for key, value in (row.properties or {}).items() if key not in properties} or None
        row.save(update_fields=["aliases", "properties"])
        if aliases:
            name_anew(row, keyring().of(current_owner()))
    return lost


def _terms_of(memory_id: UUID, known: dict[UUID, frozenset[str]]) -> frozenset[str]:
    """Give the words of a memory, which is read once; none of one that does not open."""
    if memory_id not in known:
        row = Memory.objects.get(pk=memory_id)
        known[memory_id] = frozenset() if is_closed(row, "text") else frozenset(term_frequencies(row.text))
    return known[memory_id]


def _only_here(entity_id: UUID, text: str, said: Iterable[frozenset[str]], gone: Collection[UUID]) -> bool:
    """Tell whether a text stands in a memory that goes and in no other one in use that speaks of the entity."""
    terms = set(term_frequencies(text, language=ENGLISH))
    if not terms or not any(terms <= words for words in said):
        return False
    hashes = sorted(set(keyring().of(current_owner()).words(terms)))
    with connection.cursor() as cursor:
        cursor.execute(
            SAID_ELSEWHERE,
            {
                "owner": current_owner(),
                "entity": entity_id,
                "terms": hashes,
                "count": len(hashes),
                "gone": list(gone),
            },
        )
        return not cursor.fetchone()[0]


def _close_merges(gone: set[UUID], unlearnt: dict[UUID, set[str]]) -> None:
    """Take out of the records of merges what an undoing would bring back of some memories."""
    for row in EntityMerge.objects.filter(undone_at=None).order_by("pk"):
        if is_closed(row, "record"):
            continue
        record = stripped(row.record, gone, aliases=unlearnt.get(row.kept_id, set()))
        standing = _standing(record["relations_changed"])
        record["relations_changed"] = [
            one for one in record["relations_changed"] if UUID(one["before"]["id"]) in standing
        ]
        if record != row.record:
            row.record = record
            row.save(update_fields=["record"])


def stripped(record: Record, gone: set[UUID], *, aliases: Collection[str]) -> Record:
    """Give the record of a merge without some memories: their mentions, their words as reasons, the relations that
    nothing else gave a reason for, and some aliases.
    """
    away = {str(one) for one in gone}
    dropped = []
    for one in record["relations_dropped"]:
        left = [reason for reason in one["evidence"] if reason["memory_id"] not in away]
        if left or not one["evidence"]:
            dropped.append({**one, "evidence": left})
    without = {
        part: {**record[part], "aliases": _without(record[part]["aliases"], aliases)}
        for part in ("merged", "kept_before", "kept_after")
    }
    return {
        **record,
        **without,
        "mentions": [one for one in record["mentions"] if one not in away],
        "mentions_added": [one for one in record["mentions_added"] if one not in away],
        "names_added": [one for one in record["names_added"] if canonical(one) not in aliases],
        "relations_dropped": dropped,
    }


def _without(names: Sequence[str] | None, lost: Collection[str]) -> list[str] | None:
    return None if names is None else [one for one in names if canonical(one) not in lost]


def _standing(changes: Sequence[Record]) -> set[UUID]:
    ids = [UUID(one["before"]["id"]) for one in changes]
    return set(Relation.objects.filter(pk__in=ids).values_list("pk", flat=True)) if ids else set()


def _mentions(value: Any, gone: Collection[UUID]) -> bool:
    return any(UUID(one) in gone for one in ID.findall(json.dumps(value)))


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
