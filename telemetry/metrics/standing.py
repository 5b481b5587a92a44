"""What stands in the database and is read at each scrape: counts over all owners from tables outside row security.

A connection of its own, outside the pool, so that a scrape is answered while the pool is used up; a few statements
under a time-out, and none that looks at what belongs to an owner.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import psycopg
from django.conf import settings

from telemetry.metrics import definitions as metrics
from telemetry.metrics.definitions import Definition

CONNECT_SECONDS: Final = 2
STATEMENT_MILLISECONDS: Final = 2000
RUN_DUE_WORK: Final = "memory.tasks.run_due_work"

Value = tuple[tuple[str, ...], float]
Values = dict[Definition, list[Value]]

# The queue's own column says until when a task is taken; one that nobody has taken stands in the past by `retry`.
WHOLE: Final = """
    SELECT (SELECT count(*) FROM memory_owner),
           (SELECT count(*) FROM django_q_ormq),
           (SELECT extract(epoch FROM now() - min(lock)) - %(retry)s FROM django_q_ormq
             WHERE lock <= now() - make_interval(secs => %(retry)s)),
           (SELECT max(stopped) FROM django_q_task WHERE success AND func = %(due_work)s),
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
        cursor.execute(WHOLE, {"retry": settings.Q_CLUSTER["retry"], "due_work": RUN_DUE_WORK})
        whole = cursor.fetchone()
        assert whole is not None
        owners, tasks, lag, seen, size = whole
        found: Values = {
            metrics.OWNERS: [((), float(owners))],
            metrics.QUEUE_TASKS: [((), float(tasks))],
            metrics.QUEUE_LAG: [((), max(0.0, float(lag or 0)))],
            metrics.DATABASE_SIZE: [((), float(size))],
            metrics.WORKER_SEEN: [((), seen.timestamp())] if isinstance(seen, datetime) else [],
        }
        due = cursor.execute(DUE).fetchall()
        found[metrics.DUE_WORK] = [((job,), float(count)) for job, count, _ in due]
        found[metrics.DUE_SECONDS] = [((job,), float(seconds)) for job, _, seconds in due]
        for definition, statement, states in STATES:
            rows = dict(cursor.execute(statement, {}).fetchall())
            found[definition] = [((state,), float(rows.get(state, 0))) for state in states]
        return found


def _parameters() -> dict[str, Any]:
    from django.db import connections

    wrapper = connections["default"]
    given: Mapping[str, Any] = wrapper.get_connection_params()
    left_out = ("pool", "cursor_factory", "context", "prepare_threshold")
    return {
        **{name: value for name, value in given.items() if name not in left_out},
        "connect_timeout": CONNECT_SECONDS,
        "prepare_threshold": None,
        "application_name": "loci metrics",
    }


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
    return {**_pool(), **_disk(), metrics.PROVIDER_UP: _providers()}


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


def _providers() -> list[Value]:
    from memory.errors import LociError
    from memory.providers.composition import embedder, reranker

    found: list[Value] = []
    for kind, chosen, made in (
        ("embedder", settings.EMBEDDING_PROVIDER, embedder),
        ("reranker", settings.RERANKER_PROVIDER, reranker),
    ):
        if chosen == "none":
            continue
        try:
            well = made().state().status == "ok"
        except LociError:
            well = False
        found.append(((kind,), float(well)))
    return found
