"""The relations of an import: those that nothing else has to make room for all at once, the others one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.crypto.keyring import keyring
from memory.errors import InvalidInput, LociError
from memory.graph.labels import SINGLE_VALUED, checked_label, label_hash
from memory.models import Memory, Relation
from memory.services.graph.import_state import CREATED, EXISTING, SKIPPED, Import
from memory.services.graph.relations import RelationDraft, add_relation
from memory.services.graph.writing import Reason, Reasons, Reference, checked_unit, cut_text, scoped
from memory.text import limits

Key = tuple[UUID, int, UUID, datetime | None, datetime | None, bool]
"""Source, label, target, begin (None for an open one, of which there is but one), end, and whether it was retracted."""
Told = tuple[UUID | None, str | None]


def take_relations(under_way: Import, items: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    """Take those of up to 500 relations at once of which no other one that is here has to be settled with.

    Call it while the graph is the caller's.

    Args:
        under_way: the import.
        items: by their places.

    Returns:
        What became of those that were taken. The others are for `take_relation`: what cannot be used, and what comes to
        a source that has another target of a label that has one target at a time.
    """
    outcomes: dict[int, str] = {}
    rows: dict[int, tuple[Relation, list[Told]]] = {}
    for index, item in items.items():
        try:
            row = _row_of(under_way, item)
            if row is None:
                outcomes[index] = SKIPPED
            else:
                rows[index] = row, _usable(under_way.evidence(item))
        except LociError:
            # Told by the one that takes it by itself.
            continue
    for index in _same_elsewhere(under_way, {index: row for index, (row, _) in rows.items()}):
        outcomes[index] = EXISTING
        del rows[index]
    standing = _standing(under_way, [row for row, _ in rows.values()])
    new = [row for row, _ in rows.values() if _key(row) not in standing]
    rivals = _rivals(under_way, [row for row in new if _open(row)])
    created: list[Relation] = []
    told: list[tuple[Relation, list[Told]]] = []
    for index, (row, reasons) in rows.items():
        if (row.source_id, row.label_hash) in rivals:
            # With all that is said of the same in this import, in its order.
            continue
        same = standing.get(_key(row))
        outcomes[index] = EXISTING if same is not None else CREATED
        if same is None:
            same = standing[_key(row)] = row
            created.append(row)
        told.append((same, reasons))
    Relation.objects.bulk_create(created)
    under_way.relations.update(row.pk for row in created)
    _give_all(under_way, told)
    return outcomes


def _usable(evidence: list[Told]) -> list[Told]:
    for _, text in evidence:
        if text:
            cut_text(text, field="evidence")
    return evidence


def _open(row: Relation) -> bool:
    return row.valid_until is None and row.retracted_at is None


def _key(row: Relation) -> Key:
    begins = None if _open(row) else row.valid_from
    return row.source_id, row.label_hash, row.target_id, begins, row.valid_until, row.retracted_at is not None


def _rivals(under_way: Import, rows: Sequence[Relation]) -> set[tuple[UUID, int]]:
    """Give the sources and labels of which something else was believed here before the import."""
    single = [row for row in rows if row.label in SINGLE_VALUED]
    if not single:
        return set()
    believed = Relation.objects.filter(
        scope=under_way.target.scope,
        source_id__in={row.source_id for row in single},
        label_hash__in={row.label_hash for row in single},
        valid_until=None,
        retracted_at=None,
    )
    found = believed.values_list("pk", "source_id", "label_hash")
    return {(source, label) for pk, source, label in found if pk not in under_way.relations}


def _standing(under_way: Import, rows: Sequence[Relation]) -> dict[Key, Relation]:
    if not rows:
        return {}
    there = Relation.objects.filter(
        scope=under_way.target.scope,
        source_id__in={row.source_id for row in rows},
        label_hash__in={row.label_hash for row in rows},
        target_id__in={row.target_id for row in rows},
    )
    return {_key(row): row for row in there.order_by("-pk")}


def _same_elsewhere(under_way: Import, rows: Mapping[int, Relation]) -> list[int]:
    """List the items that stand in another scope, recorded at the same moment: with all that speaks for them."""
    there = under_way.elsewhere(Relation.objects.filter(recorded_at__in={row.recorded_at for row in rows.values()}))
    known = {(_key(row), row.recorded_at) for row in there}
    return [index for index, row in rows.items() if (_key(row), row.recorded_at) in known]


def _give_all(under_way: Import, told: Sequence[tuple[Relation, list[Told]]]) -> None:
    ids = {memory_id for _, reasons in told for memory_id, _ in reasons if memory_id is not None}
    memories = {row.pk: row for row in Memory.objects.filter(pk__in=ids)}
    reasons = [
        Reason(row.pk, None if memory_id is None else memories[memory_id], text)
        for row, listed in told
        for memory_id, text in listed
        if memory_id is None or memory_id in memories
    ]
    Reasons(reasons, part="relation", now=under_way.moment).write({row.pk: row for row, _ in told})


def take_relation(under_way: Import, item: Mapping[str, Any]) -> str:
    """Take one relation, whatever stands here already; gives what became of it."""
    row = _row_of(under_way, item)
    return SKIPPED if row is None else _store(under_way, row, item)


def _row_of(under_way: Import, item: Mapping[str, Any]) -> Relation | None:
    """Make the row of an item; None where one of its entities was not taken over."""
    source, target = under_way.entity(item.get("source")), under_way.entity(item.get("target"))
    if source is None or target is None:
        return None
    if source == target:
        raise InvalidInput("A relation joins two entities, and these are one and the same.", code="relation.self")
    label = checked_label(item.get("label"))
    begins = limits.checked_moment(item.get("valid_from"), field="valid_from")
    until, retracted = item.get("valid_until"), item.get("retracted_at")
    ends = None if until is None else limits.checked_moment(until, field="valid_until")
    if ends is not None and ends < begins:
        raise InvalidInput("The relation would end before it began.", code="date.order", field="valid_until")
    return Relation(
        source_id=source,
        target_id=target,
        label=label,
        label_hash=label_hash(keyring().of(under_way.actor.owner_id), label),
        weight=checked_unit(item.get("weight", 0.5), field="weight"),
        confidence=checked_unit(item.get("confidence", 1.0), field="confidence"),
        valid_from=begins,
        valid_until=ends,
        closed_at=None if ends is None else under_way.known_since(item.get("closed_at"), "closed_at"),
        recorded_at=under_way.known_since(item.get("recorded_at"), "recorded_at"),
        retracted_at=None if retracted is None else under_way.known_since(retracted, "retracted_at"),
        last_seen=under_way.known_since(item.get("last_seen"), "last_seen"),
        **scoped(under_way.target),
    )


def _store(under_way: Import, row: Relation, item: Mapping[str, Any]) -> str:
    same = Relation.objects.filter(
        scope=row.scope, source_id=row.source_id, label_hash=row.label_hash, valid_until=row.valid_until,
        retracted_at__isnull=row.retracted_at is None,
    )  # fmt: skip
    is_open = row.valid_until is None and row.retracted_at is None
    alike = same.filter(target_id=row.target_id)
    standing = (alike if is_open else alike.filter(valid_from=row.valid_from)).first()
    outcome = EXISTING
    if (
        standing is None
        and is_open
        and row.label in SINGLE_VALUED
        and same.exclude(pk__in=under_way.relations).exists()
    ):
        # Something else was believed here before, so it has to be settled which of the two is the newer one.
        draft = RelationDraft(
            source=Reference(entity_id=row.source_id),
            label=row.label,
            target=Reference(entity_id=row.target_id),
            weight=row.weight,
            confidence=row.confidence,
            valid_from=row.valid_from,
        )
        standing, outcome = add_relation(actor=under_way.actor, draft=draft, scope=under_way.scope).relation, CREATED
    elif standing is None:
        row.save(force_insert=True)
        standing, outcome = row, CREATED
    if outcome == CREATED:
        under_way.relations.add(standing.pk)
    _give_reasons(under_way, standing, item)
    return outcome


def _give_reasons(under_way: Import, row: Relation, item: Mapping[str, Any]) -> None:
    reasons = []
    for memory_id, text in under_way.evidence(item):
        memory = None if memory_id is None else Memory.objects.filter(pk=memory_id).first()
        reasons.append(Reason(row.pk, memory, text))
    Reasons(reasons, part="relation", now=under_way.moment).write({row.pk: row})
