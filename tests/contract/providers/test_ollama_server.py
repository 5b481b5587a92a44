"""Ollama as a server of models: whether it is there, what it has, and fetching, with every way that can fail."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from typing import Any

import pytest

from memory.errors import EmbedderUnavailable, OllamaUnavailable
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.providers.ollama_server import OllamaServer, Progress, _told, tagged
from memory.providers.outbound import recording
from tests.contract.providers.loopback_server import LoopbackServer, Reply, as_json
from tests.ollama_like import WIDTH, OllamaLike

MODEL = "nomic-embed-text"
KEY = "sk-very-secret-0123456789"


@pytest.fixture
def ollama() -> Iterator[OllamaLike]:
    with OllamaLike("llama3.2:3b") as server:
        yield server


@pytest.fixture
def server(ollama: OllamaLike) -> Iterator[OllamaServer]:
    with closing(OllamaServer(base_url=f"{ollama.address}/v1", api_key=KEY)) as made:
        yield made


def pulled(server: OllamaServer, model: str = MODEL) -> list[Progress]:
    with server.pull(model, seconds=30.0) as told:
        return list(told)


def refusal(server: OllamaServer, model: str = MODEL) -> OllamaUnavailable:
    with pytest.raises(OllamaUnavailable) as caught:
        pulled(server, model)
    assert caught.value.__cause__ is None
    assert KEY not in str(caught.value)
    return caught.value


def test_it_tells_its_version_and_what_it_has(server: OllamaServer, ollama: OllamaLike) -> None:
    assert server.version() == "0.9.6"
    assert server.models() == ["llama3.2:3b"]
    assert server.has("llama3.2:3b")
    assert server.has("Llama3.2:3B")
    assert not server.has("llama3.2")
    assert ollama.headers["Authorization"] == f"Bearer {KEY}"
    assert server.loopback


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("tiny", "tiny:latest"),
        (" Tiny:Q4 ", "tiny:q4"),
        ("host:5000/a/tiny", "host:5000/a/tiny:latest"),
        ("hf.co/a/tiny:q4", "hf.co/a/tiny:q4"),
    ],
)
def test_a_name_without_a_tag_is_the_latest(name: str, full: str) -> None:
    assert tagged(name) == full


def test_a_fetch_tells_how_far_it_is_over_all_parts(server: OllamaServer, ollama: OllamaLike) -> None:
    told = pulled(server)
    assert told[0] == Progress("pulling manifest")
    assert told[-1] == Progress("success", 1_000_000, 1_000_000)
    assert Progress(told[3].status, 300_000, 600_000) in told
    assert [one.completed for one in told] == sorted(one.completed for one in told)
    assert {one.percent for one in told} >= {None, 0, 25, 50, 100}
    assert not told[-1].loading
    assert any(one.loading for one in told)
    assert server.has(MODEL)


def test_what_is_fetched_embeds_with_the_width_that_it_shows(server: OllamaServer, ollama: OllamaLike) -> None:
    with closing(OllamaEmbedder(base_url=ollama.address, model=MODEL)) as embedder:
        with pytest.raises(EmbedderUnavailable) as caught:
            embedder.embed(["a"])
        assert caught.value.machine_code == "embedder.model_missing"
        pulled(server)
        assert embedder.dimension == WIDTH


def test_nothing_of_anybody_is_recorded_for_it(server: OllamaServer) -> None:
    before = recording.unowned().get("models", 0)
    server.version()
    assert recording.unowned()["models"] == before + 1


def test_an_unknown_model_is_refused_in_its_own_words(server: OllamaServer) -> None:
    error = refusal(server, "no-such-model")
    assert error.machine_code == "ollama.fetch_failed"
    assert "file does not exist" in error.message


def test_an_error_half_way_ends_it_and_the_next_one_goes_on(server: OllamaServer, ollama: OllamaLike) -> None:
    ollama.shop.error = "max retries exceeded:\n unexpected EOF \x1b[31m" + "x" * 500
    error = refusal(server)
    assert "max retries exceeded: unexpected EOF" in error.message
    assert "\x1b" not in error.message
    assert len(error.message) < 300
    ollama.shop.error = ""
    assert pulled(server)[1].completed == 300_000


def test_a_server_that_breaks_off_is_told_so(server: OllamaServer, ollama: OllamaLike) -> None:
    ollama.shop.breaks = True
    assert "broke" in refusal(server).message


def test_who_leaves_the_block_lets_the_server_leave_off(server: OllamaServer, ollama: OllamaLike) -> None:
    ollama.shop.gate = threading.Event()
    with server.pull(MODEL, seconds=30.0) as told:
        for progress in told:
            if progress.completed:
                break
    assert ollama.left_off.wait(10)
    assert not server.has(MODEL)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (as_json({"error": "pull model manifest: 401"}, 500), "pull model manifest: 401"),
        (as_json({"error": "invalid model name"}, 400), "invalid model name"),
        (Reply(404, b"404 page not found"), "status 404"),
        (Reply(502, b"<html>"), "status 502"),
        (Reply(body=b"<html>\n"), "something else than JSON"),
        (Reply(body=b"x" * 100_000), "more data than is allowed"),
        (Reply(body=b"[]\n"), "another form than agreed"),
        (Reply(body=b'{"status": "pulling manifest"}\n'), "broke the fetch off"),
        (Reply(body=b""), "broke the fetch off"),
        (Reply(close=True), "broke the connection off"),
    ],
)
def test_an_unusable_answer_is_one_clear_error(reply: Reply, reason: str) -> None:
    with LoopbackServer(lambda _: reply) as other, closing(OllamaServer(base_url=other.address)) as server:
        assert reason in refusal(server).message
        assert len(other.received) == 1


@pytest.mark.parametrize("total", [-1, "many", 1.5, True, 2**60, None])
def test_numbers_that_cannot_be_are_none(total: Any) -> None:
    lines = [{"status": "pulling a", "digest": "sha256:a", "completed": 5, "total": total}, {"status": "success"}]
    body = b"\n".join(json.dumps(line).encode() for line in lines)
    with LoopbackServer(lambda _: Reply(body=body)) as other, closing(OllamaServer(base_url=other.address)) as server:
        assert pulled(server)[-1] == Progress("success")


def test_a_part_that_is_told_anew_counts_once() -> None:
    lines = [
        {"status": "pulling", "digest": "sha256:a", "completed": 5, "total": 10},
        {"status": "pulling", "digest": "sha256:b", "completed": 1, "total": 7},
        {"status": "pulling", "digest": "sha256:a", "completed": 2, "total": 8},
        {"status": "success"},
    ]
    found = [(one.completed, one.total) for one in _told(iter(lines))]
    assert found == [(5, 10), (6, 17), (3, 15), (3, 15)]


def test_more_parts_than_a_model_can_have_are_refused() -> None:
    lines = ({"status": "pulling", "digest": f"sha256:{number}", "total": 1} for number in count())
    with pytest.raises(OllamaUnavailable, match="another form"):
        deque(_told(lines), maxlen=0)


def test_another_server_is_not_taken_for_it() -> None:
    with LoopbackServer(lambda _: Reply()) as other, closing(OllamaServer(base_url=other.address)) as server:
        with pytest.raises(OllamaUnavailable) as caught:
            server.version()
        assert caught.value.machine_code == "ollama.other"


def test_nobody_listening_is_reported() -> None:
    with OllamaLike() as ended:
        server = OllamaServer(base_url=ended.address)
    with pytest.raises(OllamaUnavailable, match="cannot be reached"):
        server.version()
    assert "cannot be reached" in refusal(server).message


@pytest.mark.parametrize("name", ["", " ", "a b", "x" * 201, "a\nb", "\N{SNOWMAN}"])
def test_what_is_no_name_is_not_asked_for(server: OllamaServer, ollama: OllamaLike, name: str) -> None:
    with pytest.raises(ProviderMisconfigured):
        pulled(server, name)
    assert not ollama.asked
