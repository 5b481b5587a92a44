"""What `doctor` and the health endpoint say, and the exit codes that programs go by."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connections
from django_q.models import Success
from pytest_django import DjangoAssertNumQueries

from memory.errors import KeysUnavailable
from memory.management.preparation import check_known_vault
from memory.models import DueWork, EmbeddingSpace, SpaceState
from memory.providers.composition import forget_providers
from memory.services import health, key_places
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.findings import Finding, worst
from memory.services.health import database, places
from memory.services.jobs import RUN_DUE_WORK
from memory.services.key_places import key_findings
from memory.services.remember import remember
from tests.integration.operations.installation import Installation


def by_name(checks: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in checks}


def report_of(installation: Installation, **environment: str) -> tuple[int, dict[str, dict[str, str]]]:
    answer = installation.run("doctor", "--json", environment=environment)
    report = json.loads(answer.stdout)
    assert report["status"] == {0: "ok", 1: "degraded", 2: "failing"}[answer.returncode]
    return answer.returncode, by_name(report["checks"])


@pytest.mark.slow
class TestCommand:
    """The command on a real installation."""

    def test_nothing_there_is_failing_and_nothing_is_made(self, installation: Installation) -> None:
        code, checks = report_of(installation)
        assert code == 2
        assert checks["embedded server"]["status"] == "failing"
        assert checks["database"]["status"] == "failing"
        assert checks["keys"]["status"] == "failing"
        assert not (installation.home / "data").exists()
        assert not (installation.home / "keys").exists()

    def test_all_well(self, running: Installation) -> None:
        running.wait_for(lambda: running.health()["worker"] == "ok", "the worker's sign of life")
        code, checks = report_of(running)
        assert code == 0, checks
        assert "64 dimensions" in checks["embedder"]["detail"]
        answer = running.run("doctor")
        assert answer.returncode == 0
        assert "Loci 0.1.0 is ok." in answer.stdout

    def test_an_embedder_that_fails_is_degraded(self, running: Installation) -> None:
        dead = {"EMBEDDING_PROVIDER": "openai", "EMBEDDING_BASE_URL": "http://127.0.0.1:9", "EMBEDDING_TIMEOUT": "1"}
        code, checks = report_of(running, **dead)
        assert code == 1
        assert checks["embedder"]["status"] == "degraded"
        assert "words" in checks["embedder"]["detail"]

    def test_a_wrong_master_key_is_failing(self, running: Installation) -> None:
        code, checks = report_of(running, LOCI_MASTER_KEY="1" * 64)
        assert code == 2
        assert checks["keys"]["status"] == "failing"

    def test_it_says_when_the_running_server_lacks_the_new_master_key(self, running: Installation) -> None:
        """It has the new key itself, and must not call a server well that opens nothing any more."""
        refused = running.run("keys", "rotate-master")
        assert refused.returncode == 1
        assert "Stop that process first" in refused.stderr
        path = running.home / "config" / "master.key"
        kept = {one: one.read_bytes() for one in running.home.joinpath("keys").rglob("*") if one.is_file()}
        kept[path] = path.read_bytes()
        try:
            assert running.run("keys", "rotate-master", "--force").returncode == 0
            code, checks = report_of(running)
            assert code == 2
            assert checks["keys"]["status"] == "ok"
            assert checks["server"]["status"] == "failing"
            assert "restart every process" in checks["server"]["detail"]
        finally:
            for one, content in kept.items():
                one.write_bytes(content)
        assert report_of(running)[1]["server"]["status"] == "ok"

    def test_an_open_key_file_is_degraded_and_the_remedy_helps(self, running: Installation) -> None:
        path = running.home / "config" / "master.key"
        path.chmod(0o644)
        code, checks = report_of(running)
        assert code == 1
        assert checks["key modes"]["remedy"] == f"chmod 600 {path}"
        path.chmod(0o600)
        assert report_of(running)[1]["key modes"]["status"] == "ok"

    def test_a_stopped_installation_with_its_database_is_degraded(self, installation: Installation) -> None:
        installation.start("--no-worker")
        assert installation.stop() == 0
        assert installation.run("db", "start").returncode == 0
        code, checks = report_of(installation)
        assert code == 1
        assert checks["server"]["remedy"] == "python3 manage.py up"
        assert checks["database"]["status"] == "ok"
        assert installation.run("db", "stop").returncode == 0


@pytest.fixture
def checks(db: None) -> Iterator[Callable[[], dict[str, dict[str, str]]]]:
    forget_providers()
    yield lambda: by_name(health.health()["checks"])
    forget_providers()


class TestHealth:
    """The cheap part, in this process."""

    def test_it_takes_five_queries_and_one_of_the_budgets(
        self, checks: Callable[[], Any], alice: Actor, django_assert_max_num_queries: DjangoAssertNumQueries
    ) -> None:
        with django_assert_max_num_queries(6):
            assert checks()["database"]["status"] == "ok"

    def test_it_says_what_is_so(self, checks: Callable[[], Any], alice: Actor) -> None:
        found = checks()
        assert {name for name, check in found.items() if check["status"] == "failing"} == set()
        assert found["role"]["status"] == "ok"
        assert found["schema"]["status"] == "ok"
        assert found["keys"]["status"] == "ok"

    def test_names_and_places_are_not_in_it(self, checks: Callable[[], Any], alice: Actor) -> None:
        said = json.dumps(health.health())
        assert "alice" not in said
        assert "/" not in said.replace("stub/characters-64", "")

    @pytest.mark.django_db(databases=["default", "schema"])
    def test_the_role_that_owns_the_tables_is_failing(
        self, checks: Callable[[], Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "connection", connections["schema"])
        assert checks()["role"]["status"] == "failing"

    def test_a_worker_that_never_reported(self, checks: Callable[[], Any]) -> None:
        assert checks()["worker"]["status"] == "degraded"

    @pytest.mark.parametrize(("minutes", "status"), [(1, "ok"), (10, "degraded")])
    def test_a_worker_that_reported(self, checks: Callable[[], Any], minutes: int, status: str) -> None:
        _report(minutes)
        assert checks()["worker"]["status"] == status

    def test_work_that_nobody_does(self, checks: Callable[[], Any], alice: Actor) -> None:
        _report(0)
        DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.ERASE, due_at=now() - timedelta(hours=1))
        assert checks()["worker"]["status"] == "degraded"

    def test_runs_that_wait_are_no_sign_of_a_missing_worker(self, checks: Callable[[], Any], alice: Actor) -> None:
        _report(0)
        hours = now() - timedelta(hours=1)
        work = DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.CONSOLIDATE, due_at=hours)
        found = checks()
        assert (found["worker"]["status"], found["consolidation"]["status"]) == ("ok", "degraded")
        work.due_at = now() - timedelta(minutes=20)
        work.save()
        assert checks()["consolidation"]["status"] == "ok"

    def test_a_run_that_failed(self, checks: Callable[[], Any], alice: Actor) -> None:
        later = now() + timedelta(minutes=5)
        DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.CONSOLIDATE_RETRY, due_at=later)
        assert checks()["consolidation"] == {
            "name": "consolidation",
            "status": "degraded",
            "detail": "The last run of 1 owner failed and is tried again.",
        }

    def test_vectors_that_wait(self, checks: Callable[[], Any], alice: Actor) -> None:
        DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.VECTORS, due_at=now())
        assert checks()["vectors"] == {
            "name": "vectors", "status": "degraded", "detail": "Vectors of 1 owner are still to be made.",
        }  # fmt: skip

    def test_vectors_of_several_owners_that_wait(self, checks: Callable[[], Any], alice: Actor, mallory: Actor) -> None:
        for one in (alice, mallory):
            DueWork.objects.create(owner_id=one.owner_id, job=DueWork.VECTORS, due_at=now())
        assert checks()["vectors"]["detail"] == "Vectors of 2 owners are still to be made."

    def test_vectors_of_another_model(self, checks: Callable[[], Any]) -> None:
        EmbeddingSpace.objects.create(provider="local", model="another", dimension=384, state=SpaceState.ACTIVE)
        assert checks()["embedder"]["status"] == "degraded"
        remedies = {found.name: found.remedy for found in health.health_findings()}
        assert "manage.py spaces open" in remedies["embedder"]

    def test_words_only_is_a_choice(self, checks: Callable[[], Any], alice: Actor, settings: Any) -> None:
        settings.EMBEDDING_PROVIDER = "none"
        assert checks()["vectors"] == {"name": "vectors", "status": "ok", "detail": "Words only, by choice."}
        remember(actor=alice, draft=Draft(text="Tea is fine."))
        found = checks()
        assert (found["vectors"]["status"], found["embedder"]["status"]) == ("ok", "ok")
        assert "memories of 1 owner have no vector" in found["vectors"]["detail"]

    def test_a_vault_that_is_gone(
        self, checks: Callable[[], Any], make_owner: Callable[..., Actor], settings: Any, tmp_path: Path
    ) -> None:
        settings.KEYS_DIRECTORY = tmp_path / "elsewhere"
        assert _keys_remedy() == "python3 manage.py up"
        settings.KEYS_DIRECTORY = tmp_path / "keys"
        make_owner("alice")
        settings.KEYS_DIRECTORY = tmp_path / "elsewhere"
        assert _keys_remedy() == health.RESTORE_VAULT
        assert not (tmp_path / "elsewhere").exists()

    def test_a_vault_that_cannot_be_looked_at(self, checks: Callable[[], Any], settings: Any, tmp_path: Path) -> None:
        # A name that is too long is refused to root as well, unlike a closed directory.
        settings.KEYS_DIRECTORY = tmp_path / ("x" * 300)
        assert checks()["keys"]["status"] == "failing"
        with pytest.raises(KeysUnavailable, match="cannot be looked at"):
            check_known_vault()

    def test_a_migration_that_is_missing(self, checks: Callable[[], Any]) -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = 'memory' AND name LIKE '0002%'")
        assert checks()["schema"]["status"] == "failing"

    def test_a_migration_of_a_newer_version(self, checks: Callable[[], Any]) -> None:
        with connections["default"].cursor() as cursor:
            cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_new', now())")
        found = checks()["schema"]
        assert found["status"] == "degraded", "it runs on beside processes of that version"
        assert "newer version" in found["detail"]

    def test_memory_switched_off(self, checks: Callable[[], Any], settings: Any) -> None:
        settings.MEMORY_ENABLED = False
        assert checks()["memory"]["status"] == "degraded"


class TestKeyPlaces:
    """Where keys may lie."""

    def found(self, settings: Any, home: Path, *, key: str, keys: str = "keys", data: str = "data") -> dict[str, str]:
        settings.DATA_DIRECTORY, settings.KEYS_DIRECTORY = home / data, home / keys
        path = home / key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
        path.chmod(0o600)
        return {finding.name: finding.status for finding in key_findings(path)}

    def test_apart(self, settings: Any, tmp_path: Path) -> None:
        assert self.found(settings, tmp_path, key="config/master.key") == {"key places": "ok", "key modes": "ok"}

    @pytest.mark.parametrize(
        ("key", "keys", "data"),
        [
            ("data/master.key", "keys", "data"),
            ("keys/master.key", "keys", "data"),
            ("config/master.key", "data/keys", "data"),
            ("config/master.key", "keys", "keys/data"),
        ],
    )
    def test_inside_one_another(self, settings: Any, tmp_path: Path, key: str, keys: str, data: str) -> None:
        assert self.found(settings, tmp_path, key=key, keys=keys, data=data)["key places"] == "degraded"

    def test_a_similar_name_is_not_inside(self, settings: Any, tmp_path: Path) -> None:
        assert self.found(settings, tmp_path, key="data-config/master.key")["key places"] == "ok"

    def test_a_secret_that_a_container_was_granted_may_be_readable(
        self, settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        settings.DATA_DIRECTORY, settings.KEYS_DIRECTORY = tmp_path / "data", tmp_path / "keys"
        path = tmp_path / "secrets" / "master_key"
        path.parent.mkdir()
        path.write_text("x")
        path.chmod(0o444)
        assert {one.name: one.status for one in key_findings(path)}["key modes"] == "degraded"
        monkeypatch.setattr(key_places, "GRANTED", path.parent)
        assert {one.status for one in key_findings(path)} == {"ok"}

    def test_a_key_from_the_environment(self, settings: Any, tmp_path: Path) -> None:
        settings.DATA_DIRECTORY, settings.KEYS_DIRECTORY = tmp_path / "data", tmp_path / "keys"
        assert {finding.status for finding in key_findings(None)} == {"ok"}


@pytest.mark.parametrize(
    ("url", "status"),
    [
        ("postgresql://keys@db.example/vault", "ok"),
        ("postgresql://keys@db.example/loci", "failing"),
        ("postgresql://keys@db.example:5432/loci", "failing"),
        ("postgresql://keys@db.example:5433/loci", "ok"),
        ("not an address", "failing"),
    ],
)
def test_a_vault_in_a_database(
    settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str, status: str
) -> None:
    settings.DATA_DIRECTORY, settings.KEYS_DATABASE_URL = tmp_path / "data", url
    for name, value in (("HOST", "db.example"), ("PORT", ""), ("NAME", "loci")):
        monkeypatch.setitem(settings.DATABASES["default"], name, value)
    found = {finding.name: finding.status for finding in key_findings(None)}
    assert found == {"key places": "ok", "key modes": "ok", "key database": status}


def test_the_worst_counts() -> None:
    assert worst([]) == "ok"
    findings = [Finding("a", "ok", ""), Finding("b", "failing", ""), Finding("c", "degraded", "")]
    assert worst(findings) == "failing"


def test_a_disk_that_runs_full(settings: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    settings.DATA_DIRECTORY = tmp_path
    usage = shutil.disk_usage(tmp_path)
    for free, status in ((50 * 1024**2, "failing"), (500 * 1024**2, "degraded"), (50 * 1024**3, "ok")):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: usage._replace(free=free))
        assert places.disk_finding().status == status


def _keys_remedy() -> str | None:
    return next(found.remedy for found in health.health_findings() if found.name == "keys")


def _report(minutes_ago: int) -> None:
    moment = now() - timedelta(minutes=minutes_ago)
    Success.objects.create(id="0" * 32, name="x", func=RUN_DUE_WORK, started=moment, stopped=moment, success=True)
