"""Which entity a name means: names of a batch before they are merged in, and likely duplicates that stand already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, overload
from uuid import UUID

from memory.consolidation.resolution import Judgement, Verdict, judge
from memory.consolidation.resolution.candidates import candidates, lookups
from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import InvalidInput, LociError
from memory.graph.names import canonical, name_hash
from memory.models import EntitiesApart, Entity, EntityName, EntityType, NameKind, ReviewKind, owner_scope
from memory.services.actors import Actor, Permission, Target
from memory.services.clock import now
from memory.services.features import require_memory
from memory.services.graph.entities import MOST_ALIASES, EntityDraft, visible_entity
from memory.services.graph.writing import checked_name
from memory.services.reviews import open_review

MOST_DOUBTS: Final = 3
"""Stored entities that a person is asked about for one name, the likeliest first."""

MOST_COMPARED: Final = 20
"""Newest names of a batch that share a word with one and are compared with it."""

MOST_NAMES_JUDGED: Final = 5
"""Names of a stored entity that are compared with those of another."""

Pair = tuple[UUID, UUID]


@dataclass(frozen=True, slots=True)
class Doubt:
    """That a draft may be an entity that stands already, or another draft of the batch.

    Attributes:
        draft: place of the draft.
        entity_id: the stored entity; None where it is another draft.
        other: place of the other draft; None where it is a stored entity.
        names: both names.
        score: how likely, 0 to 1.
        rule: what was found.
    """

    draft: int
    entity_id: UUID | None
    other: int | None
    names: tuple[str, str]
    score: float
    rule: str


@dataclass(frozen=True, slots=True)
class Resolution(Sequence[EntityDraft]):
    """The drafts under the names of the entities that they mean, in their order, and what is in doubt."""

    drafts: tuple[EntityDraft, ...]
    doubts: tuple[Doubt, ...] = ()
    rules: Mapping[int, str] = field(default_factory=dict)

    @overload
    def __getitem__(self, index: int) -> EntityDraft: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[EntityDraft, ...]: ...
    def __getitem__(self, index: int | slice) -> EntityDraft | tuple[EntityDraft, ...]:
        """Give a draft or several."""
        return self.drafts[index]

    def __len__(self) -> int:
        """Give how many drafts there are."""
        return len(self.drafts)


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two stored entities that may be one, with what the rule says."""

    first: Entity
    second: Entity
    judgement: Judgement


@dataclass(slots=True)
class _Batch:
    drafts: list[EntityDraft]
    names: dict[int, str]
    bearers: dict[int, dict[str, UUID]]
    doubts: list[Doubt] = field(default_factory=list)
    rules: dict[int, str] = field(default_factory=dict)
    settled: set[int] = field(default_factory=set)

    def take(self, place: int, name: str, rule: str) -> None:
        """Let a draft have the name of what it means; its own name becomes an alias."""
        draft = self.drafts[place]
        self.drafts[place] = replace(draft, name=name, aliases=(draft.name, *draft.aliases))
        self.rules[place] = rule
        self.settled.add(place)


def resolve(*, actor: Actor, drafts: Sequence[EntityDraft], target: Target) -> Resolution:
    """Give drafts the names of the entities that they mean, before they are merged in.

    In order: a name or alias that an entity of the type bears; the one entity of another type that bears it, where the
    draft's type is the general `concept`; a stored entity that is surely the same; an earlier draft that is. A draft
    that takes another name keeps its own as an alias. What a person has to say is in `doubts`; hand it to `open_doubts`
    once the drafts are merged in. Drafts with names that cannot be used are left as they are, for the merge to refuse.

    Within the caller's transaction where there is one; three statements for a batch.

    Args:
        actor: for whom.
        drafts: what was drawn from texts of one scope.
        target: the scope that they are merged into; entities of other scopes do not count.
    """
    ring = keyring().of(actor.owner_id)
    with owner_scope(actor.owner_id):
        batch = _begin(ring, drafts, target)
        _by_whole_names(batch, ring)
        _by_likeness(batch, ring, target)
        _among_themselves(batch)
    return Resolution(tuple(batch.drafts), tuple(batch.doubts), batch.rules)


def open_doubts(
    *,
    actor: Actor,
    resolution: Resolution,
    entity_ids: Sequence[UUID | None],
    target: Target,
    evidence: Mapping[int, Sequence[tuple[UUID, str]]] | None = None,
    run_id: UUID | None = None,
) -> int:
    """Ask a person about the doubts of a resolution whose drafts are merged in; gives how many are new.

    Args:
        actor: for whom.
        resolution: what `resolve` gave.
        entity_ids: the entity that each draft became, in the drafts' order; None where it could not be merged in.
        target: who may read the question, the scope of the drafts.
        evidence: memories that speak of a draft, with their words, by the draft's place.
        run_id: the run of consolidation.
    """
    asked: dict[Pair, Doubt] = {}
    for doubt in resolution.doubts:
        became = entity_ids[doubt.draft]
        other = doubt.entity_id if doubt.other is None else entity_ids[doubt.other]
        if became is not None and other is not None and other != became:
            asked.setdefault(in_order(became, other), doubt)
    opened = 0
    with owner_scope(actor.owner_id):
        for pair in sorted(set(asked) - kept_apart(list(asked))):
            doubt = asked[pair]
            item = open_review(
                actor=actor,
                kind=ReviewKind.MERGE,
                reason=f"merge.{doubt.rule}",
                confidence=doubt.score,
                payload={
                    "first": str(pair[0]),
                    "second": str(pair[1]),
                    "names": list(doubt.names),
                    "score": doubt.score,
                    "rule": doubt.rule,
                },
                target=target,
                evidence=(evidence or {}).get(doubt.draft, ()),
                run_id=run_id,
            )
            opened += item is not None
    return opened


def find_duplicates(*, actor: Actor, entities: Sequence[Entity]) -> list[Duplicate]:
    """Find stored entities that may be the same as some others, each pair once, the likeliest first.

    Pairs that a person has kept apart are left out. A pair is given with the one of the two that comes first in the
    order of `search_entities`, so that a walk through all pages of that list gives every pair once.

    Args:
        actor: who asks; sees pairs of scopes that it may read.
        entities: a page of entities as `search_entities` gives it.
    """
    require_memory()
    actor.require(Permission.READ)
    ring = keyring().of(actor.owner_id)
    by_scope: dict[UUID, dict[int, tuple[str, str]]] = {}
    for place, row in enumerate(entities):
        if actor.may_read(row.scope):
            by_scope.setdefault(row.scope, {})[place] = (row.name, row.type)
    with owner_scope(actor.owner_id):
        found = {
            place: ids
            for scope, wanted in by_scope.items()
            for place, ids in candidates(ring, wanted, scope=scope).items()
        }
        others = {row.pk: row for row in Entity.objects.filter(pk__in={one for ids in found.values() for one in ids})}
        pairs: dict[Pair, Duplicate] = {}
        for place, ids in found.items():
            row = entities[place]
            for other in (others[one] for one in ids if one in others and one != row.pk):
                if (other.mention_count, other.pk) > (row.mention_count, row.pk):
                    continue
                judgement = best_of_all(row, other)
                if judgement.verdict != Verdict.APART:
                    pairs[in_order(row.pk, other.pk)] = Duplicate(row, other, judgement)
        for pair in kept_apart(list(pairs)):
            del pairs[pair]
    return sorted(pairs.values(), key=lambda one: (-one.judgement.score, one.first.pk, one.second.pk))


def best_of_all(first: Entity, second: Entity) -> Judgement:
    """Judge every name of one entity against every name of another, and give the likeliest answer."""
    names = (first.name, *(first.aliases or ()))[:MOST_NAMES_JUDGED]
    return max((best_of(name, first.type, second) for name in names), key=lambda one: one.score)


def keep_apart(*, actor: Actor, first_id: UUID, second_id: UUID) -> None:
    """Note that two entities are not the same; they are not proposed again. Without effect when that is known.

    Raises:
        NotFound: one of them is not there or hidden.
        InvalidInput: they are one and the same, or stand for different scopes.
        PermissionRefused: the actor may not decide.
    """
    require_memory()
    actor.require(Permission.REVIEW)
    with owner_scope(actor.owner_id):
        first, second = visible_entity(actor, first_id), visible_entity(actor, second_id)
        if first.pk == second.pk or first.scope != second.scope:
            raise InvalidInput("Name two different entities of one scope.", code="entities.pair", field="other")
        pair = in_order(first.pk, second.pk)
        EntitiesApart.objects.bulk_create(
            [EntitiesApart(first_id=pair[0], second_id=pair[1], decided_at=now())], ignore_conflicts=True
        )


def kept_apart(pairs: Sequence[Pair]) -> set[Pair]:
    """Give those of some pairs in order that a person has kept apart, within the owner's scope."""
    firsts, seconds = {pair[0] for pair in pairs}, {pair[1] for pair in pairs}
    rows = EntitiesApart.objects.filter(first_id__in=firsts, second_id__in=seconds)
    return set(rows.values_list("first_id", "second_id")) & set(pairs)


def in_order(first: UUID, second: UUID) -> Pair:
    """Put the smaller id first, as pairs are kept."""
    return (first, second) if first < second else (second, first)


def best_of(name: str, type_: str, entity: Entity) -> Judgement:
    """Judge a name against the name and the aliases of an entity, and give the likeliest answer."""
    others = (entity.name, *(entity.aliases or ()))[: MOST_ALIASES + 1]
    found = [judge(name, other, type_=type_, other_type=entity.type) for other in others]
    return max(found, key=lambda one: one.score)


def _begin(ring: OwnerRing, drafts: Sequence[EntityDraft], target: Target) -> _Batch:
    names: dict[int, str] = {}
    for place, draft in enumerate(drafts):
        try:
            names[place] = checked_name(draft.name)
        except LociError:
            # The merge refuses it with a code; here it is like a name that nobody bears.
            continue
    hashes = {name_hash(ring, name) for name in names.values()}
    rows = EntityName.objects.filter(
        kind__in=[NameKind.CANONICAL, NameKind.ALIAS], name__in=sorted(hashes), scope=target.scope
    ).values_list("name", "type", "entity_id")
    bearers: dict[int, dict[str, UUID]] = {}
    for hashed, type_, entity_id in rows:
        bearers.setdefault(hashed, {})[type_] = entity_id
    return _Batch(list(drafts), names, bearers)


def _by_whole_names(batch: _Batch, ring: OwnerRing) -> None:
    for place, name in batch.names.items():
        types = batch.bearers.get(name_hash(ring, name), {})
        draft = batch.drafts[place]
        if draft.type in types:
            batch.settled.add(place)
        elif draft.type == EntityType.CONCEPT and len(types) == 1:
            batch.drafts[place] = replace(draft, type=next(iter(types)))
            batch.rules[place] = "type_of_name"
            batch.settled.add(place)


def _by_likeness(batch: _Batch, ring: OwnerRing, target: Target) -> None:
    wanted = {
        place: (name, str(batch.drafts[place].type))
        for place, name in batch.names.items()
        if place not in batch.settled
    }
    found = candidates(ring, wanted, scope=target.scope)
    rows = {row.pk: row for row in Entity.objects.filter(pk__in={one for ids in found.values() for one in ids})}
    for place, ids in found.items():
        name, type_ = wanted[place]
        judged = [(best_of(name, type_, rows[entity_id]), rows[entity_id]) for entity_id in ids if entity_id in rows]
        judged.sort(key=lambda item: (-item[0].score, -item[1].mention_count, item[1].pk))
        sure = [item for item in judged if item[0].verdict == Verdict.SAME]
        if len(sure) == 1:
            batch.take(place, sure[0][1].name, sure[0][0].rule)
            continue
        # Of two that are both surely the same, or two Alices for one "Alice", a person says which, if anybody can.
        asked = [item for item in judged if item[0].verdict != Verdict.APART]
        parts = [item for item in asked if item[0].rule == "part"]
        for judgement, row in [item for item in asked if len(parts) < 2 or item not in parts][:MOST_DOUBTS]:
            batch.doubts.append(Doubt(place, row.pk, None, (name, row.name), judgement.score, judgement.rule))


def _among_themselves(batch: _Batch) -> None:
    """Compare the names of a batch that nothing stored answers to, those that share a word."""
    seen: dict[tuple[Any, ...], list[int]] = {}
    for place, name in batch.names.items():
        if place in batch.settled:
            continue
        type_ = str(batch.drafts[place].type)
        keys = [(type_, *key) for key in lookups(name, type_)]
        earlier = dict.fromkeys(other for key in keys for other in seen.get(key, [])[-MOST_COMPARED:])
        for other in earlier:
            if canonical(batch.names[other]) == canonical(name):
                break
            judgement = judge(name, batch.names[other], type_=type_)
            if judgement.verdict == Verdict.SAME:
                batch.take(place, batch.drafts[other].name, judgement.rule)
                break
            if judgement.verdict == Verdict.ASK:
                names = (name, batch.names[other])
                batch.doubts.append(Doubt(place, None, other, names, judgement.score, judgement.rule))
        else:
            for key in keys:
                seen.setdefault(key, []).append(place)
