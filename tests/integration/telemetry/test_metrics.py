"""`/metrics`: who may read it, what it tells, and that nothing in it is about anybody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.conf import settings
from django.core.cache import caches
from django.core.management import call_command
from django.db import connections
from django.test import Client, override_settings
from django_q.brokers import get_broker
from django_q.models import OrmQ, Success
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_families
from prometheus_client.parser import text_string_to_metric_families as families

from config.settings.prices import Price
from memory.errors import EmbedderUnavailable
from memory.models import DueWork, Purge, PurgeState
from memory.models import User as Login
from memory.ports.live import socket_count_changed
from memory.ports.recorder import JobRan, ModelCalled, RecallObserved, job_ran, model_called, recalled
from memory.providers.composition import embedder
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.drafts import Draft
from memory.services.health import forget_health
from memory.services.health.work import TASKS_LATE
from memory.services.jobs import SIGNS_OF_LIFE, call_worker
from memory.services.remember import remember
from telemetry.metrics import standing
from telemetry.metrics.definitions import ALL, POOL_WAITING
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import flush, record, record_events
from tests.environment import PROJECT
from tests.integration.telemetry.clocks import at
from tests.integration.telemetry.providers import going_and_coming

TOKEN = {"Authorization": f"Bearer {settings.METRICS_TOKEN}"}
real = pytest.mark.django_db(transaction=True)


def scrape(client: Client) -> str:
    answer = client.get("/metrics", headers=TOKEN)
    assert answer.status_code == 200, answer.content
    return str(answer.content.decode())


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families(text)
        for sample in family.samples
    }


def value(client: Client, name: str, **labels: str) -> float | None:
    return samples(scrape(client)).get((name, frozenset(labels.items())))


class TestAccess:
    @real
    def test_the_token_opens_it_and_nothing_is_kept_of_the_visit(self, client: Client) -> None:
        answer = client.get("/metrics", headers=TOKEN)
        assert answer.status_code == 200
        assert answer["Content-Type"].startswith("text/plain; version=0.0.4")
        assert answer["Cache-Control"] == "no-store"
        assert not answer.cookies
        assert "Cookie" not in answer.get("Vary", "")

    @pytest.mark.parametrize(
        "header", ["Bearer wrong", "Bearer ", "Basic x", settings.METRICS_TOKEN, "Bearer \udcff", "Bearer Ä" * 50]
    )
    def test_without_the_right_token_it_is_closed(self, client: Client, header: str, db: None) -> None:
        answer = client.get("/metrics", HTTP_AUTHORIZATION=header)
        assert answer.status_code == 401
        assert answer["WWW-Authenticate"].startswith("Bearer")
        assert answer.json()["code"] == "auth.invalid"
        assert b"loci_" not in answer.content

    def test_a_stranger_is_told_what_to_bring(self, client: Client, django_assert_num_queries: Any, db: None) -> None:
        with django_assert_num_queries(0):
            answer = client.get("/metrics")
        assert answer.status_code == 401
        assert answer.json()["code"] == "auth.required"
        assert answer["WWW-Authenticate"].startswith("Bearer")

    def test_an_agent_key_does_not_open_it(
        self, client: Client, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        _, key = make_agent(alice, "scribe")
        assert client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {key}").status_code == 401

    def test_the_token_opens_nothing_else(self, client: Client, db: None) -> None:
        assert client.get("/api/v1/stats", headers=TOKEN).status_code == 401

    @override_settings(MOST_WRONG_KEYS=5)
    @real
    def test_trying_tokens_is_slowed_down_and_does_not_lock_the_right_one_out(self, client: Client) -> None:
        scrape(client)
        codes = [client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {n}").status_code for n in range(8)]
        assert codes == [401] * 5 + [429] * 3
        assert int(client.get("/metrics", HTTP_AUTHORIZATION="Bearer 9")["Retry-After"]) > 0
        scrape(client)

    @override_settings(MOST_WRONG_KEYS=5)
    @real
    def test_trying_tokens_does_not_lock_agents_out_nor_the_other_way_round(
        self, client: Client, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        _, key = make_agent(alice, "scribe")
        for n in range(6):
            client.get("/metrics", HTTP_AUTHORIZATION=f"Bearer {n}")
        assert client.get("/api/v1/memories", HTTP_AUTHORIZATION=f"Bearer {key}").status_code == 200
        caches["agent_keys"].clear()
        codes = [client.get("/api/v1/memories", HTTP_AUTHORIZATION=f"Bearer {n}").status_code for n in range(6)]
        assert codes[-1] == 429
        scrape(client)

    @real
    def test_staff_may_read_it_with_a_session_and_others_may_not(self, make_owner: Callable[..., Actor]) -> None:
        for name, staff, status in (("root", True, 200), ("bob", False, 403)):
            make_owner(name, staff=staff)
            client = Client()
            client.force_login(Login.objects.get(username=name), backend=settings.AUTHENTICATION_BACKENDS[1])
            assert client.get("/metrics").status_code == status
        client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
        assert client.get("/metrics").status_code == 401

    @pytest.mark.parametrize("method", ["post", "put", "delete", "patch"])
    def test_it_can_only_be_read(self, client: Client, method: str, db: None) -> None:
        assert getattr(client, method)("/metrics", headers=TOKEN).status_code == 405


class TestToken:
    def test_the_command_says_where_it_stands_and_never_what_it_is(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, alice: Actor, mallory: Actor
    ) -> None:
        monkeypatch.delenv("METRICS_TOKEN", raising=False)
        call_command("telemetry", "metrics-token", "--json")
        found = json.loads(capsys.readouterr().out)
        assert found == {"file": str(settings.CONFIG_DIRECTORY / "metrics.token"), "from_environment": False}
        monkeypatch.setenv("METRICS_TOKEN_FILE", "/etc/loci/another.token")
        call_command("telemetry", "metrics-token")
        assert "/etc/loci/another.token" in capsys.readouterr().out
        monkeypatch.delenv("METRICS_TOKEN_FILE")
        monkeypatch.setenv("METRICS_TOKEN", "a token of sixteen characters")
        call_command("telemetry", "metrics-token")
        said = capsys.readouterr().out
        assert "comes from METRICS_TOKEN" in said
        assert "sixteen" not in said

    def test_a_short_one_is_refused_at_the_start_without_being_repeated(self) -> None:
        done = subprocess.run(
            [sys.executable, "manage.py", "check"],
            cwd=PROJECT,
            env={**os.environ, "METRICS_TOKEN": "kettle", "LOCI_NO_BOOTSTRAP": "1"},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode != 0
        assert "METRICS_TOKEN cannot be used" in done.stderr
        assert "kettle" not in done.stderr + done.stdout


class TestForm:
    @real
    def test_it_is_valid_and_holds_declared_metrics_alone(self, client: Client) -> None:
        found = {family.name: family for family in families(scrape(client))}
        # The parser leaves the ending of counters out.
        declared = {name.removesuffix("_total"): definition for name, definition in ALL.items()}
        assert set(found) <= set(declared)
        for name, family in found.items():
            assert family.type == declared[name].kind
            assert family.documentation == declared[name].says

    @real
    def test_open_metrics_comes_where_it_is_asked_for(self, client: Client) -> None:
        answer = client.get("/metrics", headers={**TOKEN, "Accept": "application/openmetrics-text; version=1.0.0"})
        assert answer["Content-Type"].startswith("application/openmetrics-text")
        told = open_families(answer.content.decode())  # type: ignore[no-untyped-call]
        assert {family.name for family in told} >= {"loci_up", "loci_http_requests"}

    @real
    def test_what_never_happened_stands_at_zero(self, client: Client) -> None:
        assert value(client, "loci_turn_events_recorded_total") is not None
        assert value(client, "loci_purges", state="failed") == 0
        assert value(client, "loci_turn_events_dropped_total", reason="full") is not None


class TestRequests:
    @real
    def test_they_are_counted_by_pattern_and_never_by_what_was_asked(self, client: Client, alice: Actor) -> None:
        labels = {"route": "/api/v1/memories/<str:memory_id>", "method": "GET", "status": "4xx"}
        before = value(client, "loci_http_requests_total", **labels) or 0
        client.get("/api/v1/memories/0190aaaa-dead-7000-8000-000000000001?secret=kettle")
        text = scrape(client)
        assert samples(text)[("loci_http_requests_total", frozenset(labels.items()))] == before + 1
        assert "0190aaaa" not in text
        assert "kettle" not in text

    @real
    def test_what_leads_nowhere_is_one_route(self, client: Client) -> None:
        labels = {"route": "unknown", "method": "GET", "status": "4xx"}
        before = value(client, "loci_http_requests_total", **labels) or 0
        for path in ("/api/v1/no/such/thing", "/nothing-here", "/%F0%9F%98%80"):
            client.get(path)
        assert value(client, "loci_http_requests_total", **labels) == before + 3

    @real
    def test_files_and_strange_methods_are_counted_too(self, client: Client) -> None:
        before = value(client, "loci_http_requests_total", route="static", method="GET", status="2xx") or 0
        client.get("/static/palace/palace.css").close()
        client.generic("PROPFIND", "/metrics")
        assert value(client, "loci_http_requests_total", route="static", method="GET", status="2xx") == before + 1
        assert value(client, "loci_http_requests_total", route="/metrics", method="other", status="4xx")

    def test_a_request_costs_no_query(self, client: Client, django_assert_num_queries: Any, db: None) -> None:
        with django_assert_num_queries(0):
            client.get("/nothing-here")


class TestWhatHappens:
    @real
    def test_recalls(self, client: Client, alice: Actor) -> None:
        names = ("loci_recalls_total", "loci_recall_fallbacks_total", "loci_recall_stage_duration_seconds_count")
        before = samples(scrape(client))
        recalled(_observed(alice, hits=2, stages={"arms": 0.01}, degraded=("arm.timeout:graph",)))
        recalled(_observed(alice, hits=0, fallback=True))
        recalled(_observed(alice, hits=0, gate="skip"))
        after = samples(scrape(client))
        grown = {key: after[key] - before.get(key, 0) for key in after if key[0] in names}
        labels = {(key[0], *sorted(dict(key[1]).values())): change for key, change in grown.items() if change}
        assert labels == {
            ("loci_recalls_total", "default", "hit"): 1,
            ("loci_recalls_total", "default", "no_hit"): 1,
            ("loci_recalls_total", "default", "not_needed"): 1,
            ("loci_recall_fallbacks_total",): 1,
            ("loci_recall_stage_duration_seconds_count", "arms"): 1,
        }
        assert after[("loci_recall_degraded_total", frozenset({("code", "arm.timeout:graph")}))] >= 1

    @real
    def test_models_and_jobs(self, client: Client, alice: Actor) -> None:
        labels = {"kind": "llm", "component": "memory_sleep", "model": "tested"}
        for ok in (True, False):
            model_called(_call(alice, ok=ok))
        job_ran(JobRan(name="counted", seconds=0.2, ok=True, counts={"rows": 3, "none": 0}))
        job_ran(JobRan(name="counted", seconds=0.2, ok=False))
        found = samples(scrape(client))

        def of(name: str, **labels: str) -> float | None:
            return found.get((name, frozenset(labels.items())))

        assert of("loci_model_calls_total", **labels, outcome="ok") == 1
        assert of("loci_model_calls_total", **labels, outcome="failed") == 1
        assert of("loci_model_tokens_total", **labels, direction="input") == 20
        assert of("loci_model_tokens_total", **labels, direction="output") == 6
        assert of("loci_model_call_duration_seconds_count", kind="llm", model="tested") == 2
        assert of("loci_job_runs_total", task="counted", outcome="failed") == 1
        assert of("loci_job_rows_total", task="counted", kind="rows") == 3
        assert of("loci_job_rows_total", task="counted", kind="none") is None
        last = of("loci_job_last_success_timestamp_seconds", task="counted")
        assert last is not None
        assert abs(last - now().timestamp()) < 600

    @real
    def test_what_calls_cost(self, client: Client, alice: Actor) -> None:
        labels = {"kind": "llm", "component": "memory_sleep", "model": "priced"}
        prices = {"priced": Price(input=Decimal(2), output=Decimal(10), call=Decimal("0.5"))}
        with override_settings(MODEL_PRICES=prices):
            model_called(_call(alice, model="priced", input_tokens=1_000_000, output_tokens=100_000))
            model_called(_call(alice, model="unpriced"))
        assert value(client, "loci_model_cost_total", **labels) == 3.5
        assert value(client, "loci_model_cost_total", **{**labels, "model": "unpriced"}) is None

    @real
    def test_live_pages_come_and_go(self, client: Client) -> None:
        before = value(client, "loci_live_sockets") or 0
        socket_count_changed(1)
        assert value(client, "loci_live_sockets") == before + 1
        socket_count_changed(-1)
        assert value(client, "loci_live_sockets") == before

    @real
    def test_turn_events(self, client: Client, alice: Actor) -> None:
        before = value(client, "loci_turn_events_recorded_total") or 0
        for _ in range(2):
            record(actor=alice, event=TurnDraft(request="Where is the kettle?"))
        flush()
        record_events(actor=alice, events=[TurnDraft(request="And the pot?")])
        assert value(client, "loci_turn_events_recorded_total") == before + 3
        dropped = value(client, "loci_turn_events_dropped_total", reason="off") or 0
        with override_settings(TELEMETRY_ENABLED=False):
            record_events(actor=alice, events=[TurnDraft(request="And now?")])
        assert value(client, "loci_turn_events_dropped_total", reason="off") == dropped + 1

    @real
    def test_memories_are_counted_when_they_are_committed(self, client: Client, alice: Actor) -> None:
        before = value(client, "loci_memories_stored_total", kind="fact") or 0
        remember(actor=alice, draft=Draft(text="The kettle is blue.", kind="fact"))
        assert value(client, "loci_memories_stored_total", kind="fact") == before + 1


class TestWhatStands:
    @real
    def test_work_and_purges(self, client: Client, alice: Actor, mallory: Actor) -> None:
        moment = now()
        DueWork.objects.all().delete()
        for actor, minutes in ((alice, 5), (mallory, 1)):
            DueWork.objects.create(
                owner_id=actor.owner_id, job=DueWork.ERASE, due_at=moment - timedelta(minutes=minutes)
            )
        DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.EXPIRE, due_at=moment + timedelta(hours=1))
        Purge.objects.create(
            pseudonym=alice.owner_id, subject="owner", state=PurgeState.FAILED, requested_by="", requested_at=moment,
            token_digest=b"x" * 32,
        )  # fmt: skip
        found = samples(scrape(client))

        def of(name: str, **labels: str) -> float:
            return found[(name, frozenset(labels.items()))]

        assert of("loci_up") == 1
        assert of("loci_owners") == 2
        assert of("loci_due_work", kind="erase") == 2
        assert 290 < of("loci_due_work_oldest_seconds", kind="erase") < 600
        assert ("loci_due_work", frozenset({("kind", "expire")})) not in found
        assert of("loci_purges", state="failed") == 1
        assert of("loci_database_size_bytes") > 1_000_000
        assert of("loci_database_connections", state="active") >= 1
        assert of("loci_disk_free_bytes") > 0
        assert of("loci_build_info", version=settings.VERSION, python=_python()) == 1

    @real
    def test_checks_of_health(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        forget_health()
        assert value(client, "loci_health_check", check="database") == 0
        assert value(client, "loci_health_check", check="worker") == 1
        assert value(client, "loci_health_check", check="memory") == 0
        monkeypatch.setattr(settings, "MEMORY_ENABLED", False)
        forget_health()
        assert value(client, "loci_health_check", check="memory") == 1
        forget_health()

    @real
    def test_a_scrape_does_not_wait_for_a_pool_that_is_used_up(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(standing, "_pool", lambda: {POOL_WAITING: [((), 3.0)]})
        found = samples(scrape(client))
        assert found[("loci_database_pool_waiting", frozenset())] == 3
        assert found[("loci_up", frozenset())] == 1
        assert not [name for name, _ in found if name == "loci_health_check"]

    @real
    def test_a_task_waits_from_when_it_was_queued(self, client: Client) -> None:
        call_worker()
        queued = OrmQ.objects.get().lock
        with at(queued + timedelta(minutes=6)):
            assert value(client, "loci_queue_lag_seconds") == 360
            call_worker()
            assert value(client, "loci_queue_lag_seconds") == 360
            assert value(client, "loci_queue_tasks") == 2

    @real
    def test_a_task_that_a_worker_holds_does_not_wait(self, client: Client) -> None:
        call_worker()
        assert len(get_broker().dequeue()) == 1
        held_until = OrmQ.objects.get().lock
        with at(held_until - timedelta(minutes=1)):
            assert value(client, "loci_queue_lag_seconds") == 0
            assert value(client, "loci_queue_tasks") == 1
        # Whoever held it is gone.
        with at(held_until + timedelta(minutes=1)):
            assert value(client, "loci_queue_lag_seconds") == 60

    @real
    def test_a_queue_that_stands_is_seen_by_the_metric_and_by_health_alike(self, client: Client) -> None:
        call_worker()
        with at(OrmQ.objects.get().lock + TASKS_LATE + timedelta(seconds=1)):
            forget_health()
            assert value(client, "loci_queue_lag_seconds") == TASKS_LATE.total_seconds() + 1
            assert value(client, "loci_health_check", check="queue") == 1
        forget_health()

    @real
    @pytest.mark.parametrize("task", SIGNS_OF_LIFE)
    def test_a_worker_that_health_hears_of_is_not_silent(self, client: Client, task: str) -> None:
        assert value(client, "loci_worker_last_seen_timestamp_seconds") is None
        moment = now()
        Success.objects.create(id="1", name="1", func=task, started=moment, stopped=moment, success=True)
        forget_health()
        seen = value(client, "loci_worker_last_seen_timestamp_seconds")
        assert seen is not None
        assert abs(seen - moment.timestamp()) < 0.01
        assert value(client, "loci_health_check", check="worker") == 0
        forget_health()

    @real
    def test_an_embedder_that_fails_is_down(self, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        assert value(client, "loci_provider_up", kind="embedder") == 1

        def fail(texts: Any) -> Any:
            raise EmbedderUnavailable("away")

        monkeypatch.setattr(embedder().inner, "embed", fail)
        with pytest.raises(EmbedderUnavailable):
            embedder().embed(["a"])
        assert value(client, "loci_provider_up", kind="embedder") == 0
        monkeypatch.undo()
        embedder().embed(["a"])

    @real
    def test_a_language_model_that_went_away_is_down_until_it_answers_again(self, client: Client, alice: Actor) -> None:
        assert value(client, "loci_provider_up", kind="language_model") is None
        with going_and_coming() as server:
            assert value(client, "loci_provider_up", kind="language_model") == 1
            server.goes()
            assert server.fails()
            assert value(client, "loci_provider_up", kind="language_model") == 0
            server.comes()
            assert not server.fails()
            assert value(client, "loci_provider_up", kind="language_model") == 1

    @real
    def test_many_owners_make_no_more_series(self, client: Client, make_owner: Callable[..., Actor]) -> None:
        def lines() -> int:
            return len([line for line in scrape(client).splitlines() if "/metrics" not in line])

        DueWork.objects.create(owner_id=make_owner("first").owner_id, job=DueWork.ERASE, due_at=now())
        one = lines()
        for number in range(5):
            owner = make_owner(f"owner{number}")
            DueWork.objects.create(owner_id=owner.owner_id, job=DueWork.ERASE, due_at=now())
        assert lines() == one

    @real
    @pytest.mark.parametrize("wrong", [{"HOST": "/nowhere"}, {"NAME": "no_such_database"}])
    def test_without_a_database_it_tells_what_the_process_knows(
        self, client: Client, monkeypatch: pytest.MonkeyPatch, wrong: Mapping[str, str]
    ) -> None:
        with monkeypatch.context() as patch:
            for name, other in wrong.items():
                patch.setitem(connections["default"].settings_dict, name, other)
            found = samples(scrape(client))
        assert found[("loci_up", frozenset())] == 0
        assert not [name for name, _ in found if name in ("loci_owners", "loci_due_work", "loci_health_check")]
        assert [name for name, _ in found if name == "loci_http_requests_total"]
        assert ("loci_turn_events_recorded_total", frozenset()) in found

    @real
    def test_a_session_without_a_database_is_told_to_come_back(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connections["default"].close()
        client.cookies[settings.SESSION_COOKIE_NAME] = "a" * 32
        with monkeypatch.context() as patch:
            patch.setitem(connections["default"].settings_dict, "HOST", "/nowhere")
            answer = client.get("/metrics")
        assert (answer.status_code, answer.json()["code"]) == (503, "database.unavailable")


def _observed(actor: Actor, **changes: Any) -> RecallObserved:
    values: dict[str, Any] = {
        "recall_id": actor.owner_id, "owner_id": actor.owner_id, "agent_id": None, "sort": "recall",
        "profile": "default", "hits": 1, "wanted": 8, "considered": 20, "relevances": (0.5,), "threshold": 0.2,
        "gate": "recall", "fallback": False, "degraded": (), "seconds": 0.02, "stages": {}, "at": now(),
    }  # fmt: skip
    return RecallObserved(**{**values, **changes})


def _call(actor: Actor, **changes: Any) -> ModelCalled:
    values: dict[str, Any] = {
        "owner_id": actor.owner_id, "agent_id": actor.owner_id, "kind": "llm", "component": "memory_sleep",
        "provider": "openai", "model": "tested", "input_tokens": 10, "output_tokens": 3, "seconds": 0.5, "ok": True,
        "at": now(),
    }  # fmt: skip
    return ModelCalled(**{**values, **changes})


def _python() -> str:
    import platform

    return platform.python_version()
