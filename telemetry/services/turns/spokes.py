"""The parts of agents that requests are handed to: one row for each name of an owner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final
from uuid import UUID

from memory.crypto.keyring import OwnerRing
from telemetry.models import Spoke
from telemetry.services.turns.spoke_names import FALLBACKS, OTHER, RESERVED, one_form

MOST_SPOKES: Final = 1_000
"""Spokes of an owner; turns of further ones count as those of `other`. The names of `RESERVED` always have room."""


def spoke_ids(ring: OwnerRing, names: Iterable[str]) -> tuple[Mapping[str, UUID], Set[str]]:
    """Give the ids of spokes of the current owner by name, and make rows for new names.

    Call it after `locked_state`, by which the owner's writers and whoever removes spokes take turns.

    Args:
        ring: the owner's.
        names: in one form; where there is no room for all, the first ones have it.

    Returns:
        The ids, and the names that have no spoke of their own, since the owner has as many as are kept.
    """
    hashes = {ring.name(name): name for name in dict.fromkeys(names)}
    known = dict(_rows(hashes))
    beyond = _beyond([name for number, name in hashes.items() if number not in known])
    if beyond:
        hashes[ring.name(OTHER)] = OTHER
        known |= dict(_rows([ring.name(OTHER)]))
    new = [
        Spoke(name=name, name_hash=number, is_fallback=name in FALLBACKS)
        for number, name in sorted(hashes.items())
        if number not in known and name not in beyond
    ]
    if new:
        Spoke.objects.bulk_create(new, ignore_conflicts=True)
        known = dict(_rows(hashes))
    return {name: known[ring.name(OTHER) if name in beyond else number] for number, name in hashes.items()}, beyond


def spoke_named(ring: OwnerRing, name: str) -> UUID | None:
    """Give the id of the current owner's spoke of a name in any form, None where no event names it."""
    number = ring.name(one_form(name))
    return dict(_rows([number])).get(number)


def _beyond(new: list[str]) -> Set[str]:
    """Tell for which of some new names there is no room."""
    further = [name for name in new if name not in RESERVED]
    if not further:
        return frozenset()
    room = max(MOST_SPOKES - Spoke.objects.count(), 0)
    return frozenset(further[room:])


def _rows(hashes: Iterable[int]) -> Iterable[tuple[int, UUID]]:
    rows: Iterable[tuple[int, UUID]] = Spoke.objects.filter(name_hash__in=sorted(hashes)).values_list("name_hash", "pk")
    return rows
