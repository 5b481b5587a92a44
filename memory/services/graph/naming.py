"""The keyed hashes by which an entity is found: of its names, their words and the beginnings of these."""

from __future__ import annotations

from collections.abc import Sequence

from memory.crypto.keyring import OwnerRing
from memory.graph.names import index_hashes, name_hash
from memory.models import Entity, EntityName, NameKind


def names_of(row: Entity, ring: OwnerRing, names: Sequence[tuple[str, int]], kind: NameKind) -> list[EntityName]:
    """Make the unsaved hashes by which an entity is found under some names, given with their own hashes."""
    hashes = {(int(kind), hashed) for _, hashed in names} | index_hashes(ring, [name for name, _ in names])
    return [
        EntityName(kind=kind_, name=hashed, entity_id=row.pk, type=row.type, scope=row.scope)
        for kind_, hashed in sorted(hashes)
    ]


def insert_names(names: Sequence[EntityName]) -> None:
    """Insert hashes of names, leaving out those that stand there already: two names of an entity may share a word."""
    ordered = sorted(names, key=lambda one: (one.kind, one.name, one.entity_id))
    EntityName.objects.bulk_create(ordered, ignore_conflicts=True)


def name_anew(row: Entity, ring: OwnerRing) -> None:
    """Let an entity be found by exactly its name and aliases, in its type and scope; its row is saved by the caller.

    The caller has seen that nobody else bears them.
    """
    EntityName.objects.filter(entity_id=row.pk).delete()
    aliases = [(alias, name_hash(ring, alias)) for alias in row.aliases or ()]
    own = names_of(row, ring, [(row.name, name_hash(ring, row.name))], NameKind.CANONICAL)
    insert_names([*own, *names_of(row, ring, aliases, NameKind.ALIAS)])
