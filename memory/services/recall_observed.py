"""Telling whoever keeps count how a recall went, once it has been answered."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memory.ports.profile_choice import ChosenProfile
from memory.ports.recorder import RecallObserved, recalled
from memory.recall.profiles import RecallProfile
from memory.recall.stopwatch import Stopwatch
from memory.services.actors import Actor
from memory.services.questions import RecallRequest
from memory.services.replica import Place

if TYPE_CHECKING:
    from memory.services.recall import Recalled


def tell(
    actor: Actor,
    request: RecallRequest,
    answer: Recalled,
    *,
    profile: RecallProfile,
    chosen: ChosenProfile | None,
    watch: Stopwatch,
    at: datetime,
    place: Place,
) -> None:
    """Tell of a recall that was meant: one that is only a preview counts nothing and is passed over."""
    if not (request.record or request.reinforce):
        return
    recalled(
        RecallObserved(
            recall_id=answer.recall_id,
            owner_id=actor.owner_id,
            agent_id=actor.agent_id,
            sort=request.sort,
            profile=answer.profile,
            hits=len(answer.hits),
            wanted=profile.limit,
            considered=answer.considered,
            relevances=[hit.relevance for hit in answer.hits],
            threshold=profile.threshold,
            gate=str(answer.gate),
            fallback=answer.fallback,
            degraded=tuple(answer.degraded),
            seconds=watch.seconds,
            stages=watch.stages,
            at=at,
            experiment_id=chosen.experiment_id if chosen else None,
            experiment_arm=chosen.arm if chosen else "",
            place=place,
        )
    )
