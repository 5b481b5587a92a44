"""`manage.py doctor`: say what runs, what is degraded, and what to type."""

from __future__ import annotations

import json
import sys
from argparse import ArgumentParser
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from django.conf import settings
from django.core.management.base import BaseCommand
from django.db import DatabaseError, InterfaceError, connections

from config import serving
from memory.errors import LociError
from memory.services.accounts import owners_of_vault_alone, owners_without_keys
from memory.services.amounts import owners
from memory.services.findings import Finding, Status, worst
from memory.services.health import RESTORE_VAULT, embedder_finding, health_findings
from memory.services.health.connecting import connection_finding
from memory.services.key_places import key_findings
from memory.services.keys.lost_texts import lost_texts_finding
from memory.services.keys.rotation import rotation_finding
from memory.services.ollama import ollama_findings
from memory.services.projection.health import NAME as NEO4J
from memory.services.projection.health import probed_finding
from memory.services.replica_probe import probed_replica
from memory.services.server_checks import server_findings
from memory.services.spaces.in_use import embedder_in_use
from runtime import bootstrap
from runtime.errors import RuntimeFault
from runtime.instance import running_address, running_instance
from runtime.paths import data_directory
from runtime.postgres.cluster import Cluster
from runtime.virtualenv import VirtualEnvironment, checksum

EXIT_CODES: Final[dict[Status, int]] = {"ok": 0, "degraded": 1, "failing": 2}
MARKS: Final[dict[Status, str]] = {"ok": "ok      ", "degraded": "degraded", "failing": "FAILING "}
PROBE: Final = "Is the embedder there?"


class Command(BaseCommand):
    """Look at everything that Loci needs on this machine; changes nothing."""

    help = "Say what runs, what is degraded and what to type. Exit code 0: ok, 1: degraded, 2: failing."
    # It is there to say what is wrong, so nothing may stop it before.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the form of the answer."""
        parser.add_argument("--json", action="store_true", help="as one JSON object")
        parser.add_argument("--no-probe", action="store_true", help="do not load or ask the embedder")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check, tell, and end with the exit code of the worst finding."""
        findings = [_python(), _environment(), _server(), *_embedded_database()]
        known = health_findings()
        reachable = all(found.name != "database" or found.status == "ok" for found in known)
        if not reachable:
            known = [(found.name == "database" and connection_finding()) or found for found in known]
        if not options["no_probe"]:
            known = _asked(known, reachable=reachable)
        if reachable:
            known = [*(found for found in known if found.name != "replica"), *_looked_at_closely()]
        findings += known
        if reachable and all(found.status == "ok" for found in known if found.name in ("keys", "schema")):
            findings += [_owners(), lost_texts_finding(), rotation_finding()]
        findings += key_findings(serving.master_key_file())
        connections.close_all()
        self._tell(findings, as_json=options["json"])
        code = EXIT_CODES[worst(findings)]
        if code:
            raise SystemExit(code)

    def _tell(self, findings: list[Finding], *, as_json: bool) -> None:
        overall = worst(findings)
        if as_json:
            checks = [
                {"name": found.name, "status": found.status, "detail": found.detail, "remedy": found.remedy}
                for found in findings
            ]
            self.stdout.write(json.dumps({"status": overall, "version": settings.VERSION, "checks": checks}))
            return
        for found in findings:
            self.stdout.write(f"{MARKS[found.status]}  {found.name}: {found.detail}")
            if found.remedy and found.status != "ok":
                self.stdout.write(f"          -> {found.remedy}")
        self.stdout.write(f"\nLoci {settings.VERSION} is {overall}.")


def _python() -> Finding:
    return Finding("python", "ok", f"Python {sys.version_info[0]}.{sys.version_info[1]}.{sys.version_info[2]}.")


def _environment() -> Finding:
    """Compare the packages that were installed with the lock file of this version."""
    name = "packages"
    environment = VirtualEnvironment(Path(sys.prefix))
    lock = bootstrap.PROJECT / "requirements" / bootstrap.RUN
    installed = environment.installed().get(bootstrap.RUN)
    if not environment.installed():
        return Finding(name, "ok", "This Python was not prepared by manage.py, so its packages are not checked.")
    if not lock.is_file() or installed != checksum(lock):
        return Finding(
            name, "degraded", "The installed packages are not those of requirements/run.txt.", "python3 manage.py up"
        )
    return Finding(name, "ok", "The installed packages are those of requirements/run.txt.")


def _server() -> Finding:
    """Tell whether `up` runs here and its web process answers."""
    name = "server"
    pid = running_instance(data_directory())
    if pid is None:
        return _alone()
    host, port = running_address(data_directory()) or (settings.LOCI_HOST, settings.LOCI_PORT)
    answer = serving.ask_health(host, port)
    where = serving.address(host, port)
    if not answer:
        return Finding(
            name,
            "degraded",
            f"`up` runs (process {pid}), but nothing answers at {where}.",
            "Wait a moment, then see its log lines.",
        )
    return _told_by_server(answer, f"`up` runs (process {pid}) and answers at {where}")


def _alone() -> Finding:
    """Tell whether a web process answers that `up` has not started; with a database of its own there can be none."""
    host, port = settings.LOCI_HOST, settings.LOCI_PORT
    answer = None if settings.EMBEDDED_DATABASE else serving.ask_health(host, port)
    if answer:
        return _told_by_server(answer, f"A web process answers at {serving.address(host, port)}")
    return Finding("server", "degraded", "Loci does not run on this data directory.", "python3 manage.py up")


def _told_by_server(answer: Mapping[str, Any], so_far: str) -> Finding:
    """Take over what the web process says of itself: it may lack what this command has, the master key for example."""
    name, status = "server", answer["status"]
    if status not in ("degraded", "failing"):
        return Finding(name, "ok", f"{so_far}.")
    shown = ("failing",) if status == "failing" else ("degraded", "failing")
    worse = [check for check in answer["checks"] if check.get("status") in shown]
    said = "; ".join(f"{check.get('name')}: {check.get('detail')}" for check in worse)
    return Finding(
        name,
        status,
        f"{so_far}, but it calls itself {status}. {said}",
        "Where no other line says so: restart `up`, or the web process.",
    )


def _embedded_database() -> list[Finding]:
    if not settings.EMBEDDED_DATABASE:
        return []
    name = "embedded server"
    try:
        cluster = Cluster(data_directory())
        status = cluster.status()
    except RuntimeFault as error:
        return [Finding(name, "failing", error.message)]
    if not status.running:
        return [Finding(name, "failing", f"The server of {status.data} does not run.", "python3 manage.py db start")]
    found = f"PostgreSQL {status.version} ({cluster.binaries.source}) runs as process {status.pid} on {status.data}."
    return [Finding(name, "ok", found)]


def _probed(found: Finding) -> Finding:
    """Ask the embedder in use for one vector."""
    try:
        model = embedder_in_use()
        if model.provider == "none":
            return found
        width = int(model.embed([PROBE]).shape[1])
    except LociError as error:
        # Judged anew by this failure, with what stands in.
        judged = embedder_finding()
        if judged.status != "ok":
            return judged
        return Finding(
            "embedder", "degraded", f"{error.message} Recall works by words.", "Check the EMBEDDING_ settings."
        )
    return Finding("embedder", "ok", f"{found.detail.split(',')[0].rstrip('.')} answers with {width} dimensions.")


def _asked(known: list[Finding], *, reachable: bool) -> list[Finding]:
    """Ask the services that health judges by their last use."""
    asked = [_probed(found) if found.name == "embedder" and found.status == "ok" else found for found in known]
    if reachable:
        asked = [probed_finding() if found.name == NEO4J else found for found in asked]
    if settings.QUEUE_BROKER == "redis":
        # Only then are its packages sure to be there.
        from memory.services.health.redis import probed_redis

        asked = [probed_redis() if found.name == "redis" else found for found in asked]
    return [*asked, *ollama_findings()]


def _looked_at_closely() -> list[Finding]:
    """Look at the database server and its replica more closely than health does."""
    try:
        return [*server_findings(), *probed_replica()]
    except (DatabaseError, InterfaceError) as error:
        return [Finding("database settings", "degraded", f"They could not be looked at ({type(error).__name__}).")]


def _owners() -> Finding:
    name = "owners"
    try:
        missing, unknown = len(owners_without_keys()), len(owners_of_vault_alone())
    except (LociError, DatabaseError) as error:
        return Finding(name, "failing", f"Owners and keys cannot be compared ({type(error).__name__}).")
    if missing:
        return Finding(
            name,
            "failing",
            f"The vault has no keys for {owners(missing)}; their texts cannot be read.",
            RESTORE_VAULT,
        )
    others = f" It also knows {owners(unknown)} that this database does not." if unknown else ""
    return Finding(name, "ok", f"The vault has the keys of every owner.{others}")
