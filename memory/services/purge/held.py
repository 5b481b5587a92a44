"""What holds up the end of a purge: stores elsewhere that cannot be looked at, while everything else is erased."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from memory.errors import ProjectionElsewhere, ProjectionOff
from memory.models import Purge, PurgeState
from memory.services.purge.lease import LONGEST_PAUSE, OPEN
from memory.services.purge.registry import NEEDED_BY, Phase, targets

LAST_STAGE: Final = "elsewhere"
"""The stage of a purge that waits for nothing but stores elsewhere."""

NAMES: Final[Mapping[str, str]] = {"neo4j": "Neo4j", "redis": "Redis"}
CODE: Final = re.compile(r"[a-z_]{1,32}(\.[a-z_]{1,32})*")
# Asking whether a store is back costs one connection that is refused, or one time-out.
PAUSE_WHILE_AWAY: Final = timedelta(minutes=1)
# These do not end by themselves.
NEEDS_OPERATOR: Final = frozenset({ProjectionOff.code, ProjectionElsewhere.code})


@dataclass(frozen=True, slots=True)
class Held:
    """A store that holds up a purge.

    Attributes:
        store: the name of its target.
        name: what people call it.
        code: of the error that it gave.
        needs_operator: whether somebody has to say where it is; otherwise the purge goes on by itself.
    """

    store: str
    name: str
    code: str
    needs_operator: bool


def held_codes(position: Mapping[str, Any]) -> dict[str, str]:
    """Read which stores are held up, with the codes of their errors; what has another form counts as none."""
    kept = position.get("held")
    if not isinstance(kept, Mapping):
        return {}
    stores = {target.name for target in targets(Phase.STORES) if target.outside}
    return {name: code for name, code in kept.items() if name in stores and CODE.fullmatch(str(code))}


def spared(held: Collection[str]) -> set[str]:
    """Name the targets that are left alone while some are held up: those, and those whose rows they need."""
    return {*held, *(name for name, store in NEEDED_BY.items() if store in held)}


def held_up(purge: Purge) -> list[Held]:
    """Say what holds up a purge, in the order of names; nothing where it is done or has failed."""
    if purge.state not in OPEN:
        return []
    found = sorted(held_codes(purge.position).items())
    return [Held(store, NAMES.get(store, store), code, code in NEEDS_OPERATOR) for store, code in found]


def held_stores(purge: Purge) -> list[dict[str, str]]:
    """Give what holds up a purge as programs are told it: the store's name and the code of its error."""
    return [{"store": one.store, "error": one.code} for one in held_up(purge)]


def own_error(purge: Purge) -> str:
    """Give the code of the error that a purge itself has met last; empty where there is none, or a store gave it."""
    return "" if purge.error_code in held_codes(purge.position).values() else purge.error_code


def longest_pause(purge: Purge, position: Mapping[str, Any], code: str) -> timedelta:
    """Say how long a purge that has failed rests at most: a minute where it goes on as soon as a store is back.

    Args:
        purge: which, in the stage in which it has failed.
        position: what the turn that has failed leaves to the next one.
        code: of the error.
    """
    back_by_itself = any(held not in NEEDS_OPERATOR for held in held_codes(position).values())
    return PAUSE_WHILE_AWAY if back_by_itself and _only_elsewhere(purge.stage, position, code) else LONGEST_PAUSE


def waits_only_elsewhere(purge: Purge) -> bool:
    """Tell whether all else of a purge is erased; of an owner it was looked for too, and the root key is destroyed."""
    return purge.state == PurgeState.WAITING and _only_elsewhere(purge.stage, purge.position, purge.error_code)


def _only_elsewhere(stage: str, position: Mapping[str, Any], code: str) -> bool:
    # The last stage is passed over where something is left here, and is then no sign that nothing is.
    return stage == LAST_STAGE and not position.get("left") and code in held_codes(position).values()
