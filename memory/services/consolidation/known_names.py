"""What the graph knows of names that a batch brings: the only bearer of a bare name, and doubts that are none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from uuid import UUID

from memory.consolidation.extraction.guesses import is_guessed
from memory.consolidation.gate import Gated
from memory.crypto.keyring import keyring
from memory.graph.names import canonical, name_hash
from memory.models import EntityName, EntityType, NameKind
from memory.ports import ExtractedEntity
from memory.services.actors import Actor, Target


def with_types_of_bearers(actor: Actor, entities: Sequence[ExtractedEntity], target: Target) -> list[ExtractedEntity]:
    """Let a name whose type is only guessed be of the type of the only entity of the scope that bears it.

    Within the owner's scope; one statement where there are such names.
    """
    types = _types_of(actor, [one.name for one in entities if is_guessed(one)], (target.scope,))
    found: list[ExtractedEntity] = []
    for entity in entities:
        borne = types.get((target.scope, canonical(entity.name)), set())
        only = len(borne) == 1 and is_guessed(entity)
        found.append(replace(entity, type=next(iter(borne))) if only else entity)
    return found


def admit_known(actor: Actor, gated: Gated, target: Target) -> Gated:
    """Take from what is doubtful the entities that exist already: nobody has to be asked whether they do.

    Those of the scope count as spoken of once more, without the aliases and properties that the doubtful text gives
    them; those that everyone of the owner's may read are no doubt either. Within the owner's scope.
    """
    doubtful = gated.doubtful.entities
    if not doubtful:
        return gated
    shared = actor.owner_id
    types = _types_of(actor, [one.name for one in doubtful], (target.scope, shared))

    def exists(entity: ExtractedEntity, scope: UUID) -> bool:
        borne = types.get((scope, canonical(entity.name)), set())
        vague = entity.type == EntityType.CONCEPT or is_guessed(entity)
        return entity.type in borne or (vague and len(borne) == 1)

    known = with_types_of_bearers(actor, [one for one in doubtful if exists(one, target.scope)], target)
    known = [replace(one, aliases=(), properties={}) for one in known]
    left = [one for one in doubtful if not exists(one, target.scope) and not exists(one, shared)]
    return Gated(
        replace(gated.sure, entities=(*gated.sure.entities, *known)), replace(gated.doubtful, entities=tuple(left))
    )


def _types_of(actor: Actor, names: Iterable[str], scopes: Sequence[UUID]) -> dict[tuple[UUID, str], set[str]]:
    """Give the types of the entities that bear names, by scope and compared form of the name."""
    ring = keyring().of(actor.owner_id)
    wanted = {name_hash(ring, name): canonical(name) for name in names if name}
    if not wanted:
        return {}
    rows = EntityName.objects.filter(
        kind__in=[NameKind.CANONICAL, NameKind.ALIAS], name__in=sorted(wanted), scope__in=set(scopes)
    ).values_list("scope", "name", "type")
    found: dict[tuple[UUID, str], set[str]] = {}
    for scope, hashed, type_ in rows:
        found.setdefault((scope, wanted[hashed]), set()).add(type_)
    return found
