"""The tuner: an owner's least relevance follows the quality of context blocks, one small step an hour at most.

It looks at context blocks only, since it is their threshold that it moves, and of these at the ones that were made with
the threshold as it is now: others say nothing about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.db.models import Q

from memory.errors import Conflict, NotFound, OwnerPurging
from memory.ids import new_id
from memory.models import Owner, OwnerSettings, owner_scope
from memory.ports.live import announce_change
from memory.services.actors import Actor, Permission, system
from memory.services.clock import now
from memory.services.settings import change_settings, current_settings
from telemetry.models import TunerChange, TunerState
from telemetry.quality import tuner
from telemetry.services.recalls import recording
from telemetry.services.recalls.reading import feedback, observations

SWITCH: Final = "recall_tuner"
SETTING: Final = "recall_threshold"
SORT: Final = "context"
LIVE: Final = "tuner"
# Observations are written a second after the answer; those of the last minute are left to the next look.
SETTLED: Final = timedelta(minutes=1)
FIRST_LOOK: Final = timedelta(days=1)
MOST_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True)
class TunerStatus:
    """Where the tuner stands: its switch, the threshold, its smoothed quality and the recalls since it last began."""

    enabled: bool
    threshold: float
    ndcg: float | None
    recalls: int
    looked_until: datetime | None


def tuner_status(*, actor: Actor) -> TunerStatus:
    """Tell where the tuner stands; raises PermissionRefused where the actor may not read telemetry."""
    actor.require(Permission.TELEMETRY_READ)
    with owner_scope(actor.owner_id):
        values = current_settings()["values"]
        state = TunerState.objects.first() or TunerState()
        return TunerStatus(values[SWITCH], float(values[SETTING]), state.ndcg, state.recalls, state.looked_until)


def list_tuner_changes(
    *, actor: Actor, after: tuple[datetime, UUID] | None = None, size: int = 50
) -> Sequence[TunerChange]:
    """List what the tuner has changed, the newest first.

    Args:
        actor: who asks.
        after: time and id of the last one of the page before.
        size: most rows.
    """
    actor.require(Permission.TELEMETRY_READ)
    with owner_scope(actor.owner_id):
        rows = TunerChange.objects.order_by("-created_at", "-pk")
        if after is not None:
            rows = rows.filter(Q(created_at__lt=after[0]) | Q(created_at=after[0], pk__lt=after[1]))
        return list(rows[:size])


def undo_tuner_change(*, actor: Actor, change_id: UUID) -> TunerChange:
    """Give the threshold back the value that it had before a change; the tuner then begins anew from there.

    Raises:
        PermissionRefused: the actor may not change settings.
        NotFound: no such change.
        Conflict: it was undone before (`tuner.undone`), or the threshold was changed since, which an undoing would
            lose (`tuner.changed_since`).
    """
    actor.require(Permission.SETTINGS)
    with owner_scope(actor.owner_id):
        # In the order in which the hourly look takes them.
        state = _locked_state(actor.owner_id)
        change: TunerChange | None = TunerChange.objects.select_for_update().filter(pk=change_id).first()
        if change is None:
            raise NotFound("There is no such change of the tuner.")
        if change.undone_at is not None:
            raise Conflict("That change was undone already.", code="tuner.undone")
        if _locked_threshold(actor.owner_id) != change.after:
            raise Conflict(
                "The threshold was changed since. Set it yourself if it is to be another one.",
                code="tuner.changed_since",
            )
        change_settings(actor=actor, changes={SETTING: change.before})
        change.undone_at = now()
        change.save(update_fields=["undone_at"])
        _begin_anew(state, change.before, change.undone_at)
        announce_change(actor.owner_id, LIVE, str(change.pk))
    return change


def tune(*, owner_id: UUID) -> TunerChange | None:
    """Look at an owner's context blocks since the last look, where the tuner is switched on; give what was changed."""
    recording.flush()
    with owner_scope(owner_id):
        if not current_settings()["values"][SWITCH]:
            return None
        state, at = _locked_state(owner_id), now()
        threshold, until = _locked_threshold(owner_id), at - SETTLED
        if state.threshold != threshold:
            # A person has chosen another one, or this is the first look: what was seen before says nothing.
            _begin_anew(state, threshold, until)
            return None
        since = state.looked_until or until - FIRST_LOOK
        found = observations(since, until, feedback(since), sort=SORT, threshold=threshold)
        seen: list[float] = found.ndcg[found.looked].tolist()
        state.ndcg = tuner.smoothed(state.ndcg, seen)
        state.recalls, state.looked_until = state.recalls + len(seen), max(since, until)
        state.save(update_fields=["ndcg", "recalls", "looked_until"])
        # A look that saw nothing new has no reason to go on.
        after = tuner.tuned(threshold, ndcg=state.ndcg, recalls=state.recalls) if seen else threshold
        return _change(owner_id, state, threshold, after, at) if after != threshold else None


def _change(owner_id: UUID, state: TunerState, before: float, after: float, at: datetime) -> TunerChange:
    """Move the threshold, and record why; the next step needs recalls that were made with the new one."""
    change_settings(actor=system(owner_id), changes={SETTING: after})
    assert state.ndcg is not None
    change = TunerChange(
        id=new_id(),
        setting=SETTING,
        before=before,
        after=after,
        ndcg=state.ndcg,
        recalls=state.recalls,
        reason="quality.low" if after < before else "quality.high",
        created_at=at,
    )
    change.save(force_insert=True)
    old = TunerChange.objects.order_by("-created_at", "-pk").values_list("pk", flat=True)[MOST_KEPT:]
    TunerChange.objects.filter(pk__in=list(old)).delete()
    state.threshold, state.recalls = after, 0
    state.save(update_fields=["threshold", "recalls"])
    announce_change(owner_id, LIVE, str(change.pk))
    return change


def tune_all() -> int:
    """Look at every owner; gives how many thresholds were changed."""
    changed = 0
    for owner_id in Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True).iterator():
        # Whoever is being purged loses all of it anyway.
        with suppress(OwnerPurging):
            changed += tune(owner_id=owner_id) is not None
    return changed


def _locked_state(owner_id: UUID) -> TunerState:
    TunerState.objects.bulk_create([TunerState(id=new_id())], ignore_conflicts=True)
    state: TunerState = TunerState.objects.select_for_update().get(owner_id=owner_id)
    return state


def _locked_threshold(owner_id: UUID) -> float:
    """Give the threshold, and let nobody change it until the transaction ends."""
    OwnerSettings.objects.select_for_update().filter(owner_id=owner_id).first()
    return float(current_settings()["values"][SETTING])


def _begin_anew(state: TunerState, threshold: float, at: datetime) -> None:
    state.ndcg, state.recalls, state.threshold, state.looked_until = None, 0, threshold, at
    state.save(update_fields=["ndcg", "recalls", "threshold", "looked_until"])
