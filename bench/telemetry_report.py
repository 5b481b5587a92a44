"""Time of the coverage report over many turns: with the vectors of all requests there, and with none of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any, Final

import numpy as np
from django.db import connection
from django.test import override_settings

from bench.database import new_owner
from memory.models import EmbeddingSpace, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.embedding import active_space
from telemetry.models import RequestVector, TurnEvent
from telemetry.services.coverage.cache import reports
from telemetry.services.coverage.parts import CoverageReport
from telemetry.services.coverage.reporting import ReportRequest, coverage_report
from telemetry.services.coverage.request_vectors import store_vectors
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events

AT_ONCE: Final = 1_000
RUNS: Final = 3
DAYS: Final = 13
TOPICS: Final = 300
# Of ten requests, so many belong to a topic; the others are alike to nothing.
IN_TOPICS: Final = 8
SPREAD: Final = 0.6
SPOKES: Final = ("calendar", "mail", "knowledge", "browser", "code", "travel", "money", "fallback", "delegate_task")


def measure_report(*, events: int, tell: Callable[[str], None]) -> dict[str, Any]:
    """Time the report over turns of which no two ask the same, which is the most work.

    Four fifths of the requests lie around 300 topics of very different sizes, a fifth around none. Their vectors are
    drawn and not made of their texts, since only the work with vectors is measured.

    Args:
        events: how many turns.
        tell: takes a line about what is being done.

    Returns:
        `report_s` with all vectors cached and `pending_report_s` with none, medians of three reports each of which this
        process has not made before, in seconds; `report_clusters`, and `report_events`.
    """
    # The setting bounds what an owner keeps; the bench keeps as much as it is told to.
    with override_settings(TELEMETRY_MOST_EVENTS=max(events, 1)):
        tell(f"recording {events:,} turns")
        owner = new_owner()
        _record(owner, events)
        tell("drawing their vectors")
        _draw(owner, active_space())
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
        tell("reporting")
        with_vectors, report = _timed(owner)
        with owner_scope(owner.owner_id):
            RequestVector.objects.all().delete()
        without, pending = _timed(owner)
    assert report.total_turns == pending.total_turns == events
    assert not report.pending
    assert pending.pending
    return {
        "report_events": events,
        "report_s": round(with_vectors, 3),
        "report_clusters": report.cluster_count,
        "pending_report_s": round(without, 3),
    }


def _record(owner: Actor, events: int) -> None:
    random, start = np.random.default_rng(events), now()
    step = timedelta(days=DAYS) / events
    for first in range(0, events, AT_ONCE):
        last = min(first + AT_ONCE, events)
        spokes = random.choice(len(SPOKES), last - first)
        failed = random.random(last - first) < 0.06
        drafts = [
            TurnDraft(
                request=f"Please look after matter {number} of this week and tell me how it went",
                timestamp=start - step * (events - number),
                matched_spoke=SPOKES[spokes[number - first]],
                outcome="failed" if failed[number - first] else "completed",
            )
            for number in range(first, last)
        ]
        record_events(actor=owner, events=drafts)


def _draw(owner: Actor, space: EmbeddingSpace) -> None:
    with owner_scope(owner.owner_id):
        requests = list(TurnEvent.objects.values_list("request_hash", flat=True).distinct())
    for part, vectors in _vectors(len(requests), space.dimension):
        with owner_scope(owner.owner_id):
            store_vectors(space, requests[part], vectors)


def _vectors(count: int, width: int) -> Iterator[tuple[slice, np.ndarray]]:
    random = np.random.default_rng(count)
    topics = random.normal(size=(TOPICS, width)) / np.sqrt(width)
    # Topics as people have them: the second has half as many requests as the first, the third a third.
    sizes = 1 / np.arange(1, TOPICS + 1)
    for first in range(0, count, AT_ONCE):
        size = min(AT_ONCE, count - first)
        vectors = topics[random.choice(TOPICS, size, p=sizes / sizes.sum())]
        vectors = vectors + SPREAD * random.normal(size=(size, width)) / np.sqrt(width)
        alone = random.integers(0, 10, size) >= IN_TOPICS
        vectors[alone] = random.normal(size=(int(alone.sum()), width))
        yield slice(first, first + size), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _timed(owner: Actor) -> tuple[float, CoverageReport]:
    seconds = []
    for _ in range(RUNS):
        reports.forget()
        begun = time.perf_counter()
        report = coverage_report(actor=owner, request=ReportRequest())
        seconds.append(time.perf_counter() - begun)
    return statistics.median(seconds), report
