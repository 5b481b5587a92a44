"""What a server finds too large is sent in smaller parts, and each part's vectors stand at their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from memory.errors import EmbedderUnavailable, LanguageModelUnavailable
from memory.ports import ChatMessage
from memory.providers.http_embedder import SHORTEST_CUT, HttpEmbedder
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.providers.openai_embedder import OpenAiEmbedder
from tests.contract.providers import loopback_server as loopback
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, Script, as_json

Serve = Callable[[Script], LoopbackServer]
# How servers say it: as itself, or with another status and words. The last one calls it a fault of its own.
REFUSALS = [
    as_json({"error": "batch size 64 > maximum allowed batch size 4"}, 413),
    Reply(413),
    as_json({"error": {"message": "This model's maximum context length is 8192 tokens."}}, 400),
    as_json({"error": {"message": "'$.input' is invalid: array too long."}}, 400),
    as_json({"detail": "Input length is too large"}, 422),
    as_json({"error": {"code": 500, "message": "input (3001 tokens) is too large to process."}}, 500),
]


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def made(opened: ExitStack) -> Callable[..., HttpEmbedder]:
    def make(server: LoopbackServer, kind: type[HttpEmbedder] = OpenAiEmbedder) -> HttpEmbedder:
        embedder = kind(base_url=server.address, model="m")
        opened.callback(embedder.close)
        return embedder

    return make


def sizes(server: LoopbackServer) -> list[int]:
    return [len(request.body["input"]) for request in server.received]


def at_most(texts: int, reply: Reply, answer: Script = loopback.openai) -> Script:
    """Refuse more texts than a number."""
    return lambda request: reply if len(request.body["input"]) > texts else answer(request)


def no_longer_than(characters: int, reply: Reply) -> Script:
    """Refuse a request with a text that is longer than a number."""

    def script(request: Received) -> Reply:
        longest = max(len(text) for text in request.body["input"])
        return reply if longest > characters else loopback.openai(request)

    return script


@pytest.mark.parametrize("reply", REFUSALS)
def test_a_batch_is_halved_until_it_fits(serve: Serve, made: Callable[..., HttpEmbedder], reply: Reply) -> None:
    server = serve(at_most(4, reply))
    texts = [f"text {number}" for number in range(13)]
    vectors = made(server).embed(texts)
    assert (vectors == made(serve(loopback.openai)).embed(texts)).all()
    assert sizes(server) == [13, 7, 4, 3, 6, 3, 3]


def test_what_fits_is_remembered(serve: Serve, made: Callable[..., HttpEmbedder]) -> None:
    server = serve(at_most(4, Reply(413)))
    embedder = made(server)
    embedder.embed(["a"] * 8)
    server.received.clear()
    embedder.embed(["a"] * 8)
    assert sizes(server) == [4, 4]


def test_one_text_that_is_too_long_makes_no_smaller_batches(serve: Serve, made: Callable[..., HttpEmbedder]) -> None:
    server = serve(no_longer_than(3_000, Reply(413)))
    embedder = made(server)
    vectors = embedder.embed(["a", "b", "c" * 5_000, "d"])
    assert vectors.shape == (4, loopback.WIDTH)
    assert (vectors[2] == made(serve(loopback.openai)).embed(["c" * 2_500])[0]).all()
    server.received.clear()
    embedder.embed(["a"] * 8)
    assert sizes(server) == [8]


def test_ollama_is_asked_in_smaller_parts_too(serve: Serve, made: Callable[..., HttpEmbedder]) -> None:
    reply = as_json({"error": "the input length exceeds the context length"}, 400)
    server = serve(at_most(2, reply, loopback.ollama_current))
    assert made(server, OllamaEmbedder).embed(["a", "b", "c"]).shape == (3, loopback.WIDTH)


def test_a_text_that_is_short_already_is_given_up(serve: Serve, made: Callable[..., HttpEmbedder]) -> None:
    server = serve(lambda _: Reply(413))
    with pytest.raises(EmbedderUnavailable) as caught:
        made(server).embed(["x" * 3_000])
    assert caught.value.details == {"input_refused": True}
    assert caught.value.__suppress_context__
    lengths = [len(request.body["input"][0]) for request in server.received]
    assert lengths == [3_000, 1_500, 750]
    assert lengths[-1] < 2 * SHORTEST_CUT


@pytest.mark.parametrize("reply", [as_json({"error": "no such field"}, 400), as_json({"error": "odd"}, 422)])
def test_another_refusal_is_not_halved(serve: Serve, made: Callable[..., HttpEmbedder], reply: Reply) -> None:
    server = serve(lambda _: reply)
    with pytest.raises(EmbedderUnavailable):
        made(server).embed(["a", "b"])
    assert sizes(server) == [2]


def test_a_prompt_that_is_too_large_is_not_asked_again(serve: Serve) -> None:
    server = serve(lambda _: as_json({"error": {"message": "the request exceeds the available context length"}}, 500))
    model: Any = ChatLanguageModel(Routes({}, model="m", base_url=server.address), base_url=server.address)
    with pytest.raises(LanguageModelUnavailable) as caught:
        model.complete([ChatMessage("user", "x")], component="test")
    model.close()
    assert caught.value.details == {"input_refused": True}
    assert len(server.received) == 1
