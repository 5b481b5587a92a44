"""Draws from one text, for the tests of the rules."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from memory.consolidation.extraction import rules_extractor
from memory.ports import Claim, Extract, Passage

AT: Final = datetime(2025, 5, 14, 10, 30, tzinfo=UTC)
"""A Wednesday."""


def draw(text: str, *, speaker: str | None = "Ana", role: str = "user", before: str = "", at: datetime = AT) -> Extract:
    passage = Passage(key="p", text=text, occurred_at=at, role=role, speaker=speaker, before=before)
    return rules_extractor().extract([passage])


def texts(extract: Extract) -> list[str]:
    return [fact.text for fact in extract.facts]


def claims(extract: Extract) -> list[tuple[str, str, str, int, bool]]:
    return [claim_of(fact.claim) for fact in extract.facts if fact.claim is not None]


def claim_of(claim: Claim) -> tuple[str, str, str, int, bool]:
    return claim.subject, claim.attribute, claim.value, claim.polarity, claim.single


def relations(extract: Extract) -> set[tuple[str, str, str, bool]]:
    """All but the weak ones."""
    return {
        (relation.source, relation.label, relation.target, relation.ended)
        for relation in extract.relations
        if relation.label != "mentioned_with"
    }


def names(extract: Extract) -> dict[str, str]:
    return {entity.name: entity.type for entity in extract.entities}
