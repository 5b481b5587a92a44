"""Entities: merging them in, naming them otherwise, giving one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import Conflict, InvalidInput, NotFound, TooLarge
from memory.graph.names import canonical, name_hash
from memory.graph.traversal import by_whole_name
from memory.ids import new_id
from memory.models import Entity, EntityMention, EntityName, EntityType, Memory, NameKind, current_owner, owner_scope
from memory.services.actors import UNSET, Actor, Permission, Target
from memory.services.audit.reading import reads
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.naming import insert_names, names_of
from memory.services.graph.writing import (
    change_graph,
    checked_name,
    checked_properties,
    checked_unit,
    refuse_too_many,
    scoped,
    source_memory,
    target_of,
)
from memory.text import limits

MOST_ALIASES: Final = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityDraft:
    """An entity as it came in, before any check; `seen_at` is when it was spoken of, now when left out."""

    name: Any
    type: Any = EntityType.CONCEPT
    aliases: Sequence[Any] = ()
    properties: Mapping[str, Any] | None = None
    importance: Any = 0.5
    seen_at: Any = None


@dataclass(frozen=True, slots=True)
class MergedEntity:
    """What became of an entity: its row's id, whether it is new, and aliases that another entity bears already."""

    entity_id: UUID
    created: bool
    aliases_taken: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Spoken:
    """An entity that some memories speak of, at least one of them."""

    draft: EntityDraft
    memories: Sequence[Memory]


@dataclass(slots=True)
class _Ready:
    name: str
    type: str
    hashed: int
    aliases: list[tuple[str, int]]
    properties: dict[str, Any] | None
    importance: float
    first_seen: datetime
    last_seen: datetime
    memories: frozenset[UUID] = frozenset()


@dataclass(slots=True)
class _Merging:
    """The state of one merge: who bears which name, what is new and what is known already."""

    target: Target
    stated: bool
    bearers: dict[tuple[str, int], UUID]
    known: dict[UUID, Entity]
    created: dict[UUID, Entity] = field(default_factory=dict)
    first_seen: dict[UUID, datetime] = field(default_factory=dict)
    last_seen: dict[UUID, datetime] = field(default_factory=dict)
    memories: dict[UUID, set[UUID]] = field(default_factory=dict)
    importance: dict[UUID, float] = field(default_factory=dict)
    changed: set[UUID] = field(default_factory=set)
    names: list[EntityName] = field(default_factory=list)

    def row(self, entity_id: UUID) -> Entity:
        """Give the row of an entity that takes part."""
        return self.created.get(entity_id) or self.known[entity_id]


def merge_entity(
    *, actor: Actor, draft: EntityDraft, scope: Any = UNSET, memory_id: UUID | None = None
) -> MergedEntity:
    """Add an entity, or count one more mention of the entity that bears this name already; see `merge_entities`."""
    return merge_entities(actor=actor, drafts=[draft], scope=scope, memory_id=memory_id)[0]


def merge_entities(
    *, actor: Actor, drafts: Sequence[EntityDraft], scope: Any = UNSET, memory_id: UUID | None = None
) -> list[MergedEntity]:
    """Add entities, or count one more mention of those that are there.

    An entity is there when one of the same type in the same scope bears the name, as its own or as an alias, whatever
    the case, diacritics and spaces. Type and spelling stay then; importance and last_seen rise, properties are added,
    and the mention counts once for each memory, however often the same memory is processed.

    Args:
        actor: who names them.
        drafts: between 1 and 500.
        scope: who may read them; as the memory, or the key's default, when left out.
        memory_id: the memory that speaks of them; None where they are stated.

    Returns:
        What became of each, in order.

    Raises:
        InvalidInput, TooLarge: a draft cannot be used; nothing was stored.
        NotFound: the memory is not there or hidden.
        InvalidScope, PermissionRefused: the scope cannot be written.
    """
    refuse_too_many(drafts, field="entities")
    moment = now()
    with change_graph(actor, now=moment):
        memory = source_memory(actor, memory_id)
        target = target_of(actor, scope, memory)
        ring = keyring().of(actor.owner_id)
        ready = [_checked(draft, ring, memory.occurred_at if memory else moment) for draft in drafts]
        if memory is not None:
            for one in ready:
                one.memories = frozenset([memory.pk])
        merging = _begin(ready, target, stated=memory is None)
        merged = [_merge(one, merging) for one in ready]
        _write(merging, ring)
        return merged


def merge_spoken(*, actor: Actor, spoken: Sequence[Spoken], target: Target) -> list[MergedEntity | None]:
    """Merge the entities that many memories of one scope speak of, in a few statements; see `merge_entities`.

    Call it while the graph is the caller's, see `change_graph`. All memories have the target's scope.

    Returns:
        What became of each, in order; None for a draft that cannot be used, which changes nothing.
    """
    ring = keyring().of(actor.owner_id)
    ready: list[_Ready | None] = []
    for one in spoken:
        moments = [memory.occurred_at for memory in one.memories]
        try:
            checked = _checked(one.draft, ring, max(moments))
        except (InvalidInput, TooLarge):
            ready.append(None)
            continue
        checked.memories = frozenset(memory.pk for memory in one.memories)
        checked.first_seen = min(*moments, checked.first_seen)
        ready.append(checked)
    merging = _begin([one for one in ready if one is not None], target, stated=False)
    merged: list[MergedEntity | None] = []
    for checked_one in ready:
        try:
            merged.append(None if checked_one is None else _merge(checked_one, merging))
        except TooLarge:
            # Its properties would outgrow the entity's; nothing of the draft is taken.
            merged.append(None)
    _write(merging, ring)
    return merged


def mention(pairs: Sequence[tuple[UUID, UUID]]) -> None:
    """Note that memories speak of entities that are there, each once, and count that; pairs of entity and memory.

    Call it while the graph is the caller's, see `change_graph`.
    """
    memories: dict[UUID, set[UUID]] = {}
    for entity_id, memory_id in pairs:
        memories.setdefault(entity_id, set()).add(memory_id)
    fresh = {entity_id: count for entity_id, count in _mention(memories).items() if count}
    if fresh:
        with connection.cursor() as cursor:
            cursor.execute(
                """UPDATE memory_entity e SET mention_count = e.mention_count + u.more
                FROM unnest(%s::uuid[], %s::integer[]) AS u (id, more) WHERE e.owner_id = %s AND e.id = u.id""",
                [sorted(fresh), [fresh[entity_id] for entity_id in sorted(fresh)], current_owner()],
            )


def add_alias(*, actor: Actor, entity_id: UUID, alias: Any, most: int = MOST_ALIASES) -> Entity:
    """Let an entity be found by another name too; without effect when it bears that name already.

    Args:
        actor: who names it.
        entity_id: which.
        alias: the name.
        most: aliases that it may have; more than 50 where it was merged from several.

    Raises:
        NotFound: not there or hidden.
        Conflict: `alias.taken`, another entity of this type and scope bears the name.
        InvalidInput, TooLarge: no usable name, or too many aliases.
    """
    name = checked_name(alias, field="alias")
    with change_graph(actor, now=now()):
        row = visible_entity(actor, entity_id)
        ring = keyring().of(actor.owner_id)
        hashed = name_hash(ring, name)
        bearer = by_whole_name([hashed], scopes=[row.scope], type_=row.type).get(hashed)
        if bearer and bearer[0].entity_id == row.pk:
            return row
        if bearer:
            raise Conflict(
                "Another entity of this type bears that name. Nothing was changed.",
                code="alias.taken",
                entity_id=str(bearer[0].entity_id),
            )
        if len(row.aliases or ()) >= most:
            raise InvalidInput(f"An entity has at most {most} aliases.", code="aliases.too_many", field="alias")
        row.aliases = [*(row.aliases or ()), name]
        row.save(update_fields=["aliases"])
        insert_names(names_of(row, ring, [(name, hashed)], NameKind.ALIAS))
        return row


@reads("entity", of="entity_id")
def get_entity(
    *, actor: Actor, entity_id: UUID | None = None, name: str | None = None, type_: str | None = None
) -> Entity:
    """Give one entity by its id, or by its name or an alias, whatever its case and diacritics.

    Of several with the name, the most mentioned one is meant.

    Raises:
        NotFound: none that the actor may see.
        InvalidInput: neither an id nor a usable name.
    """
    require_memory()
    actor.require(Permission.READ)
    with owner_scope(actor.owner_id):
        if entity_id is not None:
            return visible_entity(actor, entity_id)
        hashed = name_hash(keyring().of(actor.owner_id), checked_name(name))
        found = by_whole_name([hashed], scopes=actor.readable, type_=type_).get(hashed)
        if not found:
            raise NotFound("There is no entity with this name here.")
        return visible_entity(actor, found[0].entity_id)


def visible_entity(actor: Actor, entity_id: UUID) -> Entity:
    """Give an entity that the actor may see, within its owner's scope; raises NotFound otherwise."""
    row: Entity | None = Entity.objects.filter(pk=entity_id).first()
    if row is None or not actor.may_read(row.scope):
        raise NotFound("There is no entity with this id here.")
    return row


def refuse_unusable_entity(draft: EntityDraft, *, ring: OwnerRing) -> None:
    """Raise InvalidInput or TooLarge where `merge_entities` would, which then stores nothing of all its drafts."""
    _checked(draft, ring, now())


def _checked(draft: EntityDraft, ring: OwnerRing, moment: datetime) -> _Ready:
    name = checked_name(draft.name)
    if draft.type not in EntityType.values:
        raise InvalidInput(f"type is one of {', '.join(EntityType.values)}.", code="type.invalid", field="type")
    if isinstance(draft.aliases, str) or len(draft.aliases) > MOST_ALIASES:
        raise InvalidInput(
            f"aliases is a list of at most {MOST_ALIASES} names.", code="aliases.too_many", field="aliases"
        )
    aliases = {canonical(one): one for one in (checked_name(alias, field="aliases") for alias in draft.aliases)}
    aliases.pop(canonical(name), None)
    seen_at = moment if draft.seen_at is None else limits.checked_moment(draft.seen_at, field="seen_at")
    return _Ready(
        name=name,
        type=str(draft.type),
        hashed=name_hash(ring, name),
        aliases=[(alias, name_hash(ring, alias)) for alias in aliases.values()],
        properties=checked_properties(draft.properties),
        importance=checked_unit(draft.importance, field="importance"),
        first_seen=seen_at,
        last_seen=seen_at,
    )


def _begin(ready: Sequence[_Ready], target: Target, *, stated: bool) -> _Merging:
    """Look up all names of a merge at once."""
    hashes = {one.hashed for one in ready} | {hashed for one in ready for _, hashed in one.aliases}
    rows = EntityName.objects.filter(
        kind__in=[NameKind.CANONICAL, NameKind.ALIAS], name__in=sorted(hashes), scope=target.scope
    ).values_list("type", "name", "entity_id")
    bearers = {(type_, hashed): entity_id for type_, hashed, entity_id in rows}
    known = {row.pk: row for row in Entity.objects.filter(pk__in=set(bearers.values()))}
    return _Merging(target, stated, bearers, known)


def _merge(ready: _Ready, merging: _Merging) -> MergedEntity:
    entity_id = merging.bearers.get((ready.type, ready.hashed))
    created = entity_id is None
    properties = ready.properties
    if entity_id is not None and properties:
        properties = checked_properties({**(merging.row(entity_id).properties or {}), **properties})
    if entity_id is None:
        row = Entity(
            id=new_id(),
            type=ready.type,
            name=ready.name,
            properties=properties,
            importance=ready.importance,
            mention_count=1,
            stated=merging.stated,
            first_seen=ready.first_seen,
            last_seen=ready.last_seen,
            **scoped(merging.target),
        )
        entity_id = row.pk
        merging.created[entity_id] = row
        merging.bearers[ready.type, ready.hashed] = entity_id
    row = merging.row(entity_id)
    if properties and not created:
        row.properties = properties
        merging.changed.add(entity_id)
    taken = _take_aliases(row, ready, merging)
    merging.first_seen[entity_id] = min(ready.first_seen, merging.first_seen.get(entity_id, ready.first_seen))
    merging.last_seen[entity_id] = max(ready.last_seen, merging.last_seen.get(entity_id, ready.last_seen))
    merging.memories.setdefault(entity_id, set()).update(ready.memories)
    merging.importance[entity_id] = max(ready.importance, merging.importance.get(entity_id, 0.0))
    return MergedEntity(entity_id, created, taken)


def _take_aliases(row: Entity, ready: _Ready, merging: _Merging) -> tuple[str, ...]:
    """Add the aliases of a draft that nobody bears; give those that another entity bears."""
    taken: list[str] = []
    fresh: list[str] = []
    names = {canonical(one) for one in (row.name, *(row.aliases or ()))}
    for alias, hashed in ready.aliases:
        bearer = merging.bearers.setdefault((ready.type, hashed), row.pk)
        if bearer != row.pk:
            taken.append(alias)
        elif canonical(alias) not in names and len(row.aliases or ()) + len(fresh) < MOST_ALIASES:
            fresh.append(alias)
    if fresh:
        row.aliases = [*(row.aliases or ()), *fresh]
        merging.changed.add(row.pk)
    return tuple(taken)


def _write(merging: _Merging, ring: OwnerRing) -> None:
    for entity_id, row in merging.created.items():
        row.mention_count = max(1, len(merging.memories[entity_id]))
        row.first_seen, row.last_seen = merging.first_seen[entity_id], merging.last_seen[entity_id]
        row.importance = merging.importance[entity_id]
    Entity.objects.bulk_create(sorted(merging.created.values(), key=lambda row: row.pk))
    mentioned = dict.fromkeys(merging.last_seen, 1) if merging.stated else _mention(merging.memories)
    for entity_id in sorted(merging.changed - set(merging.created)):
        merging.known[entity_id].save(update_fields=["aliases", "properties"])
    again = sorted(set(merging.last_seen) - set(merging.created))
    _count_again(merging, again, mentioned)
    names: list[EntityName] = []
    for row in merging.created.values():
        names += names_of(row, ring, [(row.name, name_hash(ring, row.name))], NameKind.CANONICAL)
    for entity_id in merging.changed | set(merging.created):
        row = merging.row(entity_id)
        names += names_of(row, ring, [(one, name_hash(ring, one)) for one in row.aliases or ()], NameKind.ALIAS)
    insert_names(names)


def _mention(memories: Mapping[UUID, Iterable[UUID]]) -> dict[UUID, int]:
    """Note which memories speak of which entities, and count for each entity those of which it was not known."""
    pairs = {(entity_id, memory_id) for entity_id, spoken in memories.items() for memory_id in spoken}
    rows = EntityMention.objects.filter(
        memory_id__in={memory_id for _, memory_id in pairs}, entity_id__in=list(memories)
    )
    fresh = sorted(pairs - set(rows.values_list("entity_id", "memory_id")))
    EntityMention.objects.bulk_create(
        [EntityMention(entity_id=entity_id, memory_id=memory_id) for entity_id, memory_id in fresh],
        ignore_conflicts=True,
    )
    return Counter(entity_id for entity_id, _ in fresh)


def _count_again(merging: _Merging, again: Sequence[UUID], mentioned: Mapping[UUID, int]) -> None:
    """Raise the counts of entities that were there before, in one statement."""
    if not again:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """UPDATE memory_entity e
            SET mention_count = e.mention_count + u.more, last_seen = GREATEST(e.last_seen, u.last_seen),
                first_seen = LEAST(e.first_seen, u.first_seen), importance = GREATEST(e.importance, u.importance),
                stated = e.stated OR %s
            FROM unnest(%s::uuid[], %s::integer[], %s::timestamptz[], %s::timestamptz[], %s::float8[])
                 AS u (id, more, first_seen, last_seen, importance)
            WHERE e.owner_id = %s AND e.id = u.id""",
            [
                merging.stated,
                list(again),
                [mentioned.get(entity_id, 0) for entity_id in again],
                [merging.first_seen[entity_id] for entity_id in again],
                [merging.last_seen[entity_id] for entity_id in again],
                [merging.importance[entity_id] for entity_id in again],
                merging.known[again[0]].owner_id,
            ],
        )
