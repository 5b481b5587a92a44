"""What every reranker promises, whichever it is."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from memory.errors import RerankerUnavailable
from memory.ports import Reranker
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from memory.providers.rerankers.absent import NoReranker
from memory.providers.rerankers.cross_encoder_onnx import OnnxCrossEncoder
from memory.providers.rerankers.guarded import GuardedReranker
from memory.providers.rerankers.http import HttpReranker
from memory.providers.rerankers.llm_judge import LlmJudge
from memory.providers.rerankers.stub import StubReranker
from tests.contract.providers import cross_encoder_folder
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, Script, as_json

QUERY = "Where did Caroline go on Sunday?"
TEXTS = [
    "Caroline went to the lake on Sunday.",
    "a",
    "😀🎉👩‍👩‍👧",
    "記憶は宮殿の中にある",
    "Tom paints a violin.",
    "tabs\tand\nlines\r\n",
    "Caroline went to the lake on Sunday.",
    "word " * 3_000,
    "half a pair \ud83d and NUL \0 inside",
    "control \x01\x02\x7f characters",
]
BEST, WORST = 0, 3
WORD = re.compile(r"\w+")


def shared(query: str, text: str) -> int:
    return len(set(WORD.findall(query.casefold())) & set(WORD.findall(text.casefold())))


def documents(request: Received) -> Reply:
    """Answer as Cohere and Jina do, the best first to prove that `index` counts."""
    if request.path != "/v1/rerank":
        return Reply(404)
    query, texts = request.body["query"], request.body["documents"]
    assert request.body["top_n"] == len(texts)
    rows = [{"index": at, "relevance_score": shared(query, text) / 10} for at, text in enumerate(texts)]
    return as_json({"id": "x", "results": sorted(rows, key=lambda row: -row["relevance_score"])})


def texts_only(request: Received) -> Reply:
    """Answer as TEI does: a bare list, and a refusal of everything that has no `texts`."""
    if "texts" not in request.body:
        return as_json({"error": "Failed to deserialize: missing field `texts`", "error_type": "validation"}, 422)
    query = request.body["query"]
    rows = [{"index": at, "score": shared(query, text) / 10} for at, text in enumerate(request.body["texts"])]
    return as_json(sorted(rows, key=lambda row: -row["score"]))


def judge(request: Received) -> Reply:
    """Answer a prompt with marks, as a chat server does."""
    shown = json.loads(request.body["messages"][-1]["content"])
    marks = [{"index": n["index"], "score": min(10, 2 * shared(shown["question"], n["text"]))} for n in shown["notes"]]
    return as_json({"choices": [{"message": {"content": json.dumps({"scores": marks[::-1]})}}]})


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cross_encoder_folder.build(tmp_path_factory.mktemp("models") / "shared-words")


@pytest.fixture(params=["stub", "onnx", "onnx-two", "onnx-sub", "http", "http-texts", "llm", "guarded"])
def reranker(
    request: pytest.FixtureRequest, serve: Callable[[Script], LoopbackServer], folder: Path, tmp_path: Path
) -> Iterator[Reranker]:
    kind = request.param
    if kind == "stub":
        yield StubReranker()
    elif kind == "onnx":
        yield OnnxCrossEncoder(folder=folder, threads=1, seconds=60)
    elif kind == "onnx-two":
        yield OnnxCrossEncoder(folder=cross_encoder_folder.build(tmp_path, outputs=2), threads=1, seconds=60)
    elif kind == "onnx-sub":
        cross_encoder_folder.build(tmp_path)
        (tmp_path / "onnx").mkdir()
        (tmp_path / "model.onnx").rename(tmp_path / "onnx" / "model.onnx")
        yield OnnxCrossEncoder(folder=tmp_path, threads=1, seconds=60)
    elif kind == "llm":
        routes = Routes({}, model="m", base_url=serve(judge).address)
        chat = ChatLanguageModel(routes)
        yield LlmJudge(chat, local=True, model="m")
        chat.close()
    elif kind == "http-texts":
        made = HttpReranker(url=serve(texts_only).address)
        yield made
        made.close()
    else:
        made = HttpReranker(url=f"{serve(documents).address}/v1", model="m")
        yield GuardedReranker(made) if kind == "guarded" else made
        made.close()


def test_it_is_a_reranker_with_a_name(reranker: Reranker) -> None:
    assert isinstance(reranker, Reranker)
    assert reranker.provider
    assert reranker.local
    assert reranker.most_texts >= 20


def test_one_finite_score_a_text_in_their_order(reranker: Reranker) -> None:
    scores = reranker.rerank(QUERY, TEXTS)
    assert scores.shape == (len(TEXTS),)
    assert scores.dtype == np.float32
    assert np.isfinite(scores).all()
    assert scores[0] == scores[6]
    assert int(scores.argmax()) == BEST
    assert scores[BEST] > scores[4] >= scores[WORST]


def test_the_order_of_the_texts_does_not_change_their_scores(reranker: Reranker) -> None:
    forwards = reranker.rerank(QUERY, TEXTS)
    backwards = reranker.rerank(QUERY, TEXTS[::-1])
    assert np.abs(forwards - backwards[::-1]).max() < 1e-5


def test_no_text_gives_no_score(reranker: Reranker) -> None:
    scores = reranker.rerank(QUERY, [])
    assert scores.shape == (0,)
    assert scores.dtype == np.float32


def test_as_many_texts_as_it_says_and_not_one_more(reranker: Reranker) -> None:
    assert reranker.rerank(QUERY, ["lake"] * reranker.most_texts).shape == (reranker.most_texts,)
    with pytest.raises(ValueError, match="at most"):
        reranker.rerank(QUERY, ["lake"] * (reranker.most_texts + 1))


def test_many_threads_get_what_one_gets(reranker: Reranker) -> None:
    expected = reranker.rerank(QUERY, TEXTS)
    with ThreadPoolExecutor(4) as pool:
        for scores in pool.map(lambda _: reranker.rerank(QUERY, TEXTS), range(8)):
            assert np.abs(scores - expected).max() < 1e-5


def test_without_one_it_says_so() -> None:
    assert isinstance(NoReranker(), Reranker)
    for texts in ([], ["a"]):
        with pytest.raises(RerankerUnavailable, match="RERANKER_PROVIDER") as caught:
            NoReranker().rerank(QUERY, texts)
        assert caught.value.machine_code == "reranker.none"
