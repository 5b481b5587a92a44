"""Experiments: two recall profiles compared on an owner's agents, one experiment at a time."""

from __future__ import annotations

import math
import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.db.models import F, Func, Q, Value

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotFound
from memory.ids import new_id
from memory.models import Owner, current_owner, owner_scope
from memory.ports.profile_choice import ChosenProfile
from memory.recall.profiles import shipped
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.profiles import run_experiment
from telemetry.models import RecallExperiment
from telemetry.services.asked import require_agents

CONTROL: Final = "control"
VARIANT: Final = "variant"
PURPOSE: Final = "experiment"
LONGEST_LABEL: Final = 100
MOST_AGENTS: Final = 1_000
MOST_KEPT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentDraft:
    """What is to be compared.

    Attributes:
        label: what it is called, at most 100 characters.
        control, variant: names of two profiles.
        share: the share of agents that use the variant, 0 to 1.
        agents: those that use it whatever the share.
    """

    label: str
    control: str
    variant: str
    share: float = 0.5
    agents: Collection[UUID] = ()


def start_experiment(*, actor: Actor, draft: ExperimentDraft) -> RecallExperiment:
    """Begin to compare two profiles; from now on they answer agents that name no profile.

    Raises:
        PermissionRefused: the actor may not change settings.
        InvalidInput: label, profiles, share or agents cannot be used.
        NotFound: no such profile or agent.
        Conflict: an experiment is running; `experiment.running`.
    """
    actor.require(Permission.SETTINGS)
    label = _checked(draft)
    agents = sorted(set(draft.agents))
    with owner_scope(actor.owner_id):
        # Beginnings take their turns.
        Owner.objects.select_for_update(no_key=True).get(pk=actor.owner_id)
        if RecallExperiment.objects.filter(ended_at=None).exists():
            raise Conflict("An experiment is running. End it first.", code="experiment.running")
        if RecallExperiment.objects.count() >= MOST_KEPT:
            raise Conflict(f"There are {MOST_KEPT} experiments already.", code="experiment.too_many")
        require_agents(agents)
        made: RecallExperiment = RecallExperiment(
            id=new_id(),
            label=label,
            control=draft.control,
            variant=draft.variant,
            share=float(draft.share),
            agents=agents,
            started_at=now(),
        )
        made.save(force_insert=True)
        run_experiment(actor=actor, experiment_id=made.pk)
        record(actor=actor.label, verb="create", object_kind="experiment", object_id=made.pk, at=made.started_at)
    return made


def end_experiment(*, actor: Actor, experiment_id: UUID) -> RecallExperiment:
    """End an experiment; its results stay. Ending it again changes nothing.

    Raises:
        PermissionRefused: the actor may not change settings.
        NotFound: no such experiment.
    """
    actor.require(Permission.SETTINGS)
    with owner_scope(actor.owner_id):
        found: RecallExperiment | None = RecallExperiment.objects.select_for_update().filter(pk=experiment_id).first()
        if found is None:
            raise NotFound("There is no such experiment.")
        if found.ended_at is None:
            found.ended_at = now()
            found.save(update_fields=["ended_at"])
            run_experiment(actor=actor, experiment_id=None)
            record(actor=actor.label, verb="disable", object_kind="experiment", object_id=found.pk, at=found.ended_at)
    return found


def list_experiments(
    *, actor: Actor, after: tuple[datetime, UUID] | None = None, size: int = 50
) -> Sequence[RecallExperiment]:
    """List experiments, the newest first.

    Args:
        actor: who asks.
        after: beginning and id of the last one of the page before.
        size: most rows.
    """
    actor.require(Permission.TELEMETRY_READ)
    with owner_scope(actor.owner_id):
        rows = RecallExperiment.objects.order_by("-started_at", "-pk")
        if after is not None:
            rows = rows.filter(Q(started_at__lt=after[0]) | Q(started_at=after[0], pk__lt=after[1]))
        return list(rows[:size])


def get_experiment(*, actor: Actor, experiment_id: UUID) -> RecallExperiment:
    """Give one experiment; raises NotFound where there is none."""
    actor.require(Permission.TELEMETRY_READ)
    with owner_scope(actor.owner_id):
        found: RecallExperiment | None = RecallExperiment.objects.filter(pk=experiment_id).first()
    if found is None:
        raise NotFound("There is no such experiment.")
    return found


def _checked(draft: ExperimentDraft) -> str:
    label = draft.label.strip() if isinstance(draft.label, str) else ""
    if not label or len(label) > LONGEST_LABEL or not label.isprintable():
        raise InvalidInput(
            f"The label has 1 to {LONGEST_LABEL} printable characters.", code="experiment.label", field="label"
        )
    if shipped(draft.control) is shipped(draft.variant):
        raise InvalidInput("Compare two different profiles.", code="experiment.same_profile", field="variant")
    share: Any = draft.share
    number = isinstance(share, int | float) and not isinstance(share, bool) and math.isfinite(share)
    if not number or not 0 <= share <= 1:
        raise InvalidInput("share is a number from 0 to 1.", code="experiment.share", field="share")
    if len(draft.agents) > MOST_AGENTS:
        raise InvalidInput(f"Name at most {MOST_AGENTS} agents.", code="experiment.agents", field="agents")
    return label


class RunningExperiments:
    """Experiments of this process by id; what one compares never changes but for agents that go."""

    def __init__(self) -> None:
        """Begin empty."""
        self._kept: dict[UUID, tuple[UUID, RecallExperiment]] = {}
        self._lock = threading.Lock()

    def of(self, owner_id: UUID, experiment_id: UUID) -> RecallExperiment | None:
        """Give an experiment, within the owner's scope; one statement where this process has not seen it."""
        kept = self._kept.get(owner_id)
        if kept is not None and kept[0] == experiment_id:
            return kept[1]
        found: RecallExperiment | None = RecallExperiment.objects.filter(pk=experiment_id).first()
        if found is not None:
            with self._lock:
                self._kept[owner_id] = experiment_id, found
        return found

    def forget(self, owner_id: UUID | None = None) -> None:
        """Forget one owner's, or all."""
        with self._lock:
            if owner_id is None:
                self._kept.clear()
            else:
                self._kept.pop(owner_id, None)


running = RunningExperiments()


def choose(owner_id: UUID, agent_id: UUID, experiment_id: UUID) -> ChosenProfile | None:
    """Choose the profile of an agent, within the owner's scope: what is installed in `memory.ports.profile_choice`."""
    found = running.of(owner_id, experiment_id)
    if found is None:
        return None
    arm = arm_of(found, agent_id)
    return ChosenProfile(found.variant if arm == VARIANT else found.control, found.pk, arm)


def arm_of(experiment: RecallExperiment, agent_id: UUID) -> str:
    """Tell in which arm an agent is: the variant where it is named, else by a keyed hash, the same every time.

    The hash is made of the agent and the experiment, so that another experiment divides the agents anew.
    """
    if agent_id in experiment.agents:
        return VARIANT
    code = keyring().of(experiment.owner_id).mac(experiment.pk.bytes + agent_id.bytes, purpose=PURPOSE)
    return VARIANT if int.from_bytes(code[:8], "big") < experiment.share * 2**64 else CONTROL


def named_in(agent_id: UUID) -> int:
    """Count the experiments that name an agent, within the owner's scope."""
    return int(RecallExperiment.objects.filter(agents__contains=[agent_id]).count())


def leave_out(agent_id: UUID) -> int:
    """Take an agent that goes out of the experiments that name it, within the owner's scope; gives how many did."""
    without = Func(F("agents"), Value(agent_id), function="array_remove")
    changed = int(RecallExperiment.objects.filter(agents__contains=[agent_id]).update(agents=without))
    running.forget(current_owner())
    return changed
