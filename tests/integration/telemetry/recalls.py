"""Recalls and observations for the tests of recall quality."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from memory.ids import new_id
from memory.models import owner_scope
from memory.ports.recorder import RecallObserved
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.context import ContextBlock, build_context
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest
from memory.services.recall import Recalled, recall
from memory.services.remember import remember
from telemetry.models import RecallObservation
from telemetry.services.recalls import recording
from telemetry.services.recalls.recording import RecallRecorder

TEXTS = (
    "The billing service is deployed on Fridays from the release branch.",
    "Anna prefers tea over coffee in the morning.",
    "The database backup runs at two in the night.",
)


def fill(actor: Actor, texts: Sequence[str] = TEXTS) -> list[UUID]:
    """Store some memories and give their ids."""
    return [remember(actor=actor, draft=Draft(text=text)).memory_id for text in texts]


def ask(actor: Actor, query: str = "When is the billing service deployed?", **request: Any) -> Recalled:
    """Recall, as a caller who means it does."""
    return recall(actor=actor, request=RecallRequest(query=query, **request))


def context(actor: Actor, query: str = "When is the billing service deployed?") -> ContextBlock:
    """Build a context block."""
    return build_context(actor=actor, request=RecallRequest(query=query))


def observe(actor: Actor, *, at: datetime | None = None, **values: Any) -> UUID:
    """Tell the recorder of a recall as the pipeline does, and give its id."""
    told: dict[str, Any] = {
        "recall_id": new_id(),
        "owner_id": actor.owner_id,
        "agent_id": actor.agent_id,
        "sort": "recall",
        "profile": "default",
        "hits": len(values.get("relevances", (0.9, 0.5))),
        "wanted": 10,
        "considered": 3,
        "relevances": (0.9, 0.5),
        "threshold": 0.0,
        "gate": "recall",
        "fallback": False,
        "degraded": (),
        "seconds": 0.02,
        "stages": {"arm.dense": 0.01, "open": 0.002},
        "at": at or now(),
    }
    observed = RecallObserved(**{**told, **values})
    RecallRecorder().recalled(observed)
    return observed.recall_id


def observed(actor: Actor) -> list[RecallObservation]:
    """Write what was gathered and give an owner's observations, the oldest first."""
    recording.flush()
    with owner_scope(actor.owner_id):
        return list(RecallObservation.objects.order_by("created_at", "pk"))
