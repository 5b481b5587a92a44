"""The parts of agents that requests are handed to: one row for each name of an owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from telemetry.models import Spoke

FALLBACKS: Final = frozenset({"fallback", "delegate_task", "generic"})
"""Names of what takes over where no part fits."""


def spoke_ids(ring: OwnerRing, names: Iterable[str]) -> Mapping[str, UUID]:
    """Give the ids of spokes of the current owner by name, and make rows for new names.

    Call it after `locked_state`, by which the owner's writers and whoever removes spokes take turns.
    """
    hashes = {ring.name(name): name for name in set(names)}
    known = dict(_rows(hashes))
    new = [
        Spoke(name=name, name_hash=number, is_fallback=name in FALLBACKS)
        for number, name in sorted(hashes.items())
        if number not in known
    ]
    if new:
        Spoke.objects.bulk_create(new, ignore_conflicts=True)
        known = dict(_rows(hashes))
    return {name: known[number] for number, name in hashes.items()}


def spoke_named(ring: OwnerRing, name: str) -> UUID | None:
    """Give the id of the current owner's spoke of a name, None where no event names it."""
    return dict(_rows({ring.name(name): name})).get(ring.name(name))


def _rows(hashes: Mapping[int, str]) -> Iterable[tuple[int, UUID]]:
    rows: Iterable[tuple[int, UUID]] = Spoke.objects.filter(name_hash__in=sorted(hashes)).values_list("name_hash", "pk")
    return rows
