"""What stands in the database and is read at each scrape: counts over all owners from tables outside row security.

A connection of its own, outside the pool, so that a scrape is answered while the pool is used up; a few statements
under a time-out, and none that looks at what belongs to an owner.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from typing import Any, Final

import psycopg
from django.conf import settings

from memory.providers.guarded_embedder import GuardedEmbedder
from memory.services.clock import now
from memory.services.direct_connections import driver_parameters
from memory.services.health.work import Work, waiting_work, with_queue
from memory.services.projection.standing import Standing, standing
from telemetry.metrics import definitions as metrics
from telemetry.metrics.definitions import Definition

CONNECT_SECONDS: Final = 2
STATEMENT_MILLISECONDS: Final = 2000

Value = tuple[tuple[str, ...], float]
Values = dict[Definition, list[Value]]

WHOLE: Final = """
    SELECT (SELECT count(*) FROM memory_owner),
           (SELECT count(*) FROM django_q_ormq),
           pg_database_size(current_database())
"""
DUE: Final = """
    SELECT job, count(*), extract(epoch FROM now() - min(due_at)) FROM memory_duework
    WHERE due_at <= now() GROUP BY job ORDER BY job
"""
PURGES: Final = "SELECT state, count(*) FROM memory_purge WHERE state <> 'done' GROUP BY state ORDER BY state"
CONNECTIONS: Final = """
    SELECT CASE WHEN state LIKE 'idle in transaction%%' THEN 'in_transaction'
                WHEN state = 'idle' THEN 'idle' ELSE 'active' END AS doing, count(*)
    FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND state IS NOT NULL
    GROUP BY doing ORDER BY doing
"""
# States that nothing is in stand at 0, so that they can be compared with what was before.
STATES: Final = (
    (metrics.PURGES, PURGES, ("waiting", "running", "failed")),
    (metrics.DATABASE_CONNECTIONS, CONNECTIONS, ("active", "idle", "in_transaction")),
)


def from_database() -> Values:
    """Read what stands in the database; only `loci_up` 0 when it does not answer in time."""
    try:
        return {metrics.UP: [((), 1.0)], **_read()}
    except psycopg.Error:
        return {metrics.UP: [((), 0.0)]}


def _read() -> Values:
    with psycopg.connect(**_parameters()) as connection, connection.cursor() as cursor:
        # Not as an option of the connection: pools between refuse those.
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [str(STATEMENT_MILLISECONDS)])
        whole = cursor.execute(WHOLE).fetchone()
        assert whole is not None
        owners, tasks, size = whole
        found: Values = {metrics.OWNERS: [((), float(owners))], metrics.DATABASE_SIZE: [((), float(size))]}
        work = waiting_work(cursor)
        due = cursor.execute(DUE).fetchall()
        found[metrics.DUE_WORK] = [((job,), float(count)) for job, count, _ in due]
        found[metrics.DUE_SECONDS] = [((job,), float(seconds)) for job, _, seconds in due]
        for definition, statement, states in STATES:
            rows = dict(cursor.execute(statement, {}).fetchall())
            found[definition] = [((state,), float(rows.get(state, 0))) for state in states]
        if settings.NEO4J_URI:
            found.update(_projected(standing(cursor)))
    # Not in the transaction, since the queue may be elsewhere.
    return {**found, **_worked_on(with_queue(work), tasks)}


def _projected(told: Standing) -> Values:
    states = {"following": told.following, "building": told.building, "failing": told.failing}
    return {
        metrics.PROJECTION_LAG: [((), told.lag_seconds)],
        metrics.PROJECTION_WAITING: [((), float(told.waiting))],
        metrics.PROJECTION_OWNERS: [((state,), float(count)) for state, count in states.items()],
    }


def _worked_on(work: Work, in_table: int) -> Values:
    """Give what the checks `worker` and `queue` of health go by, so that an alert and a check tell the same."""
    space = work.beside
    waited = (now() - work.oldest_task).total_seconds() if work.oldest_task is not None else 0.0
    tasks = in_table if settings.QUEUE_BROKER == "orm" else work.tasks
    return {
        metrics.QUEUE_TASKS: [((), float(tasks))] if work.queue_answers else [],
        metrics.QUEUE_LAG: [((), max(0.0, waited))] if work.queue_answers else [],
        metrics.SPACE_FILL: [((space.state,), space.share)] if space is not None and space.share is not None else [],
        metrics.SPACE_PAUSED: [((space.state,), float(bool(space.pause)))] if space is not None else [],
        metrics.WORKER_SEEN: [((), work.last_run.timestamp())] if work.last_run is not None else [],
    }


def _parameters() -> dict[str, Any]:
    return {**driver_parameters(), "connect_timeout": CONNECT_SECONDS, "application_name": "loci metrics"}


def from_health() -> Values:
    """Give what the checks of health have found; some of them ask the database."""
    from memory.services.findings import SEVERITY
    from memory.services.health import recent_findings

    found: dict[str, float] = {}
    for finding in recent_findings():
        name = finding.name.replace(" ", "_")
        found[name] = max(found.get(name, 0.0), float(SEVERITY.index(finding.status)))
    return {metrics.HEALTH_CHECK: [((name,), value) for name, value in sorted(found.items())]}


def from_process() -> Values:
    """Read what this process knows of its connections, its providers and its disk."""
    return {**_pool(), **_disk(), **_redis(), metrics.PROVIDER_UP: _providers()}


def _pool() -> Values:
    from django.db import connections

    pool = getattr(connections["default"], "pool", None)
    if pool is None:
        return {}
    known = pool.get_stats()
    free = float(known.get("pool_available", 0))
    return {
        metrics.POOL_CONNECTIONS: [(("used",), float(known.get("pool_size", 0)) - free), (("free",), free)],
        metrics.POOL_WAITING: [((), float(known.get("requests_waiting", 0)))],
    }


def _disk() -> Values:
    if not settings.EMBEDDED_DATABASE:
        return {}
    try:
        return {metrics.DISK_FREE: [((), float(shutil.disk_usage(settings.DATA_DIRECTORY).free))]}
    except OSError:
        return {}


def _redis() -> Values:
    if not settings.REDIS:
        return {}
    from memory.redis.connection import connection

    return {metrics.REDIS_UP: [((), float(connection().answers()))]}


def _well(model: GuardedEmbedder | None) -> bool:
    return model is not None and model.state().status == "ok"


def _providers() -> list[Value]:
    from memory.errors import LociError
    from memory.providers.composition import embedder, language_model_failure, reranker, second_embedder

    known: tuple[tuple[str, bool, Callable[[], bool]], ...] = (
        ("embedder", settings.EMBEDDING_PROVIDER != "none", lambda: embedder().state().status == "ok"),
        ("second_embedder", settings.EMBEDDING_SECOND_PROVIDER != "none", lambda: _well(second_embedder())),
        ("reranker", settings.RERANKER_PROVIDER != "none", lambda: reranker().state().status == "ok"),
        ("language_model", bool(settings.LLM_BASE_URL), lambda: language_model_failure() is None),
    )
    found: list[Value] = []
    for kind, configured, works in known:
        if not configured:
            continue
        try:
            well = works()
        except LociError:
            well = False
        found.append(((kind,), float(well)))
    return found
