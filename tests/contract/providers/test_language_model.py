"""The chat client against a real server: what it sends, what it makes of answers, and every way it can fail."""

from __future__ import annotations

import json
import os
import socket
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from memory.errors import InvalidInput, LanguageModelUnavailable
from memory.ports import ChatMessage, LanguageModel
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.unavailable import NoLanguageModel
from tests.contract.providers.calls import Calls, listening
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, Script, as_json

Serve = Callable[[Script], LoopbackServer]
KEY = "sk-very-secret-0123456789"
SECRET = "the violet cushion"
PROMPT = [ChatMessage("system", "Answer in JSON."), ChatMessage("user", f"Where is it? Under {SECRET}.")]
SCHEMA = {"type": "object", "properties": {"place": {"type": "string"}}, "additionalProperties": False}
OPENED: list[ChatLanguageModel] = []


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    while OPENED:
        OPENED.pop().close()


@pytest.fixture
def calls() -> Iterator[Calls]:
    with listening() as kept:
        yield kept


def made(address: str, routes: dict[str, Any] | None = None, **options: Any) -> ChatLanguageModel:
    found = Routes(routes or {}, model="base-model", base_url=address, timeout=2.0, max_tokens=300)
    values: dict[str, Any] = {"base_url": address, "api_key": KEY, "connect_seconds": 0.5, **options}
    OPENED.append(ChatLanguageModel(found, **values))
    return OPENED[-1]


def answered(text: Any = "a chair", **more: Any) -> Reply:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15}
    return as_json({"model": "base-model-0613", "choices": [choice], "usage": usage, **more})


def refusal(model: ChatLanguageModel, **options: Any) -> LanguageModelUnavailable:
    with pytest.raises(LanguageModelUnavailable) as caught:
        model.complete(PROMPT, component="test", **options)
    shown = "".join(traceback.format_exception(caught.value)) + repr(caught.value.details) + repr(model)
    for private in (KEY, "violet", "127.0.0.1"):
        assert private not in shown
    assert caught.value.__cause__ is None
    return caught.value


def test_a_plain_answer_comes_back_whole_and_counted(serve: Serve) -> None:
    text = "<think>hm</think>\n```json\n{broken\n```  "
    server = serve(lambda _: answered(text))
    model = made(server.address)
    assert isinstance(model, LanguageModel)
    completion = model.complete(PROMPT, component="test")
    assert (completion.text, completion.model, completion.finish_reason) == (text, "base-model-0613", "stop")
    assert (completion.prompt_tokens, completion.completion_tokens) == (11, 4)
    (request,) = server.received
    assert request.path == "/v1/chat/completions"
    assert request.headers["Authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "base-model",
        "messages": [{"role": m.role, "content": m.content} for m in PROMPT],
        "stream": False,
        "temperature": 0.2,
        "max_tokens": 300,
    }


def test_a_route_decides_model_temperature_and_bounds(serve: Serve) -> None:
    server = serve(lambda _: answered())
    routes = {"a": {"model": "m-a", "temperature": 0.9, "max_tokens": 50}, "b": {"temperature": None}}
    model = made(server.address, routes)
    for component, bound in (("a", 20), ("a", 900), ("b", None), ("memory_compact", None)):
        model.complete(PROMPT, component=component, max_tokens=bound)
    sent = [(r.body["model"], r.body.get("temperature", "left out"), r.body["max_tokens"]) for r in server.received]
    assert sent == [("m-a", 0.9, 20), ("m-a", 0.9, 50), ("base-model", "left out", 300), ("base-model", 0.2, 300)]


def test_the_key_goes_to_its_own_server_only(serve: Serve) -> None:
    main, other, third = serve(lambda _: answered()), serve(lambda _: answered()), serve(lambda _: answered())
    routes = {"other": {"base_url": other.address}, "third": {"base_url": third.address}}
    model = made(main.address, routes, component_keys={"third": "third-key"})
    for component in ("main", "other", "third"):
        model.complete(PROMPT, component=component)
    sent = [server.received[0].headers.get("Authorization") for server in (main, other, third)]
    assert sent == [f"Bearer {KEY}", None, "Bearer third-key"]
    assert model.loopback("other")


def test_a_schema_is_asked_for_by_name_and_strictly_where_it_is_closed(serve: Serve) -> None:
    server = serve(lambda _: answered("{}"))
    model = made(server.address)
    model.complete(PROMPT, component="my component!", json_schema=SCHEMA)
    model.complete(PROMPT, component="open", json_schema={"type": "object"})
    closed, open_ = (request.body["response_format"] for request in server.received)
    assert closed == {
        "type": "json_schema",
        "json_schema": {"name": "my_component_", "schema": SCHEMA, "strict": True},
    }
    assert open_["json_schema"]["strict"] is False


def understanding(*kinds: str) -> Script:
    def script(request: Received) -> Reply:
        kind = request.body.get("response_format", {}).get("type", "none")
        if kind not in kinds:
            return as_json({"error": {"message": f"response_format type {kind} is not supported"}}, 400)
        return answered('{"place": "lake"}')

    return script


@pytest.mark.parametrize(
    ("kinds", "tried"),
    [
        (("json_schema",), ["json_schema"]),
        (("json_object", "none"), ["json_schema", "json_object"]),
        (("none",), ["json_schema", "json_object", "none"]),
    ],
)
def test_a_server_without_schemas_is_asked_in_a_weaker_form_and_remembered(
    serve: Serve, calls: Calls, kinds: tuple[str, ...], tried: list[str]
) -> None:
    server = serve(understanding(*kinds))
    model = made(server.address)
    for _ in range(2):
        assert json.loads(model.complete(PROMPT, component="test", json_schema=SCHEMA).text) == {"place": "lake"}
    sent = [request.body.get("response_format", {}).get("type", "none") for request in server.received]
    assert sent == [*tried, tried[-1]]
    assert [(call.component, call.ok) for call in calls.told] == [("test", True)] * 2


def test_a_refusal_that_names_no_format_is_not_repeated(serve: Serve) -> None:
    server = serve(lambda _: as_json({"error": {"message": f"too long: {SECRET}"}}, 400))
    assert "refuses the request (status 400)" in refusal(made(server.address), json_schema=SCHEMA).message
    assert len(server.received) == 1


def test_a_server_that_names_the_format_for_ever_is_given_up(serve: Serve) -> None:
    server = serve(lambda _: as_json({"error": "response_format"}, 400))
    refusal(made(server.address), json_schema=SCHEMA)
    assert len(server.received) == 3


def test_a_model_that_wants_the_newer_token_field_gets_it(serve: Serve) -> None:
    def script(request: Received) -> Reply:
        if "max_tokens" in request.body:
            return as_json({"error": "Unsupported: 'max_tokens'. Use 'max_completion_tokens' instead."}, 400)
        return answered()

    server = serve(script)
    model = made(server.address)
    model.complete(PROMPT, component="test")
    model.complete(PROMPT, component="test")
    assert [request.body.get("max_completion_tokens") for request in server.received] == [None, 300, 300]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (as_json({"choices": []}), "another form than agreed"),
        (as_json({}), "another form than agreed"),
        (as_json([SECRET]), "another form than agreed"),
        (as_json({"choices": [{"message": None}]}), "another form than agreed"),
        (answered(""), "without text"),
        (answered(" \n"), "without text"),
        (answered(None), "without text"),
        (answered([{"type": "text"}]), "without text"),
        (answered(usage="violet"), "another form than agreed"),
        (Reply(body=b""), "something else than JSON"),
        (Reply(body=b"<html>violet"), "something else than JSON"),
        (Reply(body=b'{"choices": [{"mess'), "something else than JSON"),
        (as_json({"error": SECRET}, 401), "refuses the key"),
        (as_json({"error": SECRET}, 404), "no such address or model"),
        (as_json({"error": SECRET}, 422), "refuses the request"),
        (Reply(307, b"", {"Location": "http://127.0.0.1:1/"}), "redirect"),
        (Reply(500, SECRET.encode()), "failed (status 500)"),
        (Reply(429, headers={"Retry-After": "900"}), "slow down"),
        (Reply(close=True), "broke the connection off"),
        (Reply(body=b"x" * 5_000_000), "more data than is allowed"),
    ],
)
def test_an_unusable_answer_is_one_clear_error_and_counted(
    serve: Serve, calls: Calls, reply: Reply, reason: str
) -> None:
    model = made(serve(lambda _: reply).address)
    assert reason in refusal(model).message
    assert (calls.only.kind, calls.only.component, calls.only.ok) == ("llm", "test", False)


def test_the_time_out_of_the_route_holds(serve: Serve) -> None:
    server = serve(lambda _: Reply(before=lambda: server.hang()))
    assert "in time" in refusal(made(server.address, {"test": {"timeout": 0.2}})).message
    assert len(server.received) == 1


def test_nobody_listening_is_reported() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        assert "cannot be reached" in refusal(made(f"http://127.0.0.1:{unused.getsockname()[1]}")).message


def test_without_a_server_or_model_it_says_what_to_set(serve: Serve) -> None:
    without_server = ChatLanguageModel(Routes({}, model="m", base_url=""))
    without_model = ChatLanguageModel(Routes({}, model="", base_url="http://127.0.0.1:9"))
    for model in (without_server, without_model, NoLanguageModel()):
        with pytest.raises(LanguageModelUnavailable, match="LLM_BASE_URL") as caught:
            model.complete(PROMPT, component="test")
        assert caught.value.machine_code == "llm.none"


def test_missing_usage_counts_as_nothing(serve: Serve) -> None:
    numbers = {"prompt_tokens": 10**30, "completion_tokens": 1.5}
    odd = [None, {"prompt_tokens": "many", "completion_tokens": -3}, numbers]
    replies = iter([answered(usage=usage) for usage in odd])
    model = made(serve(lambda _: next(replies)).address)
    for _ in odd:
        completion = model.complete(PROMPT, component="test")
        assert (completion.prompt_tokens, completion.completion_tokens) == (0, 0)


def test_parallel_calls_are_all_counted(serve: Serve, calls: Calls) -> None:
    model = made(serve(lambda _: answered()).address)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: model.complete(PROMPT, component="test"), range(24)))
    assert len(calls.told) == 24
    assert {(call.input_tokens, call.output_tokens, call.estimated, call.ok) for call in calls.told} == {
        (11, 4, False, True)
    }


@pytest.mark.parametrize(
    ("messages", "bound"),
    [
        ([], None),
        ([ChatMessage("tool", "x")], None),
        ([ChatMessage("user", "x" * 1_000_001)], None),
        ([ChatMessage("user", "x")] * 1_001, None),
        (PROMPT, 0),
    ],
)
def test_an_unusable_prompt_is_refused_before_anything_is_sent(
    serve: Serve, messages: list[ChatMessage], bound: int | None
) -> None:
    server = serve(lambda _: answered())
    with pytest.raises(InvalidInput):
        made(server.address).complete(messages, component="test", max_tokens=bound)
    assert not server.received


def test_a_prompt_with_half_a_pair_and_nul_is_sent_repaired(serve: Serve) -> None:
    server = serve(lambda _: answered())
    made(server.address).complete([ChatMessage("user", "a\ud800b\0c")], component="test")
    assert server.received[0].body["messages"][0]["content"] == "a\ufffdb c"


def test_a_key_without_its_server_or_with_line_breaks_is_refused() -> None:
    routes = Routes({}, model="m", base_url="")
    with pytest.raises(ProviderMisconfigured, match="LLM_BASE_URL"):
        ChatLanguageModel(routes, api_key=KEY)
    with pytest.raises(ProviderMisconfigured) as caught:
        ChatLanguageModel(routes, base_url="http://127.0.0.1:9", api_key="sk-1\nX: y")
    assert "sk-1" not in str(caught.value)


class TestLastUses:
    def test_nothing_is_known_before_the_first_use(self, serve: Serve) -> None:
        server = serve(lambda _: answered())
        assert made(server.address).failure() is None
        assert server.received == []

    def test_what_answers_clears_what_failed(self, serve: Serve) -> None:
        replies = [Reply(401), answered(), answered("")]
        model = made(serve(lambda _: replies.pop(0)).address)
        assert refusal(model).message == model.failure()
        model.complete(PROMPT, component="test")
        assert model.failure() is None
        assert refusal(model).message == model.failure()

    def test_one_model_that_answers_does_not_hide_another_that_fails(self, serve: Serve) -> None:
        server = serve(lambda request: Reply(404) if request.body["model"] == "gone" else answered())
        model = made(server.address, {"other": {"model": "gone"}})
        with pytest.raises(LanguageModelUnavailable) as caught:
            model.complete(PROMPT, component="other")
        model.complete(PROMPT, component="test")
        assert model.failure() == caught.value.message

    def test_what_was_not_sent_says_nothing_of_the_model(self, serve: Serve) -> None:
        model = made(serve(lambda _: answered()).address)
        with pytest.raises(InvalidInput):
            model.complete([], component="test")
        assert model.failure() is None

    def test_a_forked_process_knows_its_own_uses_only(self, serve: Serve) -> None:
        model = made(serve(lambda _: Reply(401)).address)
        refusal(model)
        child = os.fork()
        if child == 0:
            os._exit(0 if model.failure() is None else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert model.failure() is not None
