"""A server that sends the head of its answer byte by byte holds no call beyond the time that the call has."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing

import httpx
import pytest

from memory.errors import EmbedderUnavailable, LociError, RerankerUnavailable
from memory.providers.exchange_deadline import bounded
from memory.providers.json_over_http import JsonOverHttp, Limits, Unreachable
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from memory.providers.openai_embedder import OpenAiEmbedder
from memory.providers.outbound.tls import client_context
from memory.providers.rerankers.http import HttpReranker
from memory.providers.rerankers.llm_judge import LlmJudge

PAUSE_SECONDS = 0.2
# A wait for one byte is always short enough; only the whole is not.
LIMITS = Limits(connect_seconds=2.0, read_seconds=2.0, total_seconds=1.0)
# Five fit into the second; the rest is for a busy machine, and far below the 150 that the server has to send.
MOST_BYTES = 40

HEAD = b"HTTP/1.1 200 OK\r\nX-Slow: ".ljust(150, b"a")
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\n" * 6
CHUNK = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


class DrippingServer:
    """Takes requests one after the other and answers with the same bytes, one every 0.2 s, after some at once."""

    def __init__(self, dripped: bytes, at_once: bytes = b"") -> None:
        self.sent = 0
        self.requests = 0
        self._dripped = dripped
        self._at_once = at_once
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.settimeout(0.1)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        self._over.set()
        self._thread.join()
        self._listener.close()

    def _serve(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except TimeoutError:
                continue
            with connection:
                connection.settimeout(5)
                try:
                    self._answer(connection)
                except OSError:
                    continue

    def _answer(self, connection: socket.socket) -> None:
        connection.recv(65_536)
        self.requests += 1
        connection.sendall(self._at_once)
        for byte in self._dripped:
            if self._over.wait(PAUSE_SECONDS):
                return
            connection.sendall(bytes([byte]))
            self.sent += 1


@pytest.fixture
def drip() -> Iterator[Callable[..., DrippingServer]]:
    """Start dripping servers that end with the test."""
    started: list[DrippingServer] = []

    def start(dripped: bytes, at_once: bytes = b"") -> DrippingServer:
        started.append(DrippingServer(dripped, at_once))
        return started[-1]

    yield start
    for server in started:
        server.close()


def _rerank(address: str) -> None:
    with closing(HttpReranker(url=address, limits=LIMITS)) as reranker:
        reranker.rerank("q", ["a", "b"])


def _embed(address: str) -> None:
    with closing(OpenAiEmbedder(base_url=address, model="m", limits=LIMITS)) as embedder:
        embedder.embed(["a"])


def _judge(address: str) -> None:
    routes = Routes({"recall_rerank": {"timeout": 1.0}}, model="m", base_url=address)
    with closing(ChatLanguageModel(routes, base_url=address)) as chat:
        LlmJudge(chat, local=False).rerank("q", ["a", "b"])


@pytest.mark.parametrize(
    ("call", "error"),
    [
        pytest.param(_rerank, RerankerUnavailable, id="reranker"),
        pytest.param(_embed, EmbedderUnavailable, id="embedder"),
        pytest.param(_judge, RerankerUnavailable, id="language-model"),
    ],
)
def test_a_head_that_drips_is_given_up(
    drip: Callable[..., DrippingServer], call: Callable[[str], None], error: type[LociError]
) -> None:
    server = drip(HEAD)
    with pytest.raises(error, match="in time"):
        call(server.address)
    assert server.requests == 1
    assert server.sent <= MOST_BYTES


@pytest.mark.parametrize(
    ("dripped", "at_once", "reason"),
    [
        pytest.param(CONTINUED, b"", "did not answer in time", id="continue-for-ever"),
        pytest.param(b"1;" + b"a" * 150, CHUNK, "did not finish its answer in time", id="head-of-a-chunk"),
        pytest.param(HEAD, HEAD[:40], "did not answer in time", id="within-a-line"),
    ],
)
def test_nothing_of_an_answer_may_drip_for_ever(
    drip: Callable[..., DrippingServer], dripped: bytes, at_once: bytes, reason: str
) -> None:
    server = drip(dripped, at_once)
    provider = JsonOverHttp(server.address, kind="llm", limits=LIMITS)
    with closing(provider), pytest.raises(Unreachable, match=reason):
        provider.post(server.address, {})
    assert server.sent <= MOST_BYTES


def test_a_proxy_of_the_environment_is_held_to_the_same_time(
    drip: Callable[..., DrippingServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    server = drip(HEAD)
    for name in ("NO_PROXY", "no_proxy", "ALL_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", server.address)
    provider = JsonOverHttp("http://provider.invalid", kind="llm", limits=LIMITS)
    with closing(provider), pytest.raises(Unreachable, match="did not answer in time"):
        provider.post("http://provider.invalid/x", {})
    assert server.requests == 1
    assert server.sent <= MOST_BYTES


def test_a_call_after_one_that_was_given_up_has_its_own_time(drip: Callable[..., DrippingServer]) -> None:
    dripping = drip(HEAD)
    answering = drip(b"", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    with closing(JsonOverHttp(dripping.address, kind="llm", limits=LIMITS)) as provider:
        with pytest.raises(Unreachable):
            provider.post(dripping.address, {})
        assert provider.post(answering.address, {}).value() == {}


def test_a_transport_that_cannot_be_bounded_is_refused() -> None:
    client = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200)))
    with client, pytest.raises(TypeError, match="MockTransport"):
        bounded(client, proxy_tls=client_context())
