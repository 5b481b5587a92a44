"""Finding entities by words of their names, the most mentioned first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import InvalidInput
from memory.graph.names import name_hash, search_hashes
from memory.graph.store import GraphStore
from memory.models import Entity, NameKind, owner_scope
from memory.services.actors import UNSET, Actor, Permission, read_scopes
from memory.services.audit.reading import reads
from memory.services.features import require_memory
from memory.services.graph.stores import Ahead, ask_ahead, asks_ahead
from memory.services.graph.writing import checked_name
from memory.text import limits

SEARCHED: Final = """
    SELECT e.id FROM memory_entity e WHERE e.owner_id = %(owner)s {conditions}
    ORDER BY e.mention_count DESC, e.id DESC LIMIT %(size)s
"""
# One word of a search: a whole word of a name, or the beginning of one.
HAS_WORD: Final = """
    AND EXISTS (SELECT FROM memory_entityname n WHERE n.owner_id = e.owner_id AND n.entity_id = e.id
                AND ((n.kind = {word} AND n.name = %(word_{place})s)
                     OR (n.kind = {prefix} AND n.name = %(prefix_{place})s)))
"""


def look_up(*, actor: Actor, name: str | None) -> Ahead[list[UUID]]:
    """Ask Neo4j ahead of a search for a whole name, where it is chosen to answer; to be passed to `search_entities`.

    Raises:
        InvalidInput: it is no name.
    """
    require_memory()
    actor.require(Permission.READ)
    if name is None or not asks_ahead():
        return Ahead()
    hashed = name_hash(keyring().of(actor.owner_id), checked_name(name))

    def found(store: GraphStore) -> list[UUID]:
        return [one.entity_id for one in store.by_whole_name([hashed], scopes=actor.readable).get(hashed, [])]

    return ask_ahead(actor.owner_id, found)


@reads("entities")
def search_entities(
    *,
    actor: Actor,
    query: str = "",
    name: str | None = None,
    types: Sequence[str] = (),
    scope: Any = UNSET,
    after: tuple[int, UUID] | None = None,
    size: int = 50,
    ahead: Ahead[list[UUID]] | None = None,
) -> list[Entity]:
    """List entities, the most mentioned first.

    Args:
        actor: who asks.
        query: words that names or aliases hold, whole or as the beginning of a word; all of them have to fit.
        name: a whole name or alias.
        types: of these types only.
        scope: limits the search to a scope or several.
        after: mention count and id of the last row of the page before.
        size: most rows.
        ahead: what `look_up` has found under the name.

    Raises:
        InvalidInput: the query holds no word.
        InvalidScope, NotFound, PermissionRefused: the scope is not there or not readable.
    """
    require_memory()
    actor.require(Permission.READ)
    scopes = read_scopes(actor, scope)
    ring = keyring().of(actor.owner_id)
    conditions, parameters = _words_of(query, ring)
    if types:
        conditions.append("AND e.type = ANY(%(types)s)")
        parameters["types"] = list(types)
    if scopes is not None:
        conditions.append("AND e.scope = ANY(%(scopes)s::uuid[])")
        parameters["scopes"] = list(scopes)
    if after is not None:
        conditions.append("AND (e.mention_count, e.id) < (%(after_count)s, %(after_id)s)")
        parameters |= {"after_count": after[0], "after_id": after[1]}
    with owner_scope(actor.owner_id):
        if name is not None:
            bearing, further = _bearing(name, ring, ahead.believed() if ahead else None)
            conditions.append(bearing)
            parameters |= further
        return _listed(
            SEARCHED.format(conditions=" ".join(conditions)),
            {**parameters, "owner": actor.owner_id, "size": size},
        )


def _listed(statement: str, parameters: Mapping[str, Any]) -> list[Entity]:
    """Give the entities that a statement lists by their ids, in its order, as many as there are.

    Asked again where one is merged or removed between the two looks: a page with a row too few would pass for the last.
    """
    while True:
        with connection.cursor() as cursor:
            cursor.execute(statement, parameters)
            order = [row[0] for row in cursor.fetchall()]
        found = {row.pk: row for row in Entity.objects.filter(pk__in=order)}
        if len(found) == len(order):
            return [found[entity_id] for entity_id in order]


def _bearing(name: str, ring: OwnerRing, ids: list[UUID] | None) -> tuple[str, dict[str, Any]]:
    """Write the condition that an entity bears a name, and is one of those that Neo4j has found where that answers."""
    condition = (
        "AND EXISTS (SELECT FROM memory_entityname n WHERE n.owner_id = e.owner_id AND n.entity_id = e.id "
        "AND n.kind = ANY(%(whole)s::smallint[]) AND n.name = %(name)s)"
    )
    parameters: dict[str, Any] = {
        "whole": [int(NameKind.CANONICAL), int(NameKind.ALIAS)],
        "name": name_hash(ring, checked_name(name)),
    }
    if ids is None:
        return condition, parameters
    return f"AND e.id = ANY(%(bearing)s::uuid[]) {condition}", {**parameters, "bearing": ids}


def _words_of(query: str, ring: OwnerRing) -> tuple[list[str], dict[str, Any]]:
    if not query:
        return [], {}
    hashes = search_hashes(ring, limits.checked_query(query, field="q"))
    if not hashes:
        raise InvalidInput("The search holds no word.", code="q.invalid", field="q")
    parameters: dict[str, Any] = {}
    conditions = []
    for place, (word, prefix) in enumerate(hashes):
        conditions.append(HAS_WORD.format(place=place, word=int(NameKind.WORD), prefix=int(NameKind.PREFIX)))
        parameters |= {f"word_{place}": word, f"prefix_{place}": prefix}
    return conditions, parameters
