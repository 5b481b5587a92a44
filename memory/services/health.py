"""Whether this installation works: cheap checks that the health endpoint and `doctor` share.

Nothing here loads a model, asks a provider or opens a text, and nothing that is said is secret or personal.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from memory.crypto.keyring import keyring
from memory.errors import LociError
from memory.models import DueWork, EmbeddingSpace, SpaceState
from memory.providers.composition import embedder, language_model, reranker, vault_used_before
from memory.services.clock import now
from memory.services.findings import Finding, worst
from memory.services.jobs import CONSOLIDATE_DUE, CONSOLIDATION, RUN_DUE_WORK
from memory.services.schema import schema_state

OLDEST_SERVER: Final = 150000
OLDEST_VECTOR: Final = (0, 8)
PLAN_CACHE_MODE: Final = "force_custom_plan"
# The schedule comes every minute; one missed round is no sign of trouble yet.
SILENCE: Final = timedelta(minutes=3)
LATE: Final = timedelta(minutes=15)
# Runs make way for users' work and wait for one another.
RUNS_LATE: Final = timedelta(minutes=30)
LITTLE_SPACE: Final = 1024**3
NO_SPACE: Final = 100 * 1024**2

ROLE_SQL: Final = """
    SELECT current_setting('server_version_num')::int,
           (SELECT extversion FROM pg_extension WHERE extname = 'vector'),
           r.rolsuper, r.rolbypassrls, current_setting('plan_cache_mode'),
           EXISTS (SELECT FROM pg_class c WHERE c.oid = to_regclass('memory_memory') AND c.relowner = r.oid)
    FROM pg_roles r WHERE r.rolname = current_user
"""
WORK_SQL: Final = """
    SELECT (SELECT count(*) FROM memory_duework WHERE job = %(vectors)s),
           (SELECT count(*) FROM memory_duework WHERE job = %(tokens)s),
           (SELECT min(due_at) FROM memory_duework WHERE job <> ALL(%(consolidation)s)),
           (SELECT min(due_at) FROM memory_duework WHERE job = ANY(%(consolidation)s)),
           (SELECT count(*) FROM memory_duework WHERE job = %(retry)s),
           (SELECT max(stopped) FROM django_q_task WHERE success AND func = ANY(%(tasks)s)),
           (SELECT ARRAY[provider, model, dimension::text] FROM memory_embeddingspace WHERE state = %(active)s),
           EXISTS (SELECT FROM memory_owner)
"""
RESTORE_VAULT: Final = (
    "Restore the vault together with its master key, or name the right one in LOCI_KEYS_DIR or KEYS_DATABASE_URL."
)


@dataclass(frozen=True, slots=True)
class _Work:
    owners_waiting_for_vectors: int
    owners_waiting_for_tokens: int
    oldest_due: datetime | None
    oldest_run_due: datetime | None
    owners_whose_run_failed: int
    last_run: datetime | None
    space: Sequence[str] | None
    owners: bool


def health() -> dict[str, Any]:
    """Tell how this installation is: `status` (`ok`, `degraded`, `failing`) and `checks` with name, status, detail.

    Takes at most four queries and reads one small file of the key vault. Never raises because something is broken.
    The embedder's state is that of this process.
    """
    findings = health_findings()
    checks = [{"name": found.name, "status": found.status, "detail": found.detail} for found in findings]
    return {"status": worst(findings), "checks": checks}


def health_findings() -> list[Finding]:
    """Run the checks; the same as `health`, with remedies."""
    findings, work = _database_findings()
    findings += [_keys(owners=work is not None and work.owners), _language_model(), _reranker(), _memory_switch()]
    if settings.EMBEDDED_DATABASE:
        findings.append(_disk())
    return findings


def embedder_finding() -> Finding:
    """Tell whether search by meaning works in this process: ok, degraded to words, or failing by its settings.

    One query. The state of the embedder is known from its last use; nothing is asked of it.
    """
    active = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE)
    return _embedder(active.values_list("provider", "model", "dimension").first())


def _database_findings() -> tuple[list[Finding], _Work | None]:
    try:
        findings = [*_server_and_role()]
        schema = _schema()
        findings.append(schema)
        if schema.status == "failing":
            return findings, None
        work = _work()
        return [*findings, _embedder(work.space), _vectors(work), _worker(work), _consolidation(work)], work
    except (DatabaseError, InterfaceError) as error:
        failing = Finding(
            "database",
            "failing",
            f"The database does not answer ({type(error).__name__}).",
            "python3 manage.py up" if settings.EMBEDDED_DATABASE else "Check the server of DATABASE_URL.",
        )
        return [failing], None


def _server_and_role() -> list[Finding]:
    with connection.cursor() as cursor:
        cursor.execute(ROLE_SQL)
        version, vector, superuser, bypasses, plan_cache_mode, owns = cursor.fetchone()
    return [_server(version, vector), _role(superuser or bypasses, owns), _planner(plan_cache_mode)]


def _server(version: int, vector: str | None) -> Finding:
    if version < OLDEST_SERVER:
        return Finding(
            "database", "failing", f"PostgreSQL {version // 10_000} is too old.", "Use PostgreSQL 15 or newer."
        )
    if vector is None or tuple(int(part) for part in vector.split(".")[:2]) < OLDEST_VECTOR:
        found = f"pgvector {vector} is too old" if vector else "The extension vector is missing"
        return Finding(
            "database", "failing", f"{found}; 0.8 or newer is needed.", "python3 manage.py db provision --url …"
        )
    detail = f"PostgreSQL {version // 10_000}.{version % 10_000} with pgvector {vector} answers."
    return Finding("database", "ok", detail)


def _role(above_the_wall: bool, owns: bool) -> Finding:
    if above_the_wall or owns:
        which = "ignores row-level security" if above_the_wall else "owns the tables"
        return Finding(
            "role",
            "failing",
            f"The application's database role {which}, so the wall between owners is not there.",
            "Use the role loci_app in DATABASE_URL; `python3 manage.py db provision --url …` makes it.",
        )
    return Finding("role", "ok", "The application's database role is held by row-level security.")


def _planner(mode: str) -> Finding:
    if mode != PLAN_CACHE_MODE:
        return Finding(
            "planner",
            "degraded",
            f"plan_cache_mode is {mode}: searches can take thirty times as long.",
            "python3 manage.py db provision --url …",
        )
    return Finding("planner", "ok", f"plan_cache_mode is {mode}.")


def _schema() -> Finding:
    state = schema_state()
    if state.unknown:
        return Finding(
            "schema",
            "failing",
            f"The database was changed by a newer version of Loci ({state.unknown[-1]}).",
            "Run that version, or restore a backup of this one.",
        )
    if state.pending:
        count = len(state.pending)
        return Finding("schema", "failing", f"{count} migrations are not applied.", "python3 manage.py migrate")
    return Finding("schema", "ok", "All migrations are applied.")


def _work() -> _Work:
    with connection.cursor() as cursor:
        cursor.execute(
            WORK_SQL,
            {
                "vectors": DueWork.VECTORS,
                "tokens": DueWork.TOKENS,
                "consolidation": list(CONSOLIDATION),
                "retry": DueWork.CONSOLIDATE_RETRY,
                "tasks": [RUN_DUE_WORK, CONSOLIDATE_DUE],
                "active": str(SpaceState.ACTIVE),
            },
        )
        return _Work(*cursor.fetchone())


def _embedder(space: Sequence[str | int] | None) -> Finding:
    name = "embedder"
    if settings.EMBEDDING_PROVIDER == "none":
        return Finding(name, "ok", "No embedder is configured: recall works by words alone.")
    try:
        model = embedder()
    except LociError as error:
        return Finding(name, "failing", error.message, "Correct the EMBEDDING_ settings and restart.")
    this = f"{model.provider}/{model.model}"
    if space is not None and (space[0], space[1]) != (model.provider, model.model):
        return Finding(
            name,
            "degraded",
            f"The stored vectors belong to {space[0]}/{space[1]}, but {this} is configured: recall works by words.",
            "Set EMBEDDING_PROVIDER and EMBEDDING_MODEL as they were. The embedder is chosen before the first memory: "
            "stored memories cannot be given vectors of another one yet.",
        )
    state = model.state()
    if state.status == "failing":
        reason = state.reason or "no reason given"
        return Finding(
            name, "degraded", f"{this} fails: {reason} Recall works by words.", "Check the embedder; it is tried again."
        )
    width = f", {space[2]} dimensions" if space is not None else ", not used yet"
    return Finding(name, "ok", f"{this}{width}.")


def _vectors(work: _Work) -> Finding:
    waiting = work.owners_waiting_for_vectors
    if settings.EMBEDDING_PROVIDER == "none":
        without = f" Some memories of {waiting} owners have no vector." if waiting else ""
        return Finding("vectors", "ok", f"Words only, by choice.{without}")
    if waiting:
        return Finding("vectors", "degraded", f"Vectors of {waiting} owners are still to be made.")
    if work.owners_waiting_for_tokens:
        return Finding("vectors", "ok", f"Token vectors of {work.owners_waiting_for_tokens} owners are being made.")
    return Finding("vectors", "ok", "No vectors are waiting to be made.")


def _worker(work: _Work) -> Finding:
    name, remedy = "worker", "Run `python3 manage.py up` without --no-worker, or `python3 manage.py worker`."
    moment = now()
    if work.last_run is None:
        return Finding(name, "degraded", "No worker has reported yet.", remedy)
    silent = moment - work.last_run
    if silent > SILENCE:
        minutes = int(silent.total_seconds() // 60)
        return Finding(name, "degraded", f"No worker has reported for {minutes} minutes.", remedy)
    if work.oldest_due is not None and moment - work.oldest_due > LATE:
        minutes = int((moment - work.oldest_due).total_seconds() // 60)
        return Finding(name, "degraded", f"Work has been waiting for {minutes} minutes.", "See the worker's log lines.")
    return Finding(name, "ok", "The worker reports.")


def _consolidation(work: _Work) -> Finding:
    name, remedy = "consolidation", "python3 manage.py consolidation status"
    failed, moment = work.owners_whose_run_failed, now()
    if failed:
        return Finding(name, "degraded", f"The last run of {failed} owners failed and is tried again.", remedy)
    if work.oldest_run_due is not None and moment - work.oldest_run_due > RUNS_LATE:
        minutes = int((moment - work.oldest_run_due).total_seconds() // 60)
        return Finding(name, "degraded", f"A run has been waiting for {minutes} minutes.", remedy)
    return Finding(name, "ok", "No run is late.")


def _keys(*, owners: bool) -> Finding:
    try:
        if not vault_used_before():
            # Opening it would set it up, and a check changes nothing.
            if owners:
                return Finding("keys", "failing", "The key vault of this database's owners is gone.", RESTORE_VAULT)
            return Finding("keys", "failing", "The key vault was never set up, or is gone.", "python3 manage.py up")
        keyring().vault.verify()
    except LociError as error:
        return Finding("keys", "failing", error.message)
    except OSError as error:
        reason = f"The key vault cannot be looked at ({type(error).__name__})."
        return Finding("keys", "failing", reason, "Check the owner and mode of LOCI_KEYS_DIR.")
    return Finding("keys", "ok", "The master key opens the key vault.")


def _language_model() -> Finding:
    name = "language model"
    if not settings.LLM_BASE_URL:
        return Finding(name, "ok", "No language model is configured: rules do its work.")
    try:
        language_model()
    except LociError as error:
        return Finding(name, "failing", error.message, "Correct the LLM_ and OUTBOUND_ settings and restart.")
    return Finding(name, "ok", "A language model is configured.")


def _reranker() -> Finding:
    name = "reranker"
    if settings.RERANKER_PROVIDER == "none":
        return Finding(name, "ok", "No reranker is configured: hits keep the order of their profile.")
    try:
        model = reranker()
    except LociError as error:
        return Finding(name, "failing", error.message, "Correct the RERANKER_ settings and restart.")
    this = f"{model.provider}/{model.model}" if model.model else model.provider
    if settings.RERANKER_PROVIDER == "llm" and not settings.LLM_BASE_URL:
        detail = "The language model is to rerank, but none is configured: hits keep the order of their profile."
        return Finding(name, "degraded", detail, "Set LLM_BASE_URL and LLM_MODEL.")
    state = model.state()
    if state.status == "failing":
        detail = f"{this} fails: {state.reason or 'no reason given'} Hits keep the order of their profile."
        return Finding(name, "degraded", detail, "Check the reranker; it is tried again.")
    return Finding(name, "ok", f"{this} is configured.")


def _memory_switch() -> Finding:
    if settings.MEMORY_ENABLED:
        return Finding("memory", "ok", "Memory is switched on.")
    return Finding("memory", "degraded", "Memory is switched off (MEMORY_ENABLED).", "MEMORY_ENABLED=true")


def _disk() -> Finding:
    try:
        free = shutil.disk_usage(settings.DATA_DIRECTORY).free
    except OSError as error:
        return Finding("disk", "degraded", f"The data directory cannot be looked at ({type(error).__name__}).")
    if free < LITTLE_SPACE:
        detail, remedy = f"{free // 1024**2} MiB are free for the database.", "Make room on the disk."
        return Finding("disk", "failing" if free < NO_SPACE else "degraded", detail, remedy)
    return Finding("disk", "ok", f"{free // 1024**3} GiB are free for the database.")
