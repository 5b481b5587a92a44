"""The entities of an import: those that stand for themselves all at once, the others one by one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import Conflict, InvalidInput, LociError
from memory.graph.names import name_hash
from memory.graph.traversal import by_whole_name
from memory.models import EntityName, EntityType, NameKind, current_owner
from memory.services.graph.entities import (
    MOST_ALIASES,
    EntityDraft,
    add_alias,
    mention,
    merge_entities,
    merge_entity,
    refuse_unusable_entity,
)
from memory.services.graph.import_state import CREATED, EXISTING, Import
from memory.services.graph.merging import MOST_NAMES
from memory.services.graph.writing import checked_name

MOST_COUNT: Final = 2_000_000_000
_UUID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
KEEP_COUNTS: Final = """
    UPDATE memory_entity e
    SET mention_count = coalesce(u.mentions, e.mention_count), stated = u.stated, first_seen = u.first,
        last_seen = GREATEST(u.first, u.last)
    FROM unnest(%s::uuid[], %s::integer[], %s::boolean[], %s::timestamptz[], %s::timestamptz[])
         AS u (id, mentions, stated, first, last)
    WHERE e.owner_id = %s AND e.id = u.id
"""


@dataclass(frozen=True, slots=True)
class _Counts:
    """What an entity had where it came from; `mentions` is None where that was no usable number."""

    mentions: int | None
    stated: bool
    first: datetime
    last: datetime


@dataclass(frozen=True, slots=True)
class _Plain:
    """An item that can be used as it is; `hashes` are of its name and its aliases."""

    item: Mapping[str, Any]
    draft: EntityDraft
    counts: _Counts
    hashes: tuple[int, ...]

    @property
    def keys(self) -> set[tuple[str, int]]:
        """Give its names as they stand for one entity."""
        return {(self.draft.type, hashed) for hashed in self.hashes}


def take_entities(under_way: Import, items: Mapping[int, Mapping[str, Any]]) -> dict[int, str]:
    """Take those of up to 500 entities at once that share no name with another of them and need no further look.

    Call it while the graph is the caller's.

    Args:
        under_way: the import.
        items: by their places.

    Returns:
        What became of those that were taken. The others are for `take_entity`: what cannot be used, what shares a name
        with another one, and what brings new aliases to an entity that is here.
    """
    ring = keyring().of(under_way.actor.owner_id)
    plain = {index: one for index, item in items.items() if (one := _plain(under_way, item, ring)) is not None}
    same = _same_elsewhere(under_way, plain)
    items = {index: item for index, item in items.items() if index not in same}
    plain = {index: one for index, one in plain.items() if index not in same}
    shared = Counter(key for one in plain.values() for key in one.keys)
    # What cannot be used may bear a name too, and fails; what can be used but is not plain may not.
    alone = {index: one for index, one in plain.items() if max(shared[key] for key in one.keys) == 1}
    if len(plain) < len(items):
        alone = _without_names_of(ring, [item for index, item in items.items() if index not in plain], alone)
    bearers = _bearers(under_way, {hashed for one in alone.values() for hashed in one.hashes})
    known = {index: bearers[key] for index, one in alone.items() if (key := _own(one)) in bearers}
    fresh = {index: one for index, one in alone.items() if index not in known}
    settled = {index: known[index] for index in known if all(key in bearers for key in alone[index].keys)}
    made = _make(under_way, fresh)
    taken = settled | made
    under_way.entities.update({str(entity_id): entity_id for entity_id in same.values()})
    for index, entity_id in taken.items():
        if isinstance(items[index].get("id"), str):
            under_way.entities[items[index]["id"]] = entity_id
    spoken = [(entity_id, one) for index, entity_id in taken.items() for one in _mentions(under_way, items[index])]
    if spoken:
        mention(spoken)
    _keep_counts({entity_id: fresh[index].counts for index, entity_id in made.items()})
    return {index: CREATED if index in made else EXISTING for index in taken | same}


def _plain(under_way: Import, item: Mapping[str, Any], ring: OwnerRing) -> _Plain | None:
    """Read an item; None where it cannot be used, or has more aliases than can be given at once."""
    aliases = item.get("aliases") or []
    if not isinstance(aliases, list) or len(aliases) > MOST_ALIASES:
        return None
    try:
        draft = _draft(under_way, item, checked_name(item.get("name")), aliases)
        refuse_unusable_entity(draft, ring=ring)
        counts = _counts(under_way, item)
        names = [checked_name(name) for name in (draft.name, *aliases)]
    except LociError:
        return None
    return _Plain(item, draft, counts, tuple(dict.fromkeys(name_hash(ring, name) for name in names)))


def _own(one: _Plain) -> tuple[str, int]:
    return one.draft.type, one.hashes[0]


def _without_names_of(
    ring: OwnerRing, others: Sequence[Mapping[str, Any]], alone: Mapping[int, _Plain]
) -> dict[int, _Plain]:
    """Leave out those that share a name with items that are taken one by one."""
    borne: set[int] = set()
    for item in others:
        aliases = item.get("aliases")
        for name in (item.get("name"), *(aliases if isinstance(aliases, list) else ())):
            with suppress(LociError):
                borne.add(name_hash(ring, checked_name(name)))
    return {index: one for index, one in alone.items() if borne.isdisjoint(one.hashes)}


def _bearers(under_way: Import, hashes: set[int]) -> dict[tuple[str, int], UUID]:
    rows = EntityName.objects.filter(
        kind__in=[NameKind.CANONICAL, NameKind.ALIAS], name__in=sorted(hashes), scope=under_way.target.scope
    )
    return {(type_, hashed): entity_id for type_, hashed, entity_id in rows.values_list("type", "name", "entity_id")}


def _same_elsewhere(under_way: Import, plain: Mapping[int, _Plain]) -> dict[int, UUID]:
    """Find the entities of other scopes that items are, by their ids, types and names."""
    ids = {str(one.item.get("id")): index for index, one in plain.items()}
    asked = [UUID(known) for known in ids if _UUID.fullmatch(known)]
    names = under_way.elsewhere(EntityName.objects.filter(kind=NameKind.CANONICAL, entity_id__in=asked))
    found = {ids[str(pk)]: (pk, (type_, name)) for pk, type_, name in names.values_list("entity_id", "type", "name")}
    return {index: pk for index, (pk, key) in found.items() if key == _own(plain[index])}


def _make(under_way: Import, fresh: Mapping[int, _Plain]) -> dict[int, UUID]:
    if not fresh:
        return {}
    drafts = [one.draft for one in fresh.values()]
    merged = merge_entities(actor=under_way.actor, drafts=drafts, scope=under_way.scope)
    return {index: one.entity_id for index, one in zip(fresh, merged, strict=True)}


def take_entity(under_way: Import, item: Mapping[str, Any]) -> str:
    """Take one entity, whatever stands here already; gives what became of it."""
    name = checked_name(item.get("name"))
    hashed = name_hash(keyring().of(under_way.actor.owner_id), name)
    type_ = item.get("type")
    found = []
    if isinstance(type_, str) and type_ in EntityType.values:
        found = by_whole_name([hashed], scopes=[under_way.target.scope], type_=type_).get(hashed, [])
    aliases = item.get("aliases") or []
    if not isinstance(aliases, list):
        raise InvalidInput("aliases is a list.", code="field.type", field="aliases")
    if found:
        entity_id, outcome, further = found[0].entity_id, EXISTING, aliases
    else:
        entity_id, outcome = _new_entity(under_way, item, name, aliases[:MOST_ALIASES]), CREATED
        further = aliases[MOST_ALIASES:]
    for alias in further:
        # An alias that another entity bears here stays with that one.
        with suppress(Conflict):
            add_alias(actor=under_way.actor, entity_id=entity_id, alias=alias, most=MOST_NAMES)
    if isinstance(item.get("id"), str):
        under_way.entities[item["id"]] = entity_id
    if spoken := _mentions(under_way, item):
        mention([(entity_id, memory_id) for memory_id in spoken])
    if outcome == CREATED:
        _keep_counts({entity_id: _counts(under_way, item)})
    return outcome


def _new_entity(under_way: Import, item: Mapping[str, Any], name: str, aliases: list[Any]) -> UUID:
    draft = _draft(under_way, item, name, aliases)
    return merge_entity(actor=under_way.actor, draft=draft, scope=under_way.scope).entity_id


def _draft(under_way: Import, item: Mapping[str, Any], name: str, aliases: list[Any]) -> EntityDraft:
    return EntityDraft(
        name=name,
        type=item.get("type"),
        aliases=aliases,
        properties=item.get("properties"),
        importance=item.get("importance", 0.5),
        seen_at=under_way.known_since(item.get("first_seen"), "first_seen"),
    )


def _mentions(under_way: Import, item: Mapping[str, Any]) -> list[UUID]:
    """Give the memories that speak of an entity, of those that were taken over."""
    spoken = item.get("mentions")
    return sorted({one for one in map(under_way.memory, spoken if isinstance(spoken, list) else ()) if one is not None})


def _counts(under_way: Import, item: Mapping[str, Any]) -> _Counts:
    count = item.get("mention_count")
    usable = isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_COUNT
    return _Counts(
        mentions=count if usable else None,
        stated=item.get("stated") is not False,
        first=under_way.known_since(item.get("first_seen"), "first_seen"),
        last=under_way.known_since(item.get("last_seen") or item.get("first_seen"), "last_seen"),
    )


def _keep_counts(counts: Mapping[UUID, _Counts]) -> None:
    """Give new entities the counts and times that they had."""
    if not counts:
        return
    found = list(counts.values())
    with connection.cursor() as cursor:
        cursor.execute(
            KEEP_COUNTS,
            [
                list(counts),
                [one.mentions for one in found],
                [one.stated for one in found],
                [one.first for one in found],
                [one.last for one in found],
                current_owner(),
            ],
        )
