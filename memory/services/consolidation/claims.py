"""The claims of statements as keyed hashes: which memory claims what, found without opening any."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final
from uuid import UUID

from django.db import connection

from memory.consolidation.contradiction import Held
from memory.crypto.keyring import OwnerRing
from memory.graph.names import canonical
from memory.models import MemoryClaim, Status, current_owner
from memory.ports import Claim

SAME: Final = """
    SELECT DISTINCT c.slot, c.value, c.polarity, c.memory_id
    FROM unnest(%(slots)s::bigint[], %(values)s::bigint[], %(polarities)s::smallint[]) AS s (slot, value, polarity)
    JOIN memory_memoryclaim c ON c.owner_id = %(owner)s AND c.slot = s.slot AND c.value = s.value
     AND c.polarity = s.polarity
    JOIN memory_memory m ON m.owner_id = c.owner_id AND m.id = c.memory_id AND m.status = %(live)s
     AND m.scope = %(scope)s
    ORDER BY c.memory_id
"""
# Of a slot with many values only those that can contradict are read.
AGAINST: Final = """
    SELECT DISTINCT c.memory_id
    FROM unnest(%(slots)s::bigint[], %(values)s::bigint[], %(singles)s::boolean[]) AS s (slot, value, single)
    JOIN memory_memoryclaim c ON c.owner_id = %(owner)s AND c.slot = s.slot AND (c.value = s.value OR s.single)
    JOIN memory_memory m ON m.owner_id = c.owner_id AND m.id = c.memory_id AND m.status = %(live)s
     AND m.scope = %(scope)s
"""

Same = tuple[int, int, int]
"""Slot, value and polarity: two that share these claim the same."""


def held(claim: Claim, *, subject: str, ring: OwnerRing) -> Held:
    """Hash a claim; its subject goes by the name that its entity bears."""
    slot = f"claim\0{canonical(subject)}\0{claim.attribute.strip().casefold()}"
    return Held(
        slot=ring.name(slot),
        value=ring.name(f"claim value\0{canonical(claim.value)}"),
        polarity=1 if claim.polarity >= 0 else -1,
        single=claim.single,
    )


def same(one: Held) -> Same:
    """Give what a claim shares with those that claim the same."""
    return one.slot, one.value, one.polarity


def claiming_the_same(claims: Iterable[Held], *, scope: UUID) -> dict[Same, list[UUID]]:
    """Find live memories of a scope that claim the same, oldest first; within the owner's scope."""
    wanted = sorted({same(one) for one in claims})
    found: dict[Same, list[UUID]] = {}
    if wanted:
        with connection.cursor() as cursor:
            cursor.execute(
                SAME,
                {
                    "owner": current_owner(),
                    "scope": scope,
                    "live": Status.LIVE,
                    "slots": [one[0] for one in wanted],
                    "values": [one[1] for one in wanted],
                    "polarities": [one[2] for one in wanted],
                },
            )
            for slot, value, polarity, memory_id in cursor.fetchall():
                found.setdefault((slot, value, polarity), []).append(memory_id)
    return found


def write_claims(claims: Mapping[UUID, Sequence[Held]], *, scope: UUID, anew: Iterable[UUID] = ()) -> None:
    """Note what memories claim; within the owner's scope.

    Args:
        claims: by memory.
        scope: of the memories.
        anew: memories whose former claims go, since they were drawn from again.
    """
    former = list(anew)
    if former:
        MemoryClaim.objects.filter(memory_id__in=former).delete()
    rows = {
        (memory_id, one.slot, one.value): MemoryClaim(
            memory_id=memory_id, scope=scope, slot=one.slot, value=one.value, polarity=one.polarity, single=one.single
        )
        for memory_id, told in claims.items()
        for one in told
    }
    MemoryClaim.objects.bulk_create([rows[key] for key in sorted(rows)], ignore_conflicts=True)


def memories_against(memory_ids: Iterable[UUID], *, scope: UUID) -> dict[UUID, tuple[Held, ...]]:
    """Give the claims of all live memories of a scope that could contradict some memories, and of these themselves."""
    asserted = MemoryClaim.objects.filter(memory_id__in=list(memory_ids))
    wanted = sorted(set(asserted.values_list("slot", "value", "single")))
    if not wanted:
        return {}
    with connection.cursor() as cursor:
        cursor.execute(
            AGAINST,
            {
                "owner": current_owner(),
                "scope": scope,
                "live": Status.LIVE,
                "slots": [one[0] for one in wanted],
                "values": [one[1] for one in wanted],
                "singles": [one[2] for one in wanted],
            },
        )
        ids = [row[0] for row in cursor.fetchall()]
    found: dict[UUID, list[Held]] = {}
    rows = MemoryClaim.objects.filter(memory_id__in=ids).order_by("memory_id", "slot", "value")
    for memory_id, *fields in rows.values_list("memory_id", "slot", "value", "polarity", "single"):
        found.setdefault(memory_id, []).append(Held(*fields))
    return {memory_id: tuple(told) for memory_id, told in found.items()}
