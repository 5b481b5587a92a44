"""How recalls went: gathered in the process, and written in batches after the answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.conf import settings

from memory.models import Agent
from memory.ports.recorder import GraphRead, JobRan, ModelCalled, RecallObserved
from memory.services.gathering import FLUSH_COUNT, Gatherer, Gathering, write_at_end
from telemetry.models import RecallExperiment, RecallObservation
from telemetry.services.recalls.retention import MOST_OF_ONE, remove_beyond_newest

SHOWN_RELEVANCES: Final = 20
LONGEST_CODE: Final = 64
MOST_CODES: Final = 16


class RecallLog(Gatherer[RecallObserved]):
    """Gathers what is told of recalls; at most one batch is lost when the process is killed."""

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin empty; as `Gatherer` does."""
        gathering = Gathering(
            "observations of recalls", lambda earlier, later: later, write_observations, most_of_one=MOST_OF_ONE
        )
        super().__init__(gathering, writes_itself=writes_itself)

    def note(self, observed: RecallObserved) -> None:
        """Keep what is told of a recall; costs no query."""
        self.gather(observed.owner_id, {observed.recall_id: observed})


class RecallRecorder:
    """Keeps what is told of recalls, unless telemetry is switched off."""

    def recalled(self, observed: RecallObserved) -> None:
        """Note an answered recall."""
        if settings.TELEMETRY_ENABLED:
            _log.note(observed)

    def model_called(self, call: ModelCalled) -> None:
        """Pass over a call of a model."""

    def job_ran(self, ran: JobRan) -> None:
        """Pass over a job."""

    def graph_read(self, read: GraphRead) -> None:
        """Pass over a read of the graph."""


def write_observations(observations: Mapping[UUID, RecallObserved]) -> None:
    """Write what was told of recalls of the current owner, once each, and remove what is beyond the newest 50,000."""
    told = [observations[one] for one in sorted(observations)]
    agents = _existing(Agent, {one.agent_id for one in told})
    experiments = _existing(RecallExperiment, {one.experiment_id for one in told})
    # An agent that was erased meanwhile leaves no trace here either.
    rows = [_row(one, experiments) for one in told if one.agent_id is None or one.agent_id in agents]
    # In pieces: after an absence of the database many may wait, and one statement with all of them would not end.
    RecallObservation.objects.bulk_create(rows, ignore_conflicts=True, batch_size=FLUSH_COUNT)
    remove_beyond_newest()


def flush() -> None:
    """Write all that is gathered now; for reports, shutdown and tests."""
    _log.flush()


def forget(owner_id: UUID) -> None:
    """Drop what waits to be written of an owner."""
    _log.forget(owner_id)


def _existing(model: type[Agent] | type[RecallExperiment], ids: set[UUID | None]) -> set[UUID]:
    wanted = [one for one in ids if one is not None]
    return set(model.objects.filter(pk__in=wanted).values_list("pk", flat=True)) if wanted else set()


def _row(one: RecallObserved, experiments: set[UUID]) -> RecallObservation:
    in_experiment = one.experiment_id in experiments
    return RecallObservation(
        id=one.recall_id,
        agent_id=one.agent_id,
        sort=one.sort,
        profile=one.profile,
        experiment_id=one.experiment_id if in_experiment else None,
        experiment_arm=one.experiment_arm if in_experiment else "",
        hits=one.hits,
        wanted=one.wanted,
        considered=one.considered,
        relevances=[round(value, 4) for value in one.relevances[:SHOWN_RELEVANCES]],
        threshold=one.threshold,
        gate=one.gate,
        fallback=one.fallback,
        degraded=[code[:LONGEST_CODE] for code in one.degraded[:MOST_CODES]],
        duration_us=round(one.seconds * 1_000_000),
        stages={name: round(seconds * 1_000_000) for name, seconds in one.stages.items()},
        created_at=one.at,
    )


_log = RecallLog()
write_at_end(flush)
