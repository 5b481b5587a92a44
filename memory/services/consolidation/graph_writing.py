"""What was drawn enters the graph: entities first, then relations, events and causes, a batch at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.consolidation.extraction.guesses import stored_properties
from memory.crypto.keyring import OwnerRing, keyring
from memory.errors import InvalidInput, TooLarge
from memory.graph.labels import SINGLE_VALUED, checked_label, label_hash, opposite_hash
from memory.graph.names import canonical, name_hash
from memory.graph.traversal import by_whole_name
from memory.models import Memory, Relation
from memory.ports import Extract, ExtractedEntity, ExtractedRelation
from memory.services.actors import Target
from memory.services.consolidation.known_names import with_types_of_bearers
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.graph.entities import MOST_ALIASES, EntityDraft, Spoken, merge_spoken
from memory.services.graph.recording import Causing, Happening, record_causes, record_events
from memory.services.graph.standing import Said, say_relations
from memory.services.graph.writing import checked_name, checked_unit, cut_text
from memory.services.resolution import open_doubts, resolve
from memory.text import limits

MOST_PARTICIPANTS: Final = 50
ENFORCE: Final = "enforce"


@dataclass(slots=True)
class Names:
    """The entities that the names of a batch stand for, in the scope of the batch or for the whole owner."""

    scopes: tuple[UUID, ...]
    by_name: dict[str, dict[str, UUID]] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)

    def add(self, name: str, type_: str, entity_id: UUID) -> None:
        """Note an entity under a name."""
        self.by_name.setdefault(canonical(name), {}).setdefault(type_, entity_id)

    def of(self, name: str | None, type_: str = "") -> UUID | None:
        """Give the entity of a name, one of the type that was said where there is one."""
        found = self.by_name.get(canonical(name or ""), {})
        return found.get(type_) or next(iter(found.values()), None)

    def spelled(self, name: str) -> str:
        """Give the name that the entity bears which was meant by a name."""
        return self.written.get(canonical(name), name)

    def look_up(self, names: Iterable[str | None], ring: OwnerRing) -> None:
        """Find entities of earlier batches for the names that this one does not bring in itself."""
        wanted: dict[int, str] = {}
        for name in names:
            if name and canonical(name) not in self.by_name:
                wanted[name_hash(ring, name)] = name
        if not wanted:
            return
        for hashed, found in by_whole_name(list(wanted), scopes=self.scopes).items():
            best = min(found, key=lambda one: (self.scopes.index(one.scope), -one.mention_count))
            self.by_name.setdefault(canonical(wanted[hashed]), {})[""] = best.entity_id


def write_entities(
    context: StageContext, drawn: Extract, rows: Mapping[str, Memory], target: Target, report: StageReport
) -> Names:
    """Merge the entities of a batch, each counted once for each row that speaks of it.

    Names that mean an entity which stands already are merged into that one; where that is in doubt a person is asked.
    Call it while the graph is the caller's.
    """
    names = Names(tuple(dict.fromkeys((target.scope, context.actor.owner_id))))
    spoken = [(entity, memories) for entity in drawn.entities if (memories := _speaking(entity, rows))]
    if not spoken:
        return names
    drafts = [_draft(one) for one in with_types_of_bearers(context.actor, [one for one, _ in spoken], target)]
    resolution = resolve(actor=context.actor, drafts=drafts, target=target)
    merged = merge_spoken(
        actor=context.actor,
        spoken=[Spoken(draft, memories) for draft, (_, memories) in zip(resolution, spoken, strict=True)],
        target=target,
    )
    for (entity, _), draft, one in zip(spoken, resolution, merged, strict=True):
        if one is None:
            report.count("unusable")
            continue
        report.count("entities_new" if one.created else "entities_known")
        for name in (entity.name, draft.name, *entity.aliases):
            names.add(name, str(draft.type), one.entity_id)
        names.written[canonical(entity.name)] = str(draft.name)
    doubts = [
        doubt
        for doubt in resolution.doubts
        if merged[doubt.draft] is not None and (doubt.other is None or merged[doubt.other] is not None)
    ]
    if doubts:
        # One that was not merged stands in no doubt any more, so its place in the list does not matter.
        ids = [one.entity_id if one is not None else context.run_id for one in merged]
        evidence = {place: [(row.pk, "") for row in memories] for place, (_, memories) in enumerate(spoken)}
        opened = open_doubts(
            actor=context.actor,
            resolution=replace(resolution, doubts=tuple(doubts)),
            entity_ids=ids,
            target=target,
            evidence=evidence,
            run_id=context.run_id,
        )
        report.count("merges_in_doubt", opened)
    return names


def write_relations(
    context: StageContext, drawn: Extract, rows: Mapping[str, Memory], names: Names, target: Target, report: StageReport
) -> None:
    """State the relations of a batch in the order in which they were said, those that end first.

    One whose entity is not there is counted as `unresolved` and not written. Call it while the graph is the caller's.
    """
    relations = [one for one in drawn.relations if one.passage in rows]
    ring = keyring().of(context.actor.owner_id)
    names.look_up((name for one in relations for name in (one.source, one.target)), ring)
    order = {key: place for place, key in enumerate(rows)}
    relations.sort(key=lambda one: (order[one.passage], not one.ended))
    mode = context.settings["consistency"]
    said: list[Said] = []
    for one in relations:
        source, end = names.of(one.source, one.source_type), names.of(one.target, one.target_type)
        if source is None or end is None:
            report.count("unresolved")
        elif source == end:
            report.count("unusable")
        else:
            try:
                said.append(_said(one, source, end, rows[one.passage], ring, enforce=mode == ENFORCE))
            except (InvalidInput, TooLarge):
                report.count("unusable")
    said = _known_to_hold(said, target)
    if not said:
        return
    for outcome in say_relations(said, target=target, moment=context.moment):
        report.count("relations_new" if outcome.created else "relations_strengthened")
        report.count("relations_ended", len(outcome.superseded))
        if mode != "off":
            report.count("conflicts", outcome.conflicts)


def write_events(
    context: StageContext, drawn: Extract, rows: Mapping[str, Memory], names: Names, target: Target, report: StageReport
) -> None:
    """Record the events and causes of a batch. Call it while the graph is the caller's."""
    events = [one for one in drawn.events if one.passage in rows]
    causes = [one for one in drawn.causes if one.passage in rows]
    named: list[str | None] = [name for one in events for name in one.participants]
    named += [name for one in causes for name in (one.cause_entity, one.effect_entity)]
    names.look_up(named, keyring().of(context.actor.owner_id))
    happenings: list[Happening] = []
    for event in events:
        took_part = [names.of(name) for name in event.participants[:MOST_PARTICIPANTS]]
        report.count("unresolved", took_part.count(None))
        try:
            text = cut_text(event.text, field="text")
            at = limits.checked_moment(event.occurred_at, field="occurred_at")
        except (InvalidInput, TooLarge):
            report.count("unusable")
            continue
        happenings.append(Happening(text, at, frozenset(one for one in took_part if one), rows[event.passage]))
    causings: list[Causing] = []
    for cause in causes:
        try:
            texts = cut_text(cause.cause, field="cause"), cut_text(cause.effect, field="effect")
            sure = checked_unit(cause.confidence, field="confidence")
        except (InvalidInput, TooLarge):
            report.count("unusable")
            continue
        about = names.of(cause.cause_entity), names.of(cause.effect_entity)
        causings.append(Causing(*texts, *about, sure, rows[cause.passage]))
    if happenings:
        for _, created in record_events(happenings, target=target, moment=context.moment):
            report.count("events_new" if created else "events_known")
    if causings:
        for _, created in record_causes(causings, target=target, moment=context.moment):
            report.count("causes_new" if created else "causes_known")


def _speaking(entity: ExtractedEntity, rows: Mapping[str, Memory]) -> list[Memory]:
    return [rows[key] for key in dict.fromkeys(entity.passages) if key in rows]


def _draft(entity: ExtractedEntity) -> EntityDraft:
    """Make the draft of an entity, without aliases that cannot be used: one of them must not cost the entity."""
    return EntityDraft(
        name=entity.name,
        type=entity.type,
        aliases=[alias for alias in entity.aliases if _usable(alias)][:MOST_ALIASES],
        properties=stored_properties(entity) or None,
        importance=entity.importance,
    )


def _usable(name: Any) -> bool:
    try:
        checked_name(name)
    except (InvalidInput, TooLarge):
        return False
    return True


def _said(one: ExtractedRelation, source: UUID, end: UUID, memory: Memory, ring: OwnerRing, *, enforce: bool) -> Said:
    label = checked_label(one.label)
    ends = _moment(one.valid_until, "valid_until")
    if ends is None and one.ended:
        ends = memory.occurred_at
    begins = _moment(one.valid_from, "valid_from")
    if begins is None:
        begins = memory.occurred_at if ends is None else min(memory.occurred_at, ends)
    if ends is not None and ends < begins:
        raise InvalidInput("The relation would end before it began.", code="date.order", field="valid_until")
    single = label in SINGLE_VALUED
    return Said(
        source_id=source,
        label=label,
        hashed=label_hash(ring, label),
        target_id=end,
        weight=checked_unit(one.weight, field="weight"),
        confidence=checked_unit(one.confidence, field="confidence"),
        begins=begins,
        ends=ends,
        supersede=single and enforce,
        single=single,
        opposite=opposite_hash(ring, label) if enforce else None,
        memory=memory,
        evidence=one.evidence.strip() or None,
    )


def _known_to_hold(said: Sequence[Said], target: Target) -> list[Said]:
    """Leave out ends without weight of what does not stand: they only say what is over, not that it ever was.

    "Nina and I broke up" ends whichever of several relations is open; one that a former text of the batch opens is.
    """
    supposed = [one for one in said if _is_supposed(one)]
    if not supposed:
        return list(said)
    rows = Relation.objects.filter(
        source_id__in={one.source_id for one in supposed},
        label_hash__in={one.hashed for one in supposed},
        target_id__in={one.target_id for one in supposed},
        scope=target.scope,
        retracted_at=None,
        valid_until=None,
    )
    standing = set(rows.values_list("source_id", "label_hash", "target_id"))
    kept: list[Said] = []
    for one in said:
        three = one.source_id, one.hashed, one.target_id
        if one.ends is None:
            standing.add(three)
        elif _is_supposed(one) and three not in standing:
            continue
        kept.append(one)
    return kept


def _is_supposed(one: Said) -> bool:
    return one.ends is not None and one.weight == 0


def _moment(value: datetime | None, field_name: str) -> datetime | None:
    return None if value is None else limits.checked_moment(value, field=field_name)


def entity_ids(names: Names, wanted: Sequence[str]) -> list[UUID]:
    """Give the entities of some names, each once; names that stand for none are left out."""
    return list(dict.fromkeys(one for one in map(names.of, wanted) if one is not None))
