"""Every way a reranker can fail is one clear error, without the key, the address or a word of the texts."""

from __future__ import annotations

import importlib.util
import json
import socket
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory.errors import RerankerUnavailable
from memory.ports import Reranker
from memory.providers.json_over_http import Limits
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.rerankers.cross_encoder_onnx import OnnxCrossEncoder
from memory.providers.rerankers.fastembed import FastembedCrossEncoder
from memory.providers.rerankers.http import HttpReranker
from memory.providers.rerankers.llm_judge import LlmJudge
from memory.providers.unavailable import NoLanguageModel
from tests.contract.providers import cross_encoder_folder
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, Script, as_json

Serve = Callable[[Script], LoopbackServer]
KEY = "sk-very-secret-0123456789"
TEXTS = ["Caroline hides her diary under the violet cushion", "Tom paints"]
QUICK = Limits(connect_seconds=0.5, read_seconds=0.3, total_seconds=2.0, response_bytes=100_000)
OPENED: list[HttpReranker | ChatLanguageModel] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


def http(address: str, **options: Any) -> HttpReranker:
    made = HttpReranker(url=address, **{"model": "m", "api_key": KEY, "limits": QUICK, **options})
    OPENED.append(made)
    return made


def llm(address: str, **route: Any) -> LlmJudge:
    chat = ChatLanguageModel(
        Routes({"recall_rerank": route}, model="m", base_url=address), base_url=address, api_key=KEY
    )
    OPENED.append(chat)
    return LlmJudge(chat, local=False)


def refusal(reranker: Reranker) -> RerankerUnavailable:
    """Rerank, expect a refusal, and check that nothing private is in it, its cause or the object itself."""
    with pytest.raises(RerankerUnavailable) as caught:
        reranker.rerank("Where is the diary?", TEXTS)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.details) + repr(reranker)
    for private in (KEY, "violet", "127.0.0.1"):
        assert private not in shown
    return caught.value


def placed(*pairs: tuple[Any, Any]) -> Reply:
    return as_json({"results": [{"index": index, "score": score} for index, score in pairs]})


def raw(score: str) -> Reply:
    return Reply(body=b'{"results":[{"index":0,"score":%s},{"index":1,"score":1}]}' % score.encode())


def rows(*scores: Any) -> Reply:
    return as_json({"results": [{"index": at, "relevance_score": score} for at, score in enumerate(scores)]})


FORM = "something else than a list"
INDEX = "index that is not one of the texts"
NUMBER = "not a finite number"


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(rows(), "0 scores for 2 texts", id="none"),
        pytest.param(rows(1), "1 scores for 2 texts", id="too-few"),
        pytest.param(rows(1, 2, 3), "3 scores for 2 texts", id="too-many"),
        pytest.param(raw("NaN"), NUMBER, id="nan"),
        pytest.param(raw("1e999"), NUMBER, id="infinite"),
        pytest.param(rows(1e300, 1), NUMBER, id="beyond-single-precision"),
        pytest.param(rows(10**400, 1), NUMBER, id="huge-integer"),
        pytest.param(rows(None, 1), NUMBER, id="null"),
        pytest.param(rows("0.5", 1), NUMBER, id="text"),
        pytest.param(rows(True, 1), NUMBER, id="truth"),
        pytest.param(as_json({"results": [{"index": 0}, {"index": 1}]}), NUMBER, id="no-score"),
        pytest.param(placed((2, 1), (0, 1)), INDEX, id="out-of-range"),
        pytest.param(placed((-1, 1), (0, 1)), INDEX, id="negative"),
        pytest.param(placed((0, 1), (0, 2)), INDEX, id="twice"),
        pytest.param(as_json({"results": [{"score": 1}, {"score": 2}]}), INDEX, id="no-index"),
        pytest.param(placed((True, 1), (0, 2)), INDEX, id="true-index"),
        pytest.param(as_json({"results": ["violet", 3]}), "another form", id="rows-of-text"),
        pytest.param(as_json({"results": "violet"}), FORM, id="results-of-text"),
        pytest.param(as_json({"error": TEXTS[0]}), FORM, id="error-with-200"),
        pytest.param(as_json(None), FORM, id="null-answer"),
        pytest.param(Reply(body=b"<html>violet"), "something else than JSON", id="html"),
        pytest.param(Reply(body=b""), "something else than JSON", id="empty"),
        pytest.param(as_json({"error": TEXTS[0]}, 400), "refuses the request (status 400)", id="400"),
        pytest.param(as_json({"error": TEXTS[0]}, 401), "refuses the key (status 401)", id="401"),
        pytest.param(as_json({"error": TEXTS[0]}, 403), "refuses the key (status 403)", id="403"),
        pytest.param(as_json({"error": TEXTS[0]}, 404), "no such address or model", id="404"),
        pytest.param(as_json({"error": "texts are bad"}, 422), "refuses the request (status 422)", id="422-for-ever"),
        pytest.param(Reply(429, headers={"Retry-After": "900"}), "slow down", id="429"),
        pytest.param(Reply(500, TEXTS[0].encode()), "failed (status 500)", id="500"),
        pytest.param(Reply(302, b"", {"Location": "http://127.0.0.1:1/violet"}), "redirect", id="redirect"),
        pytest.param(Reply(body=b"x" * 200_000), "more data than is allowed", id="too-large"),
        pytest.param(Reply(close=True), "broke the connection off", id="broken-off"),
        pytest.param(Reply(body=b"{}", headers={"Content-Length": "999"}), "did not answer in time", id="half"),
    ],
)
def test_an_unusable_answer_of_a_server_is_one_clear_error(serve: Serve, reply: Reply, reason: str) -> None:
    server = serve(lambda _: reply)
    error = refusal(http(server.address))
    assert error.machine_code == "reranker.unavailable"
    assert reason in error.message


def test_a_server_that_hangs_is_given_up(serve: Serve) -> None:
    server = serve(lambda _: Reply(before=lambda: server.hang()))
    assert "did not answer in time" in refusal(http(server.address)).message


def test_nobody_listening_is_reported() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert "cannot be reached" in refusal(http(f"http://127.0.0.1:{unused.getsockname()[1]}")).message


def test_what_is_sent(serve: Serve) -> None:
    server = serve(lambda _: rows(0.5, 0.25))
    for address in (server.address, f"{server.address}/v2/rerank"):
        http(address).rerank("q", ["x" * 9_000, "half \ud83d"])
    first, second = server.received
    assert (first.path, second.path) == ("/rerank", "/v2/rerank")
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert first.body == {"model": "m", "query": "q", "documents": ["x" * 4_000, "half �"], "top_n": 2}


def test_the_form_that_a_server_wants_is_remembered(serve: Serve) -> None:
    def script(request: Received) -> Reply:
        if "texts" not in request.body:
            return as_json({"error": "missing field `texts`"}, 422)
        return as_json([{"index": 1, "score": 0.5}, {"index": 0, "score": 0.1}])

    server = serve(script)
    reranker = http(server.address)
    for _ in range(2):
        assert reranker.rerank("q", TEXTS).tolist() == pytest.approx([0.1, 0.5])
    assert ["texts" in request.body for request in server.received] == [False, True, True]


@pytest.mark.parametrize("url", ["", "ftp://x", "http://user:pw@host", "http://host/?key=1"])
def test_an_address_that_cannot_be_used_is_refused_at_once(url: str) -> None:
    with pytest.raises(ProviderMisconfigured, match="RERANKER_URL") as caught:
        HttpReranker(url=url)
    assert "pw" not in str(caught.value)


def test_only_a_server_of_this_machine_is_local() -> None:
    assert HttpReranker(url="http://localhost:1").local
    assert not HttpReranker(url="https://api.example.com").local


def answered(content: str) -> Reply:
    return as_json({"choices": [{"message": {"content": content}}]})


def marks(*scores: Any) -> str:
    return json.dumps({"scores": [{"index": at, "score": score} for at, score in enumerate(scores)]})


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        pytest.param(answered(marks(3)), "1 scores for 2 texts", id="too-few"),
        pytest.param(answered(marks(3, 11)), "outside 0 to 10", id="too-high"),
        pytest.param(answered(marks(-1, 3)), "outside 0 to 10", id="too-low"),
        pytest.param(answered(marks("7", 3)), NUMBER, id="text"),
        pytest.param(answered(marks(float("nan"), 3)), NUMBER, id="nan"),
        pytest.param(answered('{"scores": [7, 3]}'), "another form", id="bare-numbers"),
        pytest.param(answered('{"marks": []}'), "another form", id="other-name"),
        pytest.param(answered("[0:7] [1:3] violet"), "another form", id="prose"),
        pytest.param(answered(f"Here you are: {marks(7, 3)}"), "another form", id="prose-around"),
        pytest.param(answered(marks(7, 3)[:-5]), "another form", id="half"),
        pytest.param(answered(""), "without text", id="empty"),
        pytest.param(as_json({"error": TEXTS[0]}, 500), "failed (status 500)", id="500"),
    ],
)
def test_an_unusable_judgement_is_one_clear_error(serve: Serve, reply: Reply, reason: str) -> None:
    assert reason in refusal(llm(serve(lambda _: reply).address, timeout=2.0)).message


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"```json\n{marks(7, 2.5)}\n```", id="fenced"),
        pytest.param(f"<think>index 0 … {{}}</think>\n{marks(7, 2.5)}", id="after-thoughts"),
        pytest.param(marks(7, 2.5), id="bare"),
    ],
)
def test_a_judgement_may_stand_in_a_fence_or_after_thoughts(serve: Serve, content: str) -> None:
    assert llm(serve(lambda _: answered(content)).address).rerank("q", TEXTS).tolist() == [7, 2.5]


def test_what_a_judge_is_shown(serve: Serve) -> None:
    server = serve(lambda _: answered(marks(1, 2)))
    llm(server.address).rerank("q", ["x" * 900, "short"])
    body = server.received[0].body
    assert body["response_format"]["json_schema"]["name"] == "recall_rerank"
    shown = json.loads(body["messages"][1]["content"])
    assert shown == {"question": "q", "notes": [{"index": 0, "text": "x" * 400}, {"index": 1, "text": "short"}]}


def test_without_a_language_model_it_says_what_to_set() -> None:
    assert "LLM_BASE_URL" in refusal(LlmJudge(NoLanguageModel(), local=False)).message


def onnx(folder: Path, **options: Any) -> OnnxCrossEncoder:
    return OnnxCrossEncoder(folder=folder, **{"threads": 1, "seconds": 60.0, **options})


def test_a_pair_longer_than_the_model_takes_is_cut(tmp_path: Path) -> None:
    reranker = onnx(cross_encoder_folder.build(tmp_path, longest=16))
    scores = reranker.rerank("caroline lake", ["tom " * 200 + "caroline", "caroline " + "tom " * 200, "lake caroline"])
    assert scores.tolist() == [0, 1, 2]


def test_without_token_types_they_are_not_given(tmp_path: Path) -> None:
    # This one cannot tell query and text apart, so it finds nothing in common; what counts is that it runs.
    reranker = onnx(cross_encoder_folder.build(tmp_path, with_types=False))
    assert reranker.rerank("lake", ["lake", "tom"]).tolist() == [0, 0]


def test_a_model_that_gives_no_single_number_is_refused(tmp_path: Path) -> None:
    assert "one number for a pair" in refusal(onnx(cross_encoder_folder.build(tmp_path, outputs=3))).message


def test_a_model_with_other_inputs_is_refused(tmp_path: Path) -> None:
    assert "other inputs" in refusal(onnx(cross_encoder_folder.build(tmp_path, extra_input=True))).message


def test_a_broken_file_is_refused_and_a_repaired_one_taken(tmp_path: Path) -> None:
    cross_encoder_folder.build(tmp_path)
    whole = (tmp_path / "model.onnx").read_bytes()
    (tmp_path / "model.onnx").write_bytes(whole[: len(whole) // 2])
    reranker = onnx(tmp_path)
    assert "cannot be loaded" in refusal(reranker).message
    (tmp_path / "model.onnx").write_bytes(whole)
    assert reranker.rerank("lake", ["lake", "tom"]).tolist() == [1, 0]


def test_more_work_than_its_time_allows_is_given_up(tmp_path: Path) -> None:
    folder = cross_encoder_folder.build(tmp_path)
    assert "in time" in refusal(onnx(folder, seconds=1e-9)).message


@pytest.mark.parametrize("missing", ["tokenizer.json", "model.onnx"])
def test_a_folder_without_its_files_is_refused_at_once(tmp_path: Path, missing: str) -> None:
    cross_encoder_folder.build(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(ProviderMisconfigured, match="RERANKER_PATH") as caught:
        onnx(tmp_path)
    assert missing in caught.value.message


@pytest.mark.parametrize("kind", [OnnxCrossEncoder, FastembedCrossEncoder])
def test_no_folder_and_absurd_numbers_are_refused_at_once(
    tmp_path: Path, kind: type[OnnxCrossEncoder] | type[FastembedCrossEncoder]
) -> None:
    cross_encoder_folder.build(tmp_path)
    with pytest.raises(ProviderMisconfigured, match="RERANKER_PATH"):
        kind(folder=tmp_path / "none")
    with pytest.raises(ProviderMisconfigured, match="threads"):
        kind(folder=tmp_path, threads=65)
    with pytest.raises(ProviderMisconfigured, match="RERANKER_TIMEOUT"):
        kind(folder=tmp_path, seconds=0)


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is not None, reason="the library is installed here")
def test_without_the_library_it_says_what_to_install(tmp_path: Path) -> None:
    error = refusal(FastembedCrossEncoder(folder=tmp_path))
    assert "pip install fastembed" in error.message
    assert error.machine_code == "reranker.not_installed"


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is None, reason="the library is not installed here")
def test_a_folder_without_a_model_of_the_library_is_refused(tmp_path: Path) -> None:
    assert "RERANKER_PATH" in refusal(FastembedCrossEncoder(folder=tmp_path)).message
