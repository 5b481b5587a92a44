"""The id of a request: in its answer, its log lines, and the jobs that follow from it; and the line about a request."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import logging.config
import re
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from multiprocessing import Queue, Value
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import AsyncClient
from django.urls import include, path
from django_q.models import OrmQ, Success, Task
from django_q.monitor import monitor
from django_q.signing import SignedPackage
from django_q.worker import worker
from pytest_django import Settings

from config.settings.logs import logging_configuration
from memory import tasks
from memory.api.views import memories
from memory.file_answers import file_answer
from memory.ports.recorder import JobRan, add_recorder
from memory.ports.request_id import current_request_id, request_id
from memory.services import due_work
from memory.services.actors import Actor
from memory.services.job_runs import JobError, run_job
from memory.services.jobs import RUN_DUE_WORK, RUN_PURGES, call_worker
from memory.services.purge.queue import QueueTarget
from memory.services.purge.registry import Subject
from memory.services.purge.requests import begin_purge
from tests.integration.api.conftest import API, Client, problem, remember

MADE = re.compile(r"[0-9a-f]{32}")
KEPT = ["req-7", "0190b6a2-6f1e-7cc3-98c4-dc0c0c07398f", "4bf92f3577b34da6a3ce929d0e0e4736", "a" * 64, "edge_1.b"]
REPLACED = {
    "nothing": "",
    "newline": "one\nLINE forged",
    "return": "one\r\nSet-Cookie: a=b",
    "ten kilobytes": "a" * 10_240,
    "one too long": "a" * 65,
    "other letters": "zażółć",
    "blank": "two words",
    "quotes": 'a"b',
    "number": "123456789",
    "mail": "anna@example.org",
    "card": "4111-1111-1111-1111",
    "insurance": "123-45-6789",
    "account": "DE89370400440532013000",
    "address": "192.168.1.100",
    "key": "AKIAIOSFODNN7EXAMPLE",
    "agent key": "loci_3f9a1c07_Qm7xV2dKp0sLz8RtYb4NwHc6JgEa1UfXiO5TvMk3qZr",
    "header twice": "one,two",
}

meeting = threading.Barrier(2, timeout=20)
logger = logging.getLogger("loci.test")


def meet(request: HttpRequest) -> HttpResponse:
    """Say the id before and after another request has said its own."""
    before = current_request_id()
    meeting.wait()
    logger.warning("met")
    return HttpResponse(f"{before} {current_request_id()}")


async def meet_later(request: HttpRequest) -> HttpResponse:
    """Do the same in the event loop, with a thread of its own for the rest."""
    before = current_request_id()
    within = await sync_to_async(meet)(request)
    await asyncio.sleep(0)
    return HttpResponse(f"{before} {current_request_id()} {within.content.decode()}")


def pieces() -> Iterator[str]:
    """Give the id once for each piece."""
    for _ in range(3):
        logger.warning("a piece")
        yield f"{current_request_id()}\n"


def stream(request: HttpRequest) -> StreamingHttpResponse:
    """Answer in pieces."""
    return file_answer(request, pieces(), name="ids.txt", media_type="text/plain")


def call(request: HttpRequest) -> HttpResponse:
    """Call the workers."""
    return HttpResponse(call_worker(request.GET.get("task", RUN_DUE_WORK)))


urlpatterns = [
    path("meet", meet),
    path("meet-later", meet_later),
    path("stream", stream),
    path("call", call),
    path("", include("config.urls")),
]


@pytest.fixture
def own_addresses(settings: Settings) -> None:
    """Serve the views of this module, too."""
    settings.ROOT_URLCONF = __name__


@pytest.fixture(params=["text", "json"])
def written(request: pytest.FixtureRequest) -> Iterator[Callable[[], list[str]]]:
    """Give a function that gives the lines that were logged, in each form."""
    with logged(request.param) as lines:
        yield lines


@pytest.fixture
def objects() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """Give a function that gives the lines that were logged, as objects."""
    with logged("json") as lines:
        yield lambda: [json.loads(line) for line in lines()]


class logged:  # noqa: N801  (it is used like a function)
    """Log as the product does in a form, into memory."""

    def __init__(self, form: str, least: str = "INFO") -> None:
        self.form, self.least = form, least

    def __enter__(self) -> Callable[[], list[str]]:
        root, stream = logging.getLogger(), io.StringIO()
        self.before, self.level = list(root.handlers), root.level
        logging.config.dictConfig(logging_configuration(level=self.least, form=self.form))
        (handler,) = (one for one in root.handlers if one not in self.before)
        assert isinstance(handler, logging.StreamHandler)
        handler.setStream(stream)
        return lambda: stream.getvalue().splitlines()

    def __exit__(self, *_: object) -> None:
        logging.getLogger().handlers = self.before
        logging.getLogger().setLevel(self.level)


class TestAnswers:
    @pytest.mark.parametrize("given", KEPT)
    def test_a_short_plain_word_is_taken_over(self, agent: Client, given: str) -> None:
        assert agent.json("get", "/memories", **{"X-Request-ID": given})["X-Request-ID"] == given

    @pytest.mark.parametrize("given", REPLACED.values(), ids=REPLACED)
    def test_anything_else_is_replaced(self, agent: Client, given: str) -> None:
        answer = agent.get(f"{API}/memories", HTTP_X_REQUEST_ID=given)
        assert answer.status_code == 200
        assert MADE.fullmatch(answer["X-Request-ID"])

    def test_each_request_has_its_own(self, agent: Client) -> None:
        assert len({agent.json("get", "/memories")["X-Request-ID"] for _ in range(3)}) == 3
        assert current_request_id() == ""

    @pytest.mark.django_db
    @pytest.mark.parametrize("where", ["/login/", "/nothing", "/health/live", "/health/ready", "/api/v1/nothing"])
    def test_every_answer_has_one(self, anonymous: Client, where: str) -> None:
        assert anonymous.get(where, headers={"X-Request-ID": "req-7"})["X-Request-ID"] == "req-7"

    def test_an_internal_error_is_logged_under_it(
        self, agent: Client, monkeypatch: pytest.MonkeyPatch, written: Callable[[], list[str]]
    ) -> None:
        def fail(**_: Any) -> Any:
            raise RuntimeError("what somebody said")

        monkeypatch.setattr(memories, "remember", fail)
        answer = agent.json("post", "/memories", {"text": "x"}, **{"X-Request-ID": "req-7"})
        assert problem(answer, 500, "internal")["id"] == "req-7" == answer["X-Request-ID"]
        (line,) = [line for line in written() if "request failed" in line]
        assert "req-7" in line
        assert str(agent.actor.agent_id) in line
        assert "assistant" not in line


class TestLines:
    def test_a_line_of_a_request_names_it_and_the_agent(
        self, agent: Client, monkeypatch: pytest.MonkeyPatch, objects: Callable[[], Any]
    ) -> None:
        def away(**_: Any) -> Any:
            raise OperationalError("x")

        monkeypatch.setattr(memories, "remember", away)
        agent.json("post", "/memories", {"text": "x"}, **{"X-Request-ID": "req-7"})
        (line,) = [one for one in objects() if "database" in one["message"]]
        assert (line["request_id"], line["agent_id"]) == ("req-7", str(agent.actor.agent_id))

    def test_a_line_outside_names_nothing(self, written: Callable[[], list[str]]) -> None:
        logger.warning("alone")
        (line,) = written()
        assert "request_id" not in line
        assert "[" not in line

    def test_a_line_in_text_begins_as_ever(self) -> None:
        with logged("text") as lines, request_id("req-7"):
            logger.warning("together")
        assert lines()[0].endswith(" WARNING loci.test: [request_id=req-7] together")


@pytest.mark.usefixtures("own_addresses")
class TestAtTheSameTime:
    """Through Django's own asynchronous handler, as the web process runs it."""

    @pytest.mark.django_db(transaction=True)
    @pytest.mark.parametrize("where", ["meet", "meet-later"])
    def test_ids_of_two_requests_do_not_mix(self, where: str, objects: Callable[[], Any]) -> None:
        async def both() -> list[httpx.Response]:
            handler: Any = ASGIHandler()
            transport = httpx.ASGITransport(app=handler)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
                asked = (client.get(f"/{where}", headers={"X-Request-ID": one}) for one in ("first", "second"))
                return list(await asyncio.gather(*asked))

        for answer, expected in zip(asyncio.run(both()), ("first", "second"), strict=True):
            assert answer.headers["X-Request-ID"] == expected
            assert set(answer.text.split()) == {expected}
        said = [one["request_id"] for one in objects() if one["message"] == "met"]
        assert sorted(said) == ["first", "second"]

    def test_pieces_of_an_answer_are_made_under_it(
        self, anonymous: Client, settings: Settings, objects: Callable[[], Any]
    ) -> None:
        settings.ACCESS_LOG = True
        answer = anonymous.get("/stream", headers={"X-Request-ID": "req-7"})
        assert not [one for one in objects() if one["logger"] == "loci.access"]
        assert answer.getvalue() == b"req-7\n" * 3
        self._streamed(objects())

    def test_pieces_of_an_asynchronous_answer_are_made_under_it(
        self, settings: Settings, objects: Callable[[], Any]
    ) -> None:
        settings.ACCESS_LOG = True

        async def read() -> bytes:
            answer: Any = await AsyncClient().get("/stream", headers={"X-Request-ID": "req-7"})
            content: AsyncIterator[bytes] = answer.streaming_content
            return b"".join([piece async for piece in content])

        assert asyncio.run(read()) == b"req-7\n" * 3
        self._streamed(objects())

    @staticmethod
    def _streamed(lines: list[dict[str, Any]]) -> None:
        assert [one["request_id"] for one in lines if one["message"] == "a piece"] == ["req-7"] * 3
        (line,) = [one for one in lines if one["logger"] == "loci.access"]
        assert (line["request_id"], line["bytes"], line["route"]) == ("req-7", 18, "/stream")


class Told:
    """Keeps what it is told of jobs."""

    def __init__(self) -> None:
        self.jobs: list[JobRan] = []

    def recalled(self, observed: Any) -> None:
        """Pass over."""

    def model_called(self, call: Any) -> None:
        """Pass over."""

    def job_ran(self, ran: JobRan) -> None:
        """Keep it."""
        self.jobs.append(ran)

    def graph_read(self, read: Any) -> None:
        """Pass over."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    """A recorder."""
    monkeypatch.setattr("memory.ports.recorder._recorders", [])
    found = Told()
    add_recorder(found)
    return found


class TestJobs:
    @pytest.mark.usefixtures("own_addresses")
    @pytest.mark.django_db(transaction=True)
    def test_a_job_runs_under_the_id_of_the_request_that_called_for_it(
        self, anonymous: Client, monkeypatch: pytest.MonkeyPatch, objects: Callable[[], Any]
    ) -> None:
        def work() -> dict[str, int]:
            logger.warning("at work")
            return {"erase": 1}

        monkeypatch.setattr(due_work, "run_due_work", work)
        anonymous.get("/call", headers={"X-Request-ID": "req-7"})
        self._work_off()
        assert [one["request_id"] for one in objects() if one["message"] == "at work"] == ["req-7"]
        assert Success.objects.get(func=RUN_DUE_WORK).kwargs == {"request_id": "req-7"}

    @pytest.mark.django_db
    def test_what_nobody_asked_for_has_an_id_of_its_own(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen: list[str] = []

        def work() -> dict[str, int]:
            seen.append(current_request_id())
            return {}

        monkeypatch.setattr(due_work, "run_due_work", work)
        call_worker()
        assert SignedPackage.loads(OrmQ.objects.get().payload)["kwargs"] == {}
        tasks.run_due_work()
        tasks.run_due_work()
        assert all(MADE.fullmatch(one) for one in seen)
        assert len(set(seen)) == 2
        assert current_request_id() == ""

    def test_a_purge_is_worked_on_under_the_id_of_who_asked(
        self, alice: Actor, django_capture_on_commit_callbacks: Any
    ) -> None:
        with request_id("req-7"), django_capture_on_commit_callbacks(execute=True):
            begin_purge(actor=alice)
        package = SignedPackage.loads(OrmQ.objects.get().payload)
        assert (package["func"], package["kwargs"]) == (RUN_PURGES, {"request_id": "req-7"})

    def test_a_request_id_in_the_queue_is_no_trace_of_an_owner(self, alice: Actor) -> None:
        with request_id("req-7"):
            call_worker()
        assert QueueTarget().count(Subject(alice.owner_id, alice.owner_id)) == 0

    def test_recorders_are_told_how_a_job_went(self, told: Told) -> None:
        def fail() -> int:
            raise ValueError("what somebody said")

        assert run_job("counted", lambda: {"erase": 2, "names": "many"}) == {"erase": 2, "names": "many"}
        assert run_job("a number", lambda: 3) == 3
        assert run_job("silent", lambda: None) is None
        with pytest.raises(JobError):
            run_job("broken", fail)
        assert [(one.name, one.ok, dict(one.counts)) for one in told.jobs] == [
            ("counted", True, {"erase": 2}),
            ("a number", True, {"done": 3}),
            ("silent", True, {}),
            ("broken", False, {}),
        ]
        assert all(one.seconds >= 0 for one in told.jobs)

    @staticmethod
    def _work_off() -> None:
        waiting, done = Queue(), Queue()  # type: ignore[var-annotated]
        for one in (SignedPackage.loads(OrmQ.objects.get().payload), "STOP"):
            waiting.put(one)
        worker(waiting, done, Value("f", -1))
        done.put("STOP")
        monitor(done)
        assert not Task.objects.filter(success=False).exists()


class TestAccessLines:
    def test_there_are_none_unless_they_are_wanted(self, agent: Client, objects: Callable[[], Any]) -> None:
        agent.json("get", "/memories")
        assert not [one for one in objects() if one["logger"] == "loci.access"]

    def test_a_line_says_how_a_request_went_and_not_what_it_was(
        self, agent: Client, woman: Client, settings: Settings, objects: Callable[[], Any]
    ) -> None:
        memory = remember(agent, "Tea is warm.")
        settings.ACCESS_LOG = True
        answer = agent.json("get", f"/memories/{memory}", **{"X-Request-ID": "req-7", "User-Agent": "Planted"})
        woman.get("/", {"q": "planted"})
        woman.get("/health/live")
        Client().generic("PLANTED", "/planted/planted")
        lines = [one for one in objects() if one["logger"] == "loci.access"]
        first, second, third = lines
        assert first["level"] == "INFO"
        assert (
            first.items()
            >= {
                "method": "GET",
                "route": "/api/v1/memories/<str:memory_id>",
                "status": 200,
                "request_id": "req-7",
                "actor": "agent",
                "agent_id": str(agent.actor.agent_id),
                "bytes": len(answer.content),
            }.items()
        )
        assert first["ms"] > 0
        assert (second["route"], second["actor"]) == ("/", "person")
        assert "agent_id" not in second
        assert (third["method"], third["route"], third["actor"]) == ("other", "an unknown address", "nobody")
        said = json.dumps(lines).lower()
        assert "planted" not in said
        assert memory not in said
        assert "127.0.0.1" not in said

    def test_it_is_one_line_of_text_too(self, agent: Client, settings: Settings) -> None:
        settings.ACCESS_LOG = True
        with logged("text") as lines:
            agent.json("get", "/memories", **{"X-Request-ID": "req-7"})
        (line,) = lines()
        belonging = f"[request_id=req-7 agent_id={agent.actor.agent_id}]"
        assert f"INFO loci.access: {belonging} GET /api/v1/memories 200, " in line
