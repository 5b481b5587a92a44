"""The probes of orchestrators, the registry of checks, and what each check counts as."""

from __future__ import annotations

import asyncio
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.core.handlers.asgi import ASGIHandler
from django.db import OperationalError, connection
from django.test import Client
from django_q.models import OrmQ
from pytest_django import DjangoAssertNumQueries, Settings

from memory.live.notify_layer import NotifyLayer
from memory.live.sockets import open_sockets
from memory.live.state import live_finding
from memory.models import DueWork
from memory.providers.composition import forget_providers
from memory.services.actors import Actor
from memory.services.added_checks import add_check, remove_check
from memory.services.clock import now
from memory.services.findings import Finding, Status
from memory.services.health import forget_health, health, health_findings, recent_findings, recent_health, state_of
from memory.services.health import report as reporting
from memory.services.health.places import disk_finding
from telemetry.services.health_checks import writer_finding
from telemetry.services.turns import recording
from telemetry.services.turns.buffer import MOST_WAITING, RecordingCounts
from tests.integration.telemetry.providers import going_and_coming

LIVE, READY = "/health/live", "/health/ready"


def by_name(findings: list[Finding]) -> dict[str, Finding]:
    """Name the findings."""
    return {found.name: found for found in findings}


@pytest.fixture
def database_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail every question to the database."""

    def away(*_: Any, **__: Any) -> Any:
        raise OperationalError("connection to server at 10.0.0.7 failed")

    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.ensure_connection", away)
    monkeypatch.setattr("django.db.backends.base.base.BaseDatabaseWrapper.cursor", away)


@pytest.fixture
def broken(request: pytest.FixtureRequest) -> Iterator[Callable[[Status], None]]:
    """Give a function that adds a check of a status."""

    def add(status: Status) -> None:
        add_check("part", lambda: Finding("part", status, "It is so for Alice at 10.0.0.7."))
        forget_health()

    yield add
    remove_check("part")


class TestLive:
    def test_it_asks_nothing(self, database_is_away: None) -> None:
        """Without the database fixture of the tests, so a question would fail twice over."""
        answer = Client().get(LIVE)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"})
        assert answer["Cache-Control"] == "no-store"
        assert not answer.cookies

    @pytest.mark.parametrize("where", [LIVE, READY])
    def test_probes_may_come_by_any_name_and_only_ask(self, where: str, database_is_away: None) -> None:
        assert Client().get(where, HTTP_HOST="10.1.2.3:8420").status_code in (200, 503)
        refused = Client(enforce_csrf_checks=True).post(where)
        assert (refused.status_code, refused["Allow"], refused.content) == (405, "GET, HEAD", b"")
        assert Client().head(where).status_code in (200, 503)

    @pytest.mark.django_db
    def test_other_addresses_are_none_of_them(self) -> None:
        assert Client().get("/health/live/").status_code == 404
        assert Client().get("/health/").status_code == 404

    def test_it_answers_while_a_question_to_the_database_hangs(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Through Django's asynchronous handler: the other probe waits in its own thread."""
        asked, released = threading.Event(), threading.Event()

        def hang() -> list[Finding]:
            asked.set()
            released.wait(20)
            return []

        monkeypatch.setattr(reporting, "health_findings", hang)

        async def both() -> tuple[int, int]:
            handler: Any = ASGIHandler()
            transport = httpx.ASGITransport(app=handler)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                waiting = asyncio.create_task(client.get(READY))
                await asyncio.to_thread(asked.wait, 20)
                live = await client.get(LIVE)
                done = waiting.done()
                released.set()
                return live.status_code, (await waiting).status_code if not done else 0

        assert asyncio.run(both()) == (200, 200)


@pytest.mark.django_db
class TestReady:
    def test_it_tells_names_and_states(self, alice: Actor) -> None:
        answer = Client().get(READY)
        assert answer.status_code == 200
        body = answer.json()
        assert body["status"] in ("ok", "degraded")
        assert all(set(check) == {"name", "status"} for check in body["checks"])
        names = [check["name"] for check in body["checks"]]
        assert len(names) == len(set(names))
        assert set(names) == {
            "database", "role", "planner", "schema", "embedder", "vectors", "worker", "queue", "consolidation", "keys",
            "language model", "reranker", "memory", "disk", "budgets", "live", "neo4j", "turn events",
        }  # fmt: skip

    def test_only_what_keeps_requests_from_being_served_is_a_503(
        self, broken: Callable[[Status], None], settings: Settings
    ) -> None:
        for status, code in (("ok", 200), ("degraded", 200), ("failing", 503)):
            broken(status)  # type: ignore[arg-type]
            answer = Client().get(READY)
            assert answer.status_code == code
            assert "Alice" not in answer.content.decode()
        assert answer.json()["status"] == "failing"

    def test_a_newer_schema_takes_no_requests_from_what_still_runs(self, alice: Actor) -> None:
        with connection.cursor() as cursor:
            cursor.execute("INSERT INTO django_migrations (app, name, applied) VALUES ('memory', '9999_new', now())")
        answer = Client().get(READY)
        assert (answer.status_code, answer.json()["status"]) == (200, "degraded")
        assert {"name": "schema", "status": "degraded"} in answer.json()["checks"]

    def test_a_model_that_is_set_up_wrongly_keeps_nobody_from_serving(self, settings: Settings) -> None:
        settings.RERANKER_PROVIDER, settings.RERANKER_PATH = "onnx", ""
        forget_providers()
        forget_health()
        body = Client().get(READY)
        assert (body.status_code, body.json()["status"]) == (200, "degraded")
        assert {check["name"]: check["status"] for check in body.json()["checks"]}["reranker"] == "failing"
        assert Client().get("/api/v1/health").status_code == 200
        settings.RERANKER_PROVIDER = "none"
        forget_providers()

    def test_a_flood_costs_one_look(
        self, monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: DjangoAssertNumQueries
    ) -> None:
        monkeypatch.setattr(reporting, "monotonic", lambda: 100.0)
        recent_findings()
        with django_assert_num_queries(0):
            for _ in range(20):
                assert Client().get(READY).status_code == 200
            assert Client().get("/api/v1/health").status_code == 200

    def test_it_looks_again_after_a_second(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moment = [100.0]
        monkeypatch.setattr(reporting, "monotonic", lambda: moment[0])
        first = recent_findings()
        moment[0] += 0.9
        assert recent_findings() is first
        moment[0] += 0.2
        assert recent_findings() is not first

    def test_one_thread_looks_while_others_take_what_is_known(self, monkeypatch: pytest.MonkeyPatch) -> None:
        moment = [100.0]
        monkeypatch.setattr(reporting, "monotonic", lambda: moment[0])
        first = recent_findings()
        moment[0] += 2
        looking, released = threading.Event(), threading.Event()

        def slow() -> list[Finding]:
            looking.set()
            released.wait(20)
            return []

        monkeypatch.setattr(reporting, "health_findings", slow)
        thread = threading.Thread(target=recent_findings)
        thread.start()
        looking.wait(20)
        assert recent_findings() is first
        released.set()
        thread.join()
        assert recent_findings() == []


def test_without_the_database_it_is_failing_and_says_no_address(database_is_away: None) -> None:
    answer = Client().get(READY)
    assert answer.status_code == 503
    states = {check["name"]: check["status"] for check in answer.json()["checks"]}
    assert states["database"] == "failing"
    assert "worker" not in states
    said = json.dumps(health()) + answer.content.decode()
    assert "10.0.0.7" not in said


class TestRegistry:
    def test_a_check_that_breaks_is_a_finding(self, broken: Callable[[Status], None], db: None) -> None:
        def fail() -> Finding:
            raise ValueError("what somebody said")

        add_check("part", fail)
        found = by_name(health_findings())["part"]
        assert (found.status, "somebody" in found.detail) == ("degraded", False)
        assert "ValueError" in found.detail

    def test_the_later_of_two_counts(self, broken: Callable[[Status], None], db: None) -> None:
        broken("failing")
        broken("ok")
        found = [one.status for one in health_findings() if one.name == "part"]
        assert found == ["ok"]

    def test_what_asks_the_database_is_passed_over_without_it(
        self, broken: Callable[[Status], None], database_is_away: None
    ) -> None:
        add_check("part", lambda: Finding("part", "ok", ""), asks_database=True)
        assert "part" not in by_name(health_findings())
        add_check("part", lambda: Finding("part", "ok", ""))
        assert "part" in by_name(health_findings())

    @pytest.mark.parametrize(
        ("statuses", "expected"),
        [
            ({}, "ok"),
            ({"a": "ok"}, "ok"),
            ({"a": "degraded", "b": "ok"}, "degraded"),
            ({"a": "failing", "b": "degraded"}, "failing"),
            ({"language model": "failing"}, "degraded"),
            ({"language model": "failing", "keys": "failing"}, "failing"),
        ],
    )
    def test_how_findings_are_summed_up(self, statuses: dict[str, Status], expected: Status) -> None:
        assert state_of([Finding(name, status, "") for name, status in statuses.items()]) == expected


@pytest.mark.django_db
class TestQueue:
    def put(self, **ago: float) -> None:
        OrmQ.objects.create(key="loci", payload="x", lock=now() - timedelta(**ago))

    def found(self) -> Finding:
        return by_name(health_findings())["queue"]

    def test_nothing_waits(self) -> None:
        assert (self.found().status, self.found().detail) == ("ok", "No task waits.")

    def test_what_waits_a_while_is_well(self) -> None:
        self.put(minutes=14)
        self.put(minutes=1)
        assert (self.found().status, self.found().detail) == ("ok", "2 tasks wait.")

    def test_what_waits_for_long_is_not(self) -> None:
        self.put(minutes=16)
        assert (self.found().status, self.found().detail) == ("degraded", "1 task waits, the oldest for 16 minutes.")

    def test_what_a_worker_holds_does_not_wait(self) -> None:
        self.put(minutes=-10)
        assert self.found().detail == "No task waits."

    def test_due_work_that_waits_shows_at_the_worker(self, alice: Actor) -> None:
        DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.ERASE, due_at=now() - timedelta(hours=1))
        assert by_name(health_findings())["worker"].status == "degraded"


class TestDisk:
    @pytest.fixture(autouse=True)
    def places(self, settings: Settings, tmp_path: Path) -> None:
        for name in ("DATA", "KEYS", "CONFIG", "CACHE"):
            setattr(settings, f"{name}_DIRECTORY", tmp_path / name.lower())
            (tmp_path / name.lower()).mkdir()

    def free(self, monkeypatch: pytest.MonkeyPatch, **sizes: int) -> None:
        usage = shutil.disk_usage("/")

        def told(path: Any) -> Any:
            return usage._replace(free=sizes.get(Path(path).name, 50 * 1024) * 1024**2)

        monkeypatch.setattr(shutil, "disk_usage", told)

    @pytest.mark.parametrize("place", ["keys", "config", "cache"])
    def test_little_room_beside_the_database_is_degraded(
        self, monkeypatch: pytest.MonkeyPatch, settings: Settings, place: str
    ) -> None:
        settings.EMBEDDED_DATABASE = False
        self.free(monkeypatch, **{place: 150})
        assert disk_finding().status == "ok"
        self.free(monkeypatch, **{place: 50})
        assert disk_finding().status == "degraded"
        assert "50 MiB are free for the" in disk_finding().detail

    def test_a_database_elsewhere_is_not_looked_at(self, monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
        self.free(monkeypatch, data=1)
        assert disk_finding().status == "failing"
        settings.EMBEDDED_DATABASE = False
        assert disk_finding().status == "ok"

    def test_what_is_worst_is_said(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.free(monkeypatch, data=50, keys=50)
        found = disk_finding()
        assert (found.status, found.detail) == ("failing", "50 MiB are free for the database.")

    def test_what_is_not_there_yet_is_looked_for_above(self, settings: Settings, tmp_path: Path) -> None:
        settings.CACHE_DIRECTORY = tmp_path / "not" / "there" / "yet"
        assert "cannot" not in disk_finding().detail
        settings.DATA_DIRECTORY = tmp_path / "gone"
        assert disk_finding().status == "degraded"
        assert str(tmp_path) not in disk_finding().detail


class TestWriter:
    @pytest.mark.parametrize(
        ("changed", "status"),
        [
            ({}, "ok"),
            ({"waiting": MOST_WAITING // 2}, "ok"),
            ({"waiting": MOST_WAITING // 2 + 1}, "degraded"),
            ({"stalled": True, "waiting": 1}, "degraded"),
            ({"lost": 1}, "degraded"),
        ],
    )
    def test_events_that_are_not_written(
        self, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], status: Status
    ) -> None:
        none = dict.fromkeys(RecordingCounts.__dataclass_fields__, 0)
        counts = RecordingCounts(**{**none, "stalled": False, **changed})
        monkeypatch.setattr("telemetry.services.health_checks.recording_counts", lambda: counts)
        assert writer_finding().status == status

    def test_what_waits_is_counted(self, alice: Actor) -> None:
        from telemetry.services.turns.drafts import TurnDraft

        assert writer_finding().detail == "No turn event waits to be written."
        recording.record(actor=alice, event=TurnDraft(request="Where is the key?"))
        assert writer_finding().detail == "1 turn event waits to be written."
        recording.flush()
        assert writer_finding().detail == "No turn event waits to be written."

    def test_switched_off_is_well(self, settings: Settings) -> None:
        settings.TELEMETRY_ENABLED = False
        assert writer_finding().status == "ok"


@pytest.mark.django_db
class TestLanguageModel:
    def found(self) -> Finding:
        return by_name(health_findings())["language model"]

    def test_one_that_went_away_is_degraded_until_it_answers_again(self) -> None:
        with going_and_coming() as server:
            assert (self.found().status, self.found().detail) == ("ok", "A language model is configured.")
            server.goes()
            assert self.found().status == "ok", "nothing is asked on purpose"
            assert server.fails()
            assert self.found().status == "degraded"
            assert self.found().detail.startswith("It fails: The language model's server ")
            assert server.address not in self.found().detail
            server.comes()
            assert self.found().status == "degraded", "nothing is asked on purpose"
            assert not server.fails()
            assert self.found().status == "ok"

    def test_none_is_a_choice(self) -> None:
        assert self.found().status == "ok"


class TestLivePages:
    def test_pages_that_hear_nothing_are_degraded(self, monkeypatch: pytest.MonkeyPatch, alice: Actor) -> None:
        class Page:
            def judge_soon(self) -> None:
                """Do nothing."""

        layer = NotifyLayer()
        monkeypatch.setattr("memory.live.state.get_channel_layer", lambda: layer)
        assert live_finding().status == "ok"
        page = Page()
        assert open_sockets.add(page, owner_id=alice.owner_id, caller_id=alice.owner_id)
        try:
            assert live_finding().status == "degraded"
            layer._heard.set()
            assert live_finding().status == "ok"
        finally:
            open_sockets.remove(page)


@pytest.mark.django_db
def test_what_is_told_in_sentences_names_nobody(alice: Actor) -> None:
    said = json.dumps(recent_health())
    assert "alice" not in said
    assert str(alice.owner_id) not in said
