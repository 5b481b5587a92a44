"""What is not sure enough to be stored goes before a person, with all that is needed to store it then."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.consolidation.extraction.guesses import stored_properties
from memory.consolidation.gate import Gated
from memory.errors import InvalidInput, TooLarge
from memory.models import Memory, ReviewKind
from memory.ports import Claim, ExtractedEntity, ExtractedFact
from memory.services.actors import Target
from memory.services.consolidation.stages import StageContext, StageReport
from memory.services.reviews import open_review

DOUBTFUL: Final = "confidence.low"

Doubt = tuple[ReviewKind, float, dict[str, Any], list[tuple[UUID, str]]]


def ask_about(
    context: StageContext, gated: Gated, rows: Mapping[str, Memory], target: Target, report: StageReport
) -> None:
    """Open a review item for each doubtful entity, relation, fact, event and cause; within the owner's scope.

    Args:
        context: of the run.
        gated: the two sides of the gate.
        rows: the rows that it was drawn from, by the keys of their passages; what comes from others is passed over.
        target: who may read the items.
        report: counts the items by kind; doubts that are known already are `known`.
    """
    for kind, confidence, payload, evidence in _doubts(gated, rows):
        if not evidence:
            continue
        try:
            item = open_review(
                actor=context.actor,
                kind=kind,
                reason=DOUBTFUL,
                confidence=max(0.0, confidence),
                payload=payload,
                target=target,
                evidence=evidence,
                run_id=context.run_id,
            )
        except (InvalidInput, TooLarge):
            report.count("unusable")
            continue
        report.count("known" if item is None else str(kind))


def _doubts(gated: Gated, rows: Mapping[str, Memory]) -> Iterator[Doubt]:
    drawn = gated.doubtful
    types = {entity.name: entity.type for entity in (*drawn.entities, *gated.sure.entities)}
    for entity in drawn.entities:
        said = [(rows[key].pk, "") for key in entity.passages if key in rows]
        yield ReviewKind.ENTITY, entity.confidence, _entity(entity), said
    for relation in drawn.relations:
        if relation.ended and relation.weight == 0:
            # It only ends what stands, and a person has nothing to say to what does not.
            continue
        payload = {
            "source": {"name": relation.source, "type": relation.source_type},
            "label": relation.label,
            "target": {"name": relation.target, "type": relation.target_type},
            "weight": relation.weight,
            "valid_from": _moment(relation.valid_from),
            "valid_until": _moment(relation.valid_until),
            "ended": relation.ended,
            "evidence": relation.evidence,
        }
        yield ReviewKind.RELATION, relation.confidence, payload, _from(rows, relation.passage, relation.evidence)
    for fact in drawn.facts:
        said = _from(rows, fact.passage, fact.evidence)
        yield ReviewKind.FACT, fact.confidence, _fact(fact, rows.get(fact.passage)), said
    for event in drawn.events:
        took_part = [{"name": name, "type": types.get(name, "concept")} for name in event.participants]
        happened = {"text": event.text, "occurred_at": _moment(event.occurred_at), "participants": took_part}
        yield ReviewKind.EVENT, event.confidence, happened, _from(rows, event.passage, "")
    for cause in drawn.causes:
        led = {
            "cause": cause.cause,
            "effect": cause.effect,
            "cause_entity": cause.cause_entity,
            "effect_entity": cause.effect_entity,
        }
        yield ReviewKind.CAUSE, cause.confidence, led, _from(rows, cause.passage, "")


def _entity(entity: ExtractedEntity) -> dict[str, Any]:
    return {
        "name": entity.name,
        "type": entity.type,
        "aliases": list(entity.aliases),
        "properties": stored_properties(entity),
        "importance": entity.importance,
    }


def _fact(fact: ExtractedFact, row: Memory | None) -> dict[str, Any]:
    return {
        "text": fact.text,
        "kind": fact.kind,
        "category": fact.category,
        "importance": fact.importance,
        "confidence": fact.confidence,
        "entities": list(fact.entities),
        "topics": list(fact.topics),
        "occurred_at": _moment(row.occurred_at if row is not None else fact.occurred_at),
        "valid_from": _moment(fact.valid_from),
        "valid_until": _moment(fact.valid_until),
        "claim": None if fact.claim is None else claim_payload(fact.claim),
        "turns": [str(row.pk)] if row is not None else [],
    }


def claim_payload(claim: Claim) -> dict[str, Any]:
    """Write a claim as plain JSON."""
    return {
        "subject": claim.subject,
        "attribute": claim.attribute,
        "value": claim.value,
        "polarity": claim.polarity,
        "single": claim.single,
    }


def _from(rows: Mapping[str, Memory], passage: str, words: str) -> list[tuple[UUID, str]]:
    return [(rows[passage].pk, words)] if passage in rows else []


def _moment(value: datetime | None) -> str | None:
    return None if value is None else value.isoformat()
