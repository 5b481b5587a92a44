"""What new relations do to those that stand: many of one scope at once, in a few statements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import connection

from memory.ids import new_id
from memory.models import Memory, Relation, current_owner
from memory.services.actors import Target
from memory.services.graph.writing import Reason, Reasons, scoped

STRENGTHENED: Final = 0.05
"""What one more reason adds to a relation's weight (Cortex), up to 1."""

# Rows of the same three or of its opposite, and of labels that have one target at a time what ends later: of a hub's
# thousands of relations only these are read.
BETWEEN: Final = """
    SELECT r.id FROM unnest(%(sources)s::uuid[], %(labels)s::bigint[], %(targets)s::uuid[]) AS s (source, label, target)
    JOIN memory_relation r ON r.owner_id = %(owner)s AND r.source_id = s.source AND r.label_hash = s.label
     AND r.target_id = s.target
    WHERE r.retracted_at IS NULL AND r.scope = %(scope)s
"""
RIVALS: Final = """
    SELECT r.id FROM unnest(%(sources)s::uuid[], %(labels)s::bigint[], %(begins)s::timestamptz[])
      AS s (source, label, begins)
    JOIN memory_relation r ON r.owner_id = %(owner)s AND r.source_id = s.source AND r.label_hash = s.label
    WHERE r.retracted_at IS NULL AND (r.valid_until IS NULL OR r.valid_until > s.begins) AND r.scope = %(scope)s
"""
UPDATE: Final = """
    UPDATE memory_relation r SET valid_until = u.valid_until, closed_at = u.closed_at, weight = u.weight,
           confidence = u.confidence, last_seen = u.last_seen
    FROM unnest(%s::uuid[], %s::timestamptz[], %s::timestamptz[], %s::float8[], %s::float8[], %s::timestamptz[])
         AS u (id, valid_until, closed_at, weight, confidence, last_seen)
    WHERE r.owner_id = %s AND r.id = u.id
"""


@dataclass(slots=True)
class Said:
    """One relation as it is said: checked, its entities found.

    Attributes:
        source_id, label, hashed, target_id: which; the two entities differ.
        begins, ends: when it held; `ends` is None while it holds and not before `begins` otherwise.
        supersede: whether other targets of the same label end with it.
        single: whether the label has one target at a time, so that others are counted even where none ends.
        memory: what says so; None where it is stated.
        opposite: the hash of the label that denies this one and ends with it between the same two; None without one.
    """

    source_id: UUID
    label: str
    hashed: int
    target_id: UUID
    weight: float
    confidence: float
    begins: datetime
    ends: datetime | None
    supersede: bool
    memory: Memory | None = None
    evidence: str | None = None
    single: bool = False
    opposite: int | None = None


@dataclass(slots=True)
class Outcome:
    """What became of one: its row, whether it is new, the rows that ended with it, and how many it conflicts with."""

    relation: Relation
    created: bool
    superseded: tuple[UUID, ...] = ()
    conflicts: int = 0


@dataclass(slots=True)
class _Standing:
    """The rows that take part, by entity and label, and what is to be written."""

    target: Target
    moment: datetime
    rows: dict[tuple[UUID, int], list[Relation]] = field(default_factory=dict)
    created: list[Relation] = field(default_factory=list)
    closed: set[UUID] = field(default_factory=set)

    def between(self, said: Said) -> list[Relation]:
        """Give the believed rows that say the same three, whenever it held."""
        return [row for row in self.rows.get((said.source_id, said.hashed), ()) if row.target_id == said.target_id]

    def rivals(self, said: Said) -> list[Relation]:
        """Give the rows that cannot hold beside it: to another target where only one can be, and of its opposite."""
        found: list[Relation] = []
        if said.supersede or said.single:
            same = self.rows.get((said.source_id, said.hashed), ())
            found += [row for row in same if row.target_id != said.target_id]
        if said.opposite is not None:
            against = self.rows.get((said.source_id, said.opposite), ())
            found += [row for row in against if row.target_id == said.target_id]
        return found

    def close(self, rows: Iterable[Relation], until: datetime) -> None:
        """End rows."""
        for row in rows:
            row.valid_until, row.closed_at = until, self.moment
            self.closed.add(row.pk)


def say_relations(said: Sequence[Said], *, target: Target, moment: datetime) -> list[Outcome]:
    """State relations of one scope, one after the other; see `add_relations` for what each does.

    Call it while the graph is the caller's, see `change_graph`. The number of statements does not grow with theirs.

    Args:
        said: in the order in which they were said.
        target: who may read them.
        moment: the moment of writing.
    """
    standing = _load(said, target, moment)
    outcomes = [_say(one, standing) for one in said]
    reasons = Reasons(
        [Reason(outcome.relation.pk, one.memory, one.evidence) for outcome, one in zip(outcomes, said, strict=True)],
        part="relation",
        now=moment,
    )
    strengthened = _strengthen(said, outcomes, reasons.fresh, moment)
    created = {row.pk for row in standing.created}
    rows = {row.pk: row for found in standing.rows.values() for row in found}
    # Before the new rows, of which the constraint lets only one be open for the same three.
    _update([rows[pk] for pk in sorted((standing.closed | strengthened) - created)])
    Relation.objects.bulk_create(standing.created)
    reasons.write({row.pk: row for row in (outcome.relation for outcome in outcomes)})
    return outcomes


def _strengthen(
    said: Sequence[Said], outcomes: Sequence[Outcome], fresh: Sequence[bool], moment: datetime
) -> set[UUID]:
    """Let each new reason strengthen its relation, except the one for which it was made."""
    changed: set[UUID] = set()
    for one, outcome, new in zip(said, outcomes, fresh, strict=True):
        row = outcome.relation
        if new and not outcome.created:
            row.weight = min(1.0, max(row.weight, one.weight) + STRENGTHENED)
            row.confidence = max(row.confidence, one.confidence)
            row.last_seen = moment
            changed.add(row.pk)
    return changed


def _update(rows: Sequence[Relation]) -> None:
    if not rows:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            UPDATE,
            [
                [row.pk for row in rows],
                [row.valid_until for row in rows],
                [row.closed_at for row in rows],
                [row.weight for row in rows],
                [row.confidence for row in rows],
                [row.last_seen for row in rows],
                current_owner(),
            ],
        )


def _load(said: Sequence[Said], target: Target, moment: datetime) -> _Standing:
    three = sorted(
        {
            (one.source_id, label, one.target_id)
            for one in said
            for label in (one.hashed, one.opposite)
            if label is not None
        }
    )
    first: dict[tuple[UUID, int], datetime] = {}
    for one in said:
        if one.supersede or one.single:
            key = one.source_id, one.hashed
            first[key] = min(first.get(key, one.begins), one.begins)
    parameters = {"owner": current_owner(), "scope": target.scope}
    ids: set[UUID] = set()
    with connection.cursor() as cursor:
        cursor.execute(
            BETWEEN,
            parameters
            | {
                "sources": [one[0] for one in three],
                "labels": [one[1] for one in three],
                "targets": [one[2] for one in three],
            },
        )
        ids.update(row[0] for row in cursor.fetchall())
        if first:
            cursor.execute(
                RIVALS,
                parameters
                | {
                    "sources": [source for source, _ in first],
                    "labels": [label for _, label in first],
                    "begins": list(first.values()),
                },
            )
            ids.update(row[0] for row in cursor.fetchall())
    standing = _Standing(target, moment)
    for row in Relation.objects.filter(pk__in=ids).order_by("pk") if ids else ():
        standing.rows.setdefault((row.source_id, row.label_hash), []).append(row)
    return standing


def _say(said: Said, standing: _Standing) -> Outcome:
    same = standing.between(said)
    row = next((one for one in same if one.valid_until is None), None)
    ends = said.ends
    ended: list[Relation] = []
    rivals = standing.rivals(said) if ends is None else []
    others = [one for one in rivals if one.valid_until is None]
    if ends is None and (said.supersede or said.opposite is not None):
        ended = [one for one in others if one.valid_from <= said.begins]
        standing.close(ended, said.begins)
        _make_room(rivals, said.begins, standing)
        # What has ended meanwhile took its place as well.
        later = [one.valid_from for one in rivals if one.valid_from > said.begins]
        if later and row is None:
            ends = min(later)
    if ends is not None:
        if row is not None and row.valid_from <= ends:
            # It is known to hold, and what is told is its end.
            standing.close([row], ends)
        else:
            row = next((one for one in same if one.valid_until == ends and _began_with(one, said)), None)
    if row is not None:
        return Outcome(row, False, tuple(one.pk for one in ended), len(others))
    row = Relation(
        id=new_id(),
        source_id=said.source_id,
        target_id=said.target_id,
        label=said.label,
        label_hash=said.hashed,
        weight=said.weight,
        confidence=said.confidence,
        valid_from=said.begins,
        valid_until=ends,
        closed_at=None if ends is None else standing.moment,
        recorded_at=standing.moment,
        last_seen=standing.moment,
        **scoped(standing.target),
    )
    standing.rows.setdefault((said.source_id, said.hashed), []).append(row)
    standing.created.append(row)
    return Outcome(row, True, tuple(one.pk for one in ended), len(others))


def _make_room(rivals: Sequence[Relation], begins: datetime, standing: _Standing) -> None:
    """Let what was believed to last until the next began end where one began that is told only now."""
    starts = {one.valid_from for one in rivals}
    for one in rivals:
        if one.valid_until is not None and one.valid_from < begins < one.valid_until and one.valid_until in starts:
            # When it was learned that it had ended stays true.
            one.valid_until = begins
            standing.closed.add(one.pk)


def _began_with(row: Relation, said: Said) -> bool:
    """Tell whether a relation is meant that ended then: only one told with both its ends begins exactly as it says."""
    both = said.ends is not None and said.begins < said.ends
    return row.valid_from == said.begins if both else row.valid_from <= said.begins
