"""Every embedder, ready to use, for the shared contract."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from memory.ports import Embedder
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.providers.http_embedder import Batching
from memory.providers.minilm import MiniLmEmbedder
from memory.providers.ollama_embedder import OllamaEmbedder
from memory.providers.openai_embedder import OpenAiEmbedder
from memory.providers.stub_embedder import StubEmbedder
from tests.contract.providers import loopback_server as loopback

BATCHING = Batching(most_texts=5, most_characters=2_000, longest_text=800)


@pytest.fixture(scope="session")
def minilm(tmp_path_factory: pytest.TempPathFactory) -> MiniLmEmbedder:
    return MiniLmEmbedder(threads=1, directory=tmp_path_factory.mktemp("models") / "minilm")


@pytest.fixture
def serve() -> Iterator[Callable[[loopback.Script], loopback.LoopbackServer]]:
    """Start servers that end with the test."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(loopback.LoopbackServer(script))


@pytest.fixture(params=["local", "stub", "openai", "ollama", "ollama-legacy", "ollama-openai", "guarded"])
def embedder(
    request: pytest.FixtureRequest, serve: Callable[[loopback.Script], loopback.LoopbackServer]
) -> Iterator[Embedder]:
    kind = request.param
    if kind == "local":
        yield request.getfixturevalue("minilm")
        return
    if kind == "stub":
        yield StubEmbedder()
        return
    script = {
        "ollama": loopback.ollama_current,
        "ollama-legacy": loopback.ollama_legacy,
    }.get(kind, loopback.openai)
    server = serve(script)
    kind_of = OllamaEmbedder if kind.startswith("ollama") else OpenAiEmbedder
    made = kind_of(base_url=server.address, model="m", batching=BATCHING)
    yield GuardedEmbedder(made) if kind == "guarded" else made
    made.close()
