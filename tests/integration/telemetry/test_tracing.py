"""Traces, as a collector gets them: what is a part of what, and that nothing somebody said is among them."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.conf import settings
from django.test import AsyncClient, Client, override_settings
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from config.settings.env import SettingError
from config.settings.tracing import traces_address
from memory.ports.request_id import request_id
from memory.ports.tracing import install_tracer, span
from memory.services.actors import Actor
from memory.services.job_runs import JobError, run_job
from telemetry.metrics import tracing
from tests.environment import PROJECT
from tests.integration.telemetry.receiver import Receiver, attributes, receiving

TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
SAID = "Kettleword"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Run a collector, and switch traces on in this process."""
    with receiving() as found, override_settings(TRACING="otlp", TRACES_ADDRESS=f"{found.address}/v1/traces"):
        tracing.end()
        install_tracer(lambda name, described: tracing.span_of(name, described))
        try:
            yield found
        finally:
            install_tracer(None)
            tracing.end()


@pytest.fixture
def key(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> dict[str, str]:
    return {"Authorization": f"Bearer {make_agent(alice, 'scribe')[1]}"}


class TestRequests:
    def test_a_request_is_a_span_named_after_its_pattern(
        self, receiver: Receiver, client: Client, key: dict[str, str]
    ) -> None:
        client.get(f"/api/v1/memories/{SAID}?unknown={SAID}", headers=key)
        tracing.flush()
        (found,) = receiver.named("GET /api/v1/memories/<str:memory_id>")
        assert found.kind == Span.SPAN_KIND_SERVER
        assert not found.parent_span_id
        told = attributes(found)
        assert len(told.pop(tracing.REQUEST_ID)) >= 16
        assert told == {
            "http.request.method": "GET",
            "http.route": "/api/v1/memories/<str:memory_id>",
            "http.response.status_code": 422,
        }
        assert receiver.resource()["service.name"] == "loci"
        assert receiver.resource()["service.version"] == settings.VERSION
        assert receiver.paths == ["/v1/traces"]

    def test_it_belongs_to_what_its_caller_does(self, receiver: Receiver, client: Client, db: None) -> None:
        headers = {"traceparent": f"00-{TRACE}-{PARENT}-01", "tracestate": f"vendor={SAID}", "X-Request-ID": "abc-1"}
        client.get("/api/v1/health", headers=headers)
        tracing.flush()
        (found,) = receiver.named("GET /api/v1/health")
        assert found.trace_id.hex() == TRACE
        assert found.parent_span_id.hex() == PARENT
        assert attributes(found)[tracing.REQUEST_ID] == "abc-1"
        assert found.trace_state == ""

    @pytest.mark.parametrize("given", ["", "nonsense", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{PARENT}-01" * 99])
    def test_a_traceparent_that_is_none_begins_a_trace(
        self, receiver: Receiver, client: Client, db: None, given: str
    ) -> None:
        assert client.get("/api/v1/health", headers={"traceparent": given}).status_code in (200, 503)
        tracing.flush()
        (found,) = receiver.named("GET /api/v1/health")
        assert not found.parent_span_id
        assert found.trace_id.hex() not in (TRACE, "0" * 32)

    def test_a_caller_may_say_that_it_wants_no_trace(self, receiver: Receiver, client: Client, db: None) -> None:
        client.get("/api/v1/health", headers={"traceparent": f"00-{TRACE}-{PARENT}-00"})
        tracing.flush()
        assert receiver.bodies == []

    def test_files_and_scrapes_are_none(self, receiver: Receiver, client: Client, db: None) -> None:
        client.get("/static/palace/palace.css").close()
        client.get("/metrics")
        tracing.flush()
        assert receiver.bodies == []

    @pytest.mark.django_db(transaction=True)
    def test_a_recall_shows_its_parts(self, receiver: Receiver, client: Client, key: dict[str, str]) -> None:
        for path, body in (
            ("memories", {"text": f"The {SAID} is blue.", "tags": [SAID]}),
            ("recall", {"query": f"Where is the {SAID}?"}),
        ):
            answer = client.post(f"/api/v1/{path}", body, content_type="application/json", headers=key)
            assert answer.status_code in (200, 201)
        tracing.flush()
        (request,) = receiver.named("POST /api/v1/recall")
        (recall,) = receiver.named("recall")
        assert recall.parent_span_id == request.span_id
        stages = {one.name for one in receiver.spans() if one.name.startswith("recall.")}
        assert len(stages) >= 2
        assert {one.trace_id for one in receiver.spans() if one.name in stages} == {request.trace_id}
        models = receiver.named("model.call")
        assert {attributes(one)["kind"] for one in models} == {"embedding"}
        assert {one.parent_span_id for one in models} & {one.span_id for one in receiver.spans()}
        assert SAID.casefold().encode() not in b"".join(receiver.bodies).lower()

    @pytest.mark.django_db(transaction=True)
    def test_it_is_so_under_the_asynchronous_server_too(self, receiver: Receiver) -> None:
        import asyncio

        async def ask() -> list[int]:
            client = AsyncClient()
            answers = [await client.get(path) for path in ("/api/v1/stats", "/static/palace/palace.css")]
            for answer in answers:
                answer.close()
            return [answer.status_code for answer in answers]

        assert asyncio.run(ask()) == [401, 200]
        tracing.flush()
        assert [one.name for one in receiver.spans()] == ["GET /api/v1/stats"]


class TestJobsAndErrors:
    def test_a_job_is_a_span_under_the_id_of_its_request(self, receiver: Receiver, db: None) -> None:
        run_job("tested", lambda: {"rows": 1}, follows="abc-2")
        tracing.flush()
        (found,) = receiver.named("job")
        assert attributes(found) == {"job": "tested", tracing.REQUEST_ID: "abc-2"}

    def test_of_an_error_the_class_alone_is_told(self, receiver: Receiver, db: None) -> None:
        def fail() -> None:
            raise ValueError(f"{SAID} has a cold")

        with pytest.raises(JobError):
            run_job("tested", fail)
        with pytest.raises(ValueError), span("block", said=f"{SAID} has a cold", count=3):
            fail()
        tracing.flush()
        assert {one.status.message for one in receiver.spans()} == {"JobError", "ValueError"}
        assert {one.status.code for one in receiver.spans()} == {Status.STATUS_CODE_ERROR}
        assert [list(one.events) for one in receiver.spans()] == [[], []]
        assert attributes(receiver.named("block")[0]) == {"count": 3}
        assert SAID.encode() not in b"".join(receiver.bodies)


class TestDescribed:
    @pytest.mark.parametrize("said", ["two words", "", "Ä", "x" * 161, "a\nb"])
    def test_what_is_no_plain_word_is_left_out(self, said: str) -> None:
        assert tracing.described({"a": said, "b": 1, "c": "gpt-5", "d": True}) == {"b": 1, "c": "gpt-5", "d": True}

    def test_the_id_of_the_request_is_added(self) -> None:
        with request_id("abc-3"):
            assert tracing.described({}) == {tracing.REQUEST_ID: "abc-3"}


def _work_in_a_child() -> None:
    with span("in a child"):
        pass


class TestProcesses:
    def test_a_forked_worker_sends_its_own_and_what_waits_at_its_end(self, receiver: Receiver) -> None:
        with span("before"):
            worker = multiprocessing.get_context("fork").Process(target=_work_in_a_child)
            worker.start()
            worker.join(60)
        assert worker.exitcode == 0
        receiver.wait_for("in a child")
        tracing.flush()
        assert len(receiver.named("before")) == 1

    def test_a_command_sends_what_waits_at_its_end(self, receiver: Receiver) -> None:
        script = "import django; django.setup(); from memory.ports.tracing import span\nwith span('in a command'): pass"
        _run(script, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.address, OTEL_EXPORTER_OTLP_HEADERS="x-key=secret%20word")
        assert len(receiver.named("in a command")) == 1
        assert receiver.headers[0]["x-key"] == "secret word"

    def test_a_collector_that_is_away_delays_no_request_and_the_end_for_seconds_only(self) -> None:
        script = (
            "import django; django.setup(); from memory.ports.tracing import span\nwith span('x'): pass\nprint('done')"
        )
        done = _run(script, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9")
        assert "done" in done.stdout

    def test_a_job_does_not_wait_for_a_collector(self, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
        with span("in a worker"):
            pass
        tracing.flush()
        assert receiver.bodies == []
        monkeypatch.undo()
        tracing.flush()
        assert receiver.named("in a worker")


class TestSettings:
    def test_off_is_the_default_and_imports_nothing(self) -> None:
        script = (
            "import sys, django; django.setup(); import django.core.handlers.wsgi as w; w.WSGIHandler(); "
            "print([name for name in sys.modules if name.startswith('opentelemetry')])"
        )
        assert _run(script, TRACING="off").stdout.strip().endswith("[]")

    def test_without_an_address_nothing_starts(self) -> None:
        assert "OTEL_EXPORTER_OTLP_ENDPOINT" in _run("import django; django.setup()", well=False).stderr

    def test_without_the_packages_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("config.settings.tracing.PACKAGES", ("opentelemetry_that_is_not_there.sdk",))
        with pytest.raises(SettingError, match=r"pip install --no-deps --require-hashes -r requirements/tracing\.txt"):
            traces_address("http://localhost:4318", "")

    @pytest.mark.parametrize(
        "address", ["localhost:4318", "grpc://host:4317", "http://", "http://host:99999", "http://me:pass@host:4318"]
    )
    def test_what_is_no_address_is_refused_and_not_repeated(self, address: str) -> None:
        with pytest.raises(SettingError) as refused:
            traces_address(address, "")
        assert "pass" not in str(refused.value)

    def test_the_address_of_traces_is_taken_as_it_is(self) -> None:
        assert traces_address("http://a:4318/", "") == "http://a:4318/v1/traces"
        assert traces_address("http://a:4318", "https://b/x") == "https://b/x"


def _run(script: str, *, well: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TRACING": "otlp", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode == 0) == well, done.stderr
    return done


def test_it_is_off_in_tests() -> None:
    found: Any = settings.TRACING
    assert found == "off"
