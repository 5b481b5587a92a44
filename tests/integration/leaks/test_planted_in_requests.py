"""Personal data in every part of requests that succeed and fail: none of it is logged, queued or told to others."""

from __future__ import annotations

import io
import json
import logging
import logging.config
from collections.abc import Callable, Iterator
from multiprocessing import Queue, Value
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import DatabaseError, DataError, OperationalError, connection
from django_q.models import OrmQ, Task
from django_q.monitor import monitor
from django_q.worker import worker
from pytest_django import Settings

from config.settings.logs import logging_configuration
from memory.api.views import memories as memory_views
from memory.api.views import recall as recall_views
from memory.crypto.keyring import keyring
from memory.models import DueWork
from memory.privacy.pii import scan
from memory.services import due_work
from memory.services.actors import Actor
from memory.services.clock import now
from tests.integration.api.conftest import API, Client
from tests.integration.keys.filled import stored_text
from tests.integration.leaks.encodings import personal_data, standing_in

SAMPLES = personal_data()
VALUES = {value for _, value in SAMPLES.values()}
TEXT = " ".join(text for text, _ in SAMPLES.values())


def groups(least: int = 90) -> Iterator[tuple[str, str]]:
    """Join samples, so that a few requests hold them all: texts, and values in the length of a tag."""
    texts, values = [], []
    for text, value in SAMPLES.values():
        texts.append(text)
        values.append(value)
        if len(" ".join(values)) > least:
            yield " ".join(texts), " ".join(values)
            texts, values = [], []
    yield " ".join(texts), " ".join(values)


GROUPS = list(groups())


class Captured:
    """What the product's own logging writes at its noisiest, in both of its forms, and what stands in the records."""

    def __init__(self) -> None:
        self.streams = {form: io.StringIO() for form in ("text", "json")}
        self.records: list[logging.LogRecord] = []

    def text(self) -> bytes:
        """Give everything that was written."""
        said = [stream.getvalue() for stream in self.streams.values()]
        return "\n".join([*said, *(record.getMessage() for record in self.records)]).encode()


class _Keeper(logging.Handler):
    def __init__(self, captured: Captured) -> None:
        super().__init__()
        self.captured = captured

    def emit(self, record: logging.LogRecord) -> None:
        self.captured.records.append(record)


@pytest.fixture
def captured(settings: Settings) -> Iterator[Captured]:
    """Log at DEBUG as the product's settings do, with a line for each request, into memory."""
    settings.ACCESS_LOG = True
    found = Captured()
    root = logging.getLogger()
    before, level = list(root.handlers), root.level
    for form, stream in found.streams.items():
        logging.config.dictConfig(logging_configuration(level="DEBUG", form=form))
        (handler,) = (one for one in root.handlers if isinstance(one, logging.StreamHandler) and one not in before)
        handler.setStream(stream)
        before.append(handler)
    root.handlers = [*before, _Keeper(found)]
    yield found
    root.handlers = [one for one in before if getattr(one, "stream", None) not in found.streams.values()]
    root.setLevel(level)


@pytest.fixture
def client(alice: Actor, make_client: Callable[..., Client]) -> Client:
    """An agent of Alice, whose client gives a crash's answer instead of raising it."""
    made = make_client(alice, "assistant", scopes=["memory:read", "memory:write", "memory:delete", "transfer"])
    made.raise_request_exception = False
    return made


def bodies() -> Iterator[tuple[str, str, Any]]:
    """Give requests that are taken and requests that are refused, with personal data in every place."""
    for text, value in GROUPS:
        draft = {"text": text, "tags": [value], "source": f"user:{value}", "speaker": value, "metadata": {value: value}}
        yield "post", "/memories", draft
        yield "post", "/recall", {"query": text, "explain": True}
        yield "post", "/context", {"query": value}
        yield "get", f"/memories?tag={quote(value, safe='')}", None
        yield "get", f"/graph/entities?q={quote(value, safe='')}", None
        yield "get", f"/memories/{quote(value, safe='')}", None
        yield "get", f"/{quote(value, safe='')}/{quote(text, safe='')}", None
        yield "get", f"/memories?{quote(value, safe='')}=1", None
        yield "get", f"/memories?cursor={quote(value, safe='')}", None
        yield "get", f"/memories?filter={quote(text, safe='')}", None
        yield (
            "post",
            "/memories",
            {"text": text, "kind": value, "scope": value, "occurred_at": value, "importance": value},
        )
        yield "post", "/memories", {"text": {"nested": value}, "tags": value, value: text}
        yield "post", "/graph/entities", {"name": value, "aliases": [value], "properties": {"x": value}}
        yield "post", "/turns", {"session": value, "turns": [{"text": text, "role": value}, {"text": text}]}
        yield "post", "/import", {"memories": [{"content": text, "kind": value}], "format": value}
        yield "post", "/agents", {"name": value}
        yield "put", "/memories", {"text": text}


def raw_bodies(client: Client) -> Iterator[Any]:
    """Send what is no JSON, too large, of another type, and headers full of personal data."""
    for text, value in GROUPS:
        for content, kind in (
            (f'{{"text": "{value}', "application/json"),
            (f"text={quote(text)}", "application/x-www-form-urlencoded"),
            (text, "text/plain"),
            (json.dumps({"text": text * 40_000})[: 1024 * 1024 + 100], "application/json"),
            (json.dumps({"text": text + "\0"}), "application/json"),
            ('{"text": "' + value + '\\ud800"}', "application/json"),
        ):
            yield client.generic("POST", f"{API}/memories", content, content_type=kind)
        for name in (
            "Idempotency-Key",
            "If-Match",
            "User-Agent",
            "X-Request-Id",
            "Accept",
            "Referer",
            "X-Forwarded-For",
        ):
            yield client.json("post", "/recall", {"query": value}, **{name: value})
    for _, value in SAMPLES.values():
        # A client that puts into its request's id what nothing tells from an id has put it into the log itself.
        if scan(value).matches:
            yield client.json("get", "/memories", **{"X-Request-Id": value})
    for _, value in GROUPS:
        yield Client().json("get", "/memories", Authorization=f"Bearer {value}")
        yield Client().json("get", "/memories", **{"X-Api-Key": f"loci_{value}_{value}"})
        yield Client().get(f"/memories/{quote(value, safe='')}/", {"q": value})
        yield Client().post("/login/", {"username": value, "password": value})


def clean(captured: Captured, capfd: pytest.CaptureFixture[str]) -> None:
    """Check that nothing that was planted stands in what was logged and written."""
    logging.getLogger("loci.test").debug("the capture works")
    out, err = capfd.readouterr()
    assert b"the capture works" in captured.text()
    assert standing_in(captured.text() + out.encode() + err.encode(), VALUES) == set()


def test_the_capture_would_find_it(captured: Captured) -> None:
    value = SAMPLES["email"][1]
    logging.getLogger("anything").debug("somebody said %s", value)
    assert standing_in(captured.text(), VALUES) == {value}


def test_nothing_is_logged_of_what_is_sent(
    client: Client, captured: Captured, capfd: pytest.CaptureFixture[str]
) -> None:
    statuses = {client.json(*one).status_code for one in bodies()}
    statuses |= {answer.status_code for answer in raw_bodies(client)}
    assert {200, 201, 400, 401, 403, 404, 405, 413, 415, 422} <= statuses
    assert 500 not in statuses
    lines = [record for record in captured.records if record.name == "loci.access"]
    assert len(lines) > len(SAMPLES)
    clean(captured, capfd)


ERRORS: list[Callable[[], Exception]] = [
    lambda: ValueError(TEXT),
    lambda: KeyError(TEXT),
    lambda: DataError(f"invalid input: {TEXT}"),
    lambda: OperationalError(f"DETAIL: Failing row contains ({TEXT})"),
    lambda: UnicodeEncodeError("ascii", TEXT, 0, 1, TEXT),
    lambda: RecursionError(TEXT),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error()).__name__)
def test_a_crash_of_a_view_tells_no_content(
    client: Client,
    captured: Captured,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Callable[[], Exception],
) -> None:
    """An exception whose message, cause and variables hold what somebody said."""

    def crash(**arguments: Any) -> Any:
        said = TEXT
        try:
            raise RuntimeError(said)
        except RuntimeError as cause:
            raise error() from cause

    monkeypatch.setattr(memory_views, "remember", crash)
    monkeypatch.setattr(recall_views, "recall", crash)
    for path, body in (("/memories", {"text": TEXT}), ("/recall", {"query": SAMPLES["email"][0]})):
        response = client.json("post", path, body, **{"Idempotency-Key": "once"})
        assert response.status_code in (500, 503), response.content
        assert standing_in(response.content, VALUES) == set()
    assert captured.records
    clean(captured, capfd)


def test_a_real_error_of_the_database_tells_no_content(
    client: Client, captured: Captured, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's own message quotes the value; here it quotes all of them."""

    def failing(**arguments: Any) -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT %s::integer", [TEXT])

    monkeypatch.setattr(memory_views, "remember", failing)
    response = client.json("post", "/memories", {"text": TEXT})
    assert response.status_code == 500
    assert standing_in(response.content, VALUES) == set()
    with pytest.raises(DatabaseError):
        connection.cursor().execute("SELECT 1 / 0")
    clean(captured, capfd)


def test_missing_keys_tell_no_content(
    alice: Actor, client: Client, captured: Captured, capfd: pytest.CaptureFixture[str]
) -> None:
    for text, _ in GROUPS[:2]:
        client.json("post", "/memories", {"text": text})
    keyring().destroy(alice.owner_id)
    statuses = set()
    for one in bodies():
        response = client.json(*one)
        statuses.add(response.status_code)
        assert b"enc:v" not in response.content
    assert statuses <= {401, 404, 503}
    assert 503 in statuses
    clean(captured, capfd)


def work(func: str) -> None:
    """Let the queue's own worker run a task and its monitor keep what came of it, in this process."""
    waiting, done = Queue(), Queue()  # type: ignore[var-annotated]
    task = {"id": uuid4().hex, "name": "planted", "func": func, "args": (), "kwargs": {}, "started": now()}
    for one in (task, "STOP"):
        waiting.put(one)
    worker(waiting, done, Value("f", -1))
    done.put("STOP")
    monitor(done)


@pytest.mark.django_db(transaction=True)
def test_a_crashed_job_leaves_no_content_in_the_queue(
    alice: Actor, captured: Captured, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(**arguments: Any) -> Any:
        raise ValueError(TEXT) from KeyError(TEXT)

    monkeypatch.setattr(due_work, "JOBS", {**due_work.JOBS, DueWork.ERASE: crash})
    DueWork.objects.create(owner_id=alice.owner_id, job=DueWork.ERASE, due_at=now())
    work("memory.tasks.run_due_work")
    failed = Task.objects.get(success=False)
    kept = " ".join(str(value) for value in Task.objects.filter(pk=failed.pk).values_list().get())
    assert "ValueError" in kept
    queue = " ".join(str(row.payload) for row in OrmQ.objects.all())
    assert standing_in((kept + queue).encode(), VALUES) == set()
    clean(captured, capfd)


def test_nothing_stands_in_a_table(alice: Actor, client: Client) -> None:
    """Kept answers, records of recalls, sessions, the queue, the lockout's table: everything that requests leave."""
    for number, one in enumerate(bodies()):
        client.json(*one, **{"Idempotency-Key": f"once {number} {sorted(VALUES)[number % len(VALUES)]}"})
    for _, value in GROUPS:
        Client().post("/login/", {"username": value, "password": value})
    everything = stored_text(alice).encode()
    assert b"enc:v1:" in everything
    assert standing_in(everything, VALUES) == set()
