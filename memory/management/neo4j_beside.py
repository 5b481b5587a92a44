"""What `graph verify` tells of Neo4j beside the owners: what is of nobody here, and constraints that it still lacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from memory.errors import LociError
from memory.management.answers import counted
from memory.providers.composition import neo4j_client
from memory.services.projection.schema import Schema, lacking
from memory.services.projection.standing import standing
from memory.services.projection.turn import Turn
from memory.services.projection.unknown import MOST, delete_unknown, unknown_owners

KEPT: Final = "Nothing of unknown owners was deleted, since it failed for owners that are known."
MORE: Final = f"There are others; the first {MOST:,} are told."
LACKING: Final = (
    "Neo4j lacks {lacking}. Where it refuses a constraint, values stand there twice: of an owner that could not be "
    "verified, or of one that is not known here."
)


@dataclass(frozen=True, slots=True)
class Told:
    """One thing that a command tells beside the owners: by its name in JSON, and in lines."""

    name: str
    ok: bool
    value: dict[str, Any]
    lines: list[str]


def tell_unknown(*, delete: bool, failed: int) -> Told:
    """Tell what Neo4j holds of owners that Loci does not know, or of none, and delete it if asked to.

    Args:
        delete: whether to delete; nothing is where an owner has failed, or stands in another Neo4j.
        failed: for how many owners the command has failed.
    """
    deleted = delete and not failed
    try:
        found = delete_unknown(turn=Turn()) if deleted else unknown_owners()
    except LociError as error:
        return _failed("unknown", error)
    fate = "deleted" if deleted else "left"
    lines = [f"{owner!a}: not known here; {counted(n, 'node')} {fate}." for owner, n in found.owners.items()]
    lines += [f"Of no owner: {n} {name} {fate}." for name, n in found.unowned.items()]
    lines += [MORE] * found.more + [KEPT] * (delete and not deleted)
    value = {"ok": True, "owners": found.owners, "more": found.more, "unowned": found.unowned, "deleted": deleted}
    return Told("unknown", True, value, lines)


def tell_lacking() -> Told:
    """Tell which constraints and indexes Neo4j still lacks, after another attempt to make them."""
    lacks: list[str] = []
    try:
        if standing().following and not standing().elsewhere and not Schema().made():
            lacks = lacking(neo4j_client().rows)
    except LociError as error:
        return _failed("schema", error)
    lines = [LACKING.format(lacking=", ".join(lacks))] if lacks else []
    return Told("schema", not lacks, {"ok": not lacks, "lacking": lacks}, lines)


def _failed(name: str, error: LociError) -> Told:
    value = {"ok": False, "error": error.machine_code, "message": error.message}
    return Told(name, False, value, [f"{error.message} ({error.machine_code})"])
