"""Short ways to say what the tests of reviews say often."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from memory.models import ReviewItem, ReviewKind, owner_scope
from memory.services.actors import Actor, Target
from memory.services.reviews import open_review


def fact(text: str = "Alice is allergic to peanuts.", **fields: Any) -> dict[str, Any]:
    """Give the payload of a doubtful fact."""
    return {"text": text, "kind": "fact", "category": "general", "importance": 0.8, "confidence": 0.4, **fields}


def doubt(
    actor: Actor,
    kind: ReviewKind = ReviewKind.FACT,
    payload: dict[str, Any] | None = None,
    *,
    target: Target | None = None,
    evidence: list[tuple[UUID, str]] | None = None,
    confidence: float = 0.4,
) -> ReviewItem | None:
    """Open an item, owner-wide when no target is named."""
    with owner_scope(actor.owner_id):
        return open_review(
            actor=actor,
            kind=kind,
            reason="confidence.low",
            confidence=confidence,
            payload=fact() if payload is None else payload,
            target=target or Target("owner", actor.owner_id),
            evidence=evidence or [],
            run_id=None,
        )


def opened(actor: Actor, *arguments: Any, **options: Any) -> ReviewItem:
    """Open an item that was not known."""
    item = doubt(actor, *arguments, **options)
    assert item is not None
    return item
