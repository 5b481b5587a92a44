"""Every way a server can fail is one clear error, without the key, the address or a word of the texts."""

from __future__ import annotations

import json
import re
import socket
import threading
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from memory.errors import EmbedderUnavailable
from memory.providers.http_embedder import Batching, HttpEmbedder
from memory.providers.json_over_http import Limits
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.providers.openai_embedder import OpenAiEmbedder
from tests.contract.providers.loopback_server import (
    WIDTH,
    LoopbackServer,
    Received,
    Reply,
    Script,
    as_json,
    ollama_current,
    ollama_legacy,
    openai,
    vector,
)

Serve = Callable[[Script], LoopbackServer]
KEY = "sk-very-secret-0123456789"
TEXT = "Caroline hides her diary under the violet cushion"
QUICK = Limits(connect_seconds=0.5, read_seconds=0.3, total_seconds=2.0, response_bytes=200_000)


def made(address: str, kind: type[HttpEmbedder] = OpenAiEmbedder, **options: Any) -> HttpEmbedder:
    embedder = kind(base_url=address, model="some-model", **{"api_key": KEY, "limits": QUICK, **options})
    OPENED.append(embedder)
    return embedder


OPENED: list[HttpEmbedder] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def refusal(embedder: HttpEmbedder, texts: list[str] | None = None) -> EmbedderUnavailable:
    """Embed, expect a refusal, and check that nothing private is in it, its cause or the object itself."""
    with pytest.raises(EmbedderUnavailable) as caught:
        embedder.embed(texts or [TEXT])
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.details) + repr(embedder)
    for private in (KEY, "violet", "127.0.0.1"):
        assert private not in shown
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return caught.value


def rows(*embeddings: Any) -> Reply:
    return as_json({"data": [{"index": i, "embedding": e} for i, e in enumerate(embeddings)]})


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (rows(), "0 vectors for 1 texts"),
        (rows(vector("a"), vector("b")), "2 vectors for 1 texts"),
        (Reply(body=b'{"data": [{"index": 0, "embedding": [NaN, 1]}]}'), "not a finite number"),
        (Reply(body=b'{"data": [{"index": 0, "embedding": [1e999, 1]}]}'), "not a finite number"),
        (rows([0.0] * WIDTH), "zero vector"),
        (rows([None] * WIDTH), "rows of numbers"),
        (rows("AAAA"), "rows of numbers"),
        (rows([]), "width 0"),
        (Reply(body=b"<html>violet</html>"), "something else than JSON"),
        (Reply(body=b""), "something else than JSON"),
        (Reply(body=b'{"data": [{"index"'), "something else than JSON"),
        (Reply(body=b"[" * 100_000), "something else than JSON"),
        (Reply(body=b"\xff\xfe\x00violet"), "something else than JSON"),
        (as_json({"error": f"bad input: {TEXT} {KEY}"}), "another form than agreed"),
        (as_json({"data": "violet"}), "another form than agreed"),
        (as_json({"data": [3]}), "another form than agreed"),
        (as_json([]), "another form than agreed"),
        (as_json(None), "another form than agreed"),
        (as_json({"data": [{"index": 7, "embedding": vector("a")}]}), "another form than agreed"),
        (as_json({"data": [{"index": None, "embedding": vector("a")}]}), "another form than agreed"),
        (as_json({"data": [{"index": "x", "embedding": vector("a")}]}), "another form than agreed"),
        (as_json({"error": TEXT}, 400), "refuses the request .status 400"),
        (as_json({"error": TEXT}, 401), "refuses the key .status 401"),
        (as_json({"error": TEXT}, 403), "refuses the key .status 403"),
        (as_json({"error": TEXT}, 404), "no such address or model"),
        (Reply(413, b"x" * 500_000), "refuses the request .status 413"),
        (Reply(302, b"", {"Location": "http://127.0.0.1:1/violet"}), "redirect .status 302"),
        (Reply(body=b"x" * 300_000), "more data than is allowed"),
        (Reply(body=b"\x1f\x8b", headers={"Content-Encoding": "gzip"}), "encoding that was not asked for"),
        (Reply(500, TEXT.encode()), "failed .status 500"),
        (Reply(503, b""), "failed .status 503"),
        (Reply(close=True), "broke the connection off"),
        (Reply(body=b"{}", headers={"Content-Length": "999"}), "did not answer in time"),
    ],
)
def test_an_unusable_answer_is_one_clear_error(serve: Serve, reply: Reply, reason: str) -> None:
    server = serve(lambda _: reply)
    error = refusal(made(server.address))
    assert error.code == "embedder.unavailable"
    assert re.search(reason, error.message), error.message


def test_indexes_that_repeat_are_refused(serve: Serve) -> None:
    server = serve(lambda _: as_json({"data": [{"index": 0, "embedding": vector("a")}] * 2}))
    assert "another form" in refusal(made(server.address), ["a", "b"]).message


def test_rows_without_any_index_count_as_ordered(serve: Serve) -> None:
    server = serve(lambda r: as_json({"data": [{"embedding": vector(text)} for text in r.body["input"]]}))
    plain, indexed = made(server.address), made(serve(openai).address)
    assert (plain.embed(["a", "b", "c"]) == indexed.embed(["a", "b", "c"])).all()


def test_a_changed_width_is_refused_and_the_first_one_stays(serve: Serve) -> None:
    widths = iter([8, 9, 8])
    server = serve(lambda r: rows(*(vector(text, next(widths)) for text in r.body["input"])))
    embedder = made(server.address)
    assert embedder.dimension == 8
    assert "width 9; its width is 8" in refusal(embedder).message
    assert embedder.embed([TEXT]).shape == (1, 8)


def test_a_width_known_from_before_binds_the_first_answer(serve: Serve) -> None:
    embedder = made(serve(openai).address, dimension=12)
    assert embedder.dimension == 12
    assert f"width {WIDTH}; its width is 12" in refusal(embedder).message


def test_one_bad_batch_fails_the_whole_call(serve: Serve) -> None:
    def script(request: Received) -> Reply:
        return as_json({"error": TEXT}, 422) if "bad" in request.body["input"] else openai(request)

    embedder = made(serve(script).address, batching=Batching(most_texts=2))
    error = refusal(embedder, ["a", "b", "c", "bad"])
    assert error.details == {"input_refused": True}


def test_nobody_listening_is_tried_three_times_and_reported() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert "cannot be reached" in refusal(made(address)).message


def test_a_silent_server_is_given_up_without_a_second_request(serve: Serve) -> None:
    server = serve(lambda _: Reply(before=lambda: server.hang()))
    assert "did not answer in time" in refusal(made(server.address)).message
    assert len(server.received) == 1


def test_a_dripping_server_is_given_up_at_the_deadline(serve: Serve) -> None:
    wait = threading.Event()
    server = serve(lambda _: Reply(body=b" " * 2_000, drip=lambda: wait.wait(0.05)))
    limits = Limits(connect_seconds=0.5, read_seconds=0.5, total_seconds=0.6)
    assert "did not finish its answer in time" in refusal(made(server.address, limits=limits)).message


def failing_first(times: int, reply: Reply) -> Script:
    left = iter(range(times))
    return lambda request: reply if next(left, None) is not None else openai(request)


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500),
        Reply(502),
        Reply(429),
        Reply(429, headers={"Retry-After": "0"}),
        Reply(503, headers={"Retry-After": format_datetime(datetime.now(UTC) - timedelta(hours=1))}),
        Reply(429, headers={"Retry-After": "soon"}),
        Reply(429, headers={"Retry-After": "-5"}),
        Reply(close=True),
    ],
)
def test_two_passing_failures_are_ridden_out(serve: Serve, reply: Reply) -> None:
    server = serve(failing_first(2, reply))
    assert made(server.address).embed([TEXT]).shape == (1, WIDTH)
    assert len(server.received) == 3


def test_a_third_failure_ends_it(serve: Serve) -> None:
    server = serve(failing_first(3, Reply(503)))
    assert "status 503" in refusal(made(server.address)).message
    assert len(server.received) == 3


def test_a_wait_beyond_the_deadline_is_not_begun(serve: Serve) -> None:
    server = serve(lambda _: Reply(429, headers={"Retry-After": "3600"}))
    assert "slow down" in refusal(made(server.address)).message
    assert len(server.received) == 1


def test_the_wait_that_is_asked_for_is_kept(serve: Serve) -> None:
    server = serve(failing_first(1, Reply(429, headers={"Retry-After": "1"})))
    limits = Limits(connect_seconds=0.5, read_seconds=0.5, total_seconds=0.9)
    # One second does not fit into the deadline, so waiting it must not even begin; with more time it succeeds.
    assert "slow down" in refusal(made(server.address, limits=limits)).message
    assert made(server.address).embed([TEXT]).shape == (1, WIDTH)


def test_a_refused_request_is_not_repeated(serve: Serve) -> None:
    server = serve(lambda _: as_json({}, 400))
    refusal(made(server.address))
    assert len(server.received) == 1


def test_the_key_travels_in_one_header_only(serve: Serve) -> None:
    server = serve(openai)
    made(server.address).embed([TEXT])
    (request,) = server.received
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert KEY not in request.path + json.dumps(request.body)
    made(server.address, api_key="").embed([TEXT])
    assert "Authorization" not in server.received[-1].headers


def test_batches_keep_to_their_bounds_over_one_connection(serve: Serve) -> None:
    server = serve(openai)
    embedder = made(server.address, batching=Batching(most_texts=3, most_characters=25, longest_text=10))
    embedder.embed(["x" * 50] * 4 + ["y"] * 7)
    sizes = [[len(text) for text in request.body["input"]] for request in server.received]
    assert sizes == [[10, 10], [10, 10, 1], [1, 1, 1], [1, 1, 1]]
    assert server.connections == 1


@pytest.mark.parametrize("ending", ["", "/", "/v1", "/v1/"])
def test_the_version_in_the_address_counts_once(serve: Serve, ending: str) -> None:
    assert made(serve(openai).address + ending).dimension == WIDTH
    assert made(serve(ollama_current).address + ending, OllamaEmbedder).dimension == WIDTH


@pytest.mark.parametrize(
    ("script", "tried"),
    [
        (ollama_current, ["/api/embed"]),
        (ollama_legacy, ["/api/embed", "/api/embeddings"]),
        (openai, ["/api/embed", "/api/embeddings", "/v1/embeddings"]),
    ],
)
def test_ollama_finds_the_dialect_once_and_keeps_it(serve: Serve, script: Script, tried: list[str]) -> None:
    server = serve(script)
    embedder = made(server.address, OllamaEmbedder)
    embedder.embed(["a"])
    assert [request.path for request in server.received] == tried
    embedder.embed(["b"])
    assert [request.path for request in server.received] == [*tried, tried[-1]]


def test_ollama_looks_again_when_the_server_was_exchanged(serve: Serve) -> None:
    server = serve(ollama_legacy)
    embedder = made(server.address, OllamaEmbedder)
    before = embedder.embed(["a"])
    server.script = ollama_current
    assert (embedder.embed(["a"]) == before).all()


def test_ollama_without_the_model_says_how_to_get_it(serve: Serve) -> None:
    missing = {"error": 'model "some-model" not found, try pulling it first'}
    server = serve(lambda _: as_json(missing, 404))
    error = refusal(made(server.address, OllamaEmbedder))
    assert error.machine_code == "embedder.model_missing"
    assert "ollama pull" in error.message
    assert len(server.received) == 1


def test_a_server_that_speaks_none_of_the_dialects_is_named_so(serve: Serve) -> None:
    server = serve(lambda _: Reply(404, b"404 page not found"))
    assert "none of" in refusal(made(server.address, OllamaEmbedder)).message
    assert len(server.received) == 3


def test_an_ollama_failure_is_not_taken_for_another_dialect(serve: Serve) -> None:
    server = serve(lambda _: Reply(500))
    refusal(made(server.address, OllamaEmbedder))
    assert {request.path for request in server.received} == {"/api/embed"}


def test_a_proxy_of_the_environment_never_sees_loopback_traffic(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    assert made(serve(openai).address).embed([TEXT]).shape == (1, WIDTH)


def test_no_log_at_any_level_holds_the_key_or_a_text(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        made(serve(openai).address).embed([TEXT])
        refusal(made(serve(lambda _: Reply(500, TEXT.encode())).address))
    assert caplog.records
    assert KEY not in caplog.text
    assert "violet" not in caplog.text
