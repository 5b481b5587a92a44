"""What all checks together say, for the health endpoints, `doctor` and the pages."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from time import monotonic
from typing import Any, Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError

from memory.services.added_checks import added_findings
from memory.services.findings import Finding, Status, worst
from memory.services.health.database import schema_finding, server_and_role
from memory.services.health.places import disk_finding, keys_finding, memory_switch_finding
from memory.services.health.providers import language_model_finding, of_embedder, reranker_finding
from memory.services.health.work import Work, waiting_work, work_findings
from memory.services.replica import replica_findings

KEPT_SECONDS: Final = 1.0
# Without them Loci does with less: by words, by rules, in the order that hits have.
DISPENSABLE: Final = frozenset({"language model", "reranker"})


def health() -> dict[str, Any]:
    """Tell how this installation is: `status` (`ok`, `degraded`, `failing`) and `checks` with name, status, detail.

    Takes at most five queries besides those of the checks that apps add, and reads one small file of the key vault.
    Never raises because something is broken. The embedder's state is that of this process.
    """
    return _told(health_findings())


def health_findings() -> list[Finding]:
    """Run the checks; the same as `health`, with remedies."""
    findings, work = _database_findings()
    findings += [
        keys_finding(owners=work is not None and work.owners),
        language_model_finding(),
        reranker_finding(),
        memory_switch_finding(),
        disk_finding(),
    ]
    return findings + replica_findings() + added_findings(database=work is not None)


def recent_findings() -> list[Finding]:
    """Give what the checks said within the last second, so that a flood of questions costs nothing."""
    return _kept.findings()


def recent_health() -> dict[str, Any]:
    """Give what `health` said within the last second."""
    return _told(recent_findings())


def state_of(findings: Sequence[Finding]) -> Status:
    """Sum findings up: `failing` only when requests cannot be served, `degraded` when they are with less."""
    if any(found.status == "failing" and found.name not in DISPENSABLE for found in findings):
        return "failing"
    return "ok" if worst(findings) == "ok" else "degraded"


def forget_health() -> None:
    """Look anew when next asked."""
    _kept.forget()


def _told(findings: list[Finding]) -> dict[str, Any]:
    checks = [{"name": found.name, "status": found.status, "detail": found.detail} for found in findings]
    return {"status": state_of(findings), "checks": checks}


def _database_findings() -> tuple[list[Finding], Work | None]:
    try:
        findings = server_and_role()
        schema = schema_finding()
        findings.append(schema)
        if schema.status == "failing":
            return findings, None
        work = waiting_work()
        return [*findings, of_embedder(work.space, work.beside), *work_findings(work)], work
    except (DatabaseError, InterfaceError) as error:
        failing = Finding(
            "database",
            "failing",
            f"The database does not answer ({type(error).__name__}).",
            "python3 manage.py up" if settings.EMBEDDED_DATABASE else "Check the server of DATABASE_URL.",
        )
        return [failing], None


class _Kept:
    """The last findings of this process; one thread looks, the others take what is there or wait for the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.forget()

    def forget(self) -> None:
        self._found: list[Finding] | None = None
        self._until = 0.0

    def findings(self) -> list[Finding]:
        found = self._found
        if found is not None and monotonic() < self._until:
            return found
        if not self._lock.acquire(blocking=found is None):
            return found or []
        try:
            if self._found is None or monotonic() >= self._until:
                self._found = health_findings()
                self._until = monotonic() + KEPT_SECONDS
            return self._found
        finally:
            self._lock.release()


_kept: Final = _Kept()
