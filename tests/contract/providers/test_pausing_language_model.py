"""A language model that fails is left alone for a while, component by component, and then tried once."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memory.errors import LanguageModelUnavailable
from memory.ports import ChatMessage
from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from tests.contract.providers.loopback_server import LoopbackServer, Reply, Script, as_json

Serve = Callable[[Script], LoopbackServer]
PROMPT = [ChatMessage("user", "Where is it?")]
ANSWER = as_json({"choices": [{"message": {"content": "There."}}]})
EMPTY = as_json({"choices": [{"message": {"content": ""}}]})


class HandClock:
    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        return self.time


class Place:
    """A server whose answer can be changed, and a model that asks it."""

    def __init__(self, serve: Serve) -> None:
        self.reply = Reply(401)
        self.clock = HandClock()
        self.server = serve(lambda _: self.reply)
        routes = Routes({}, model="m", base_url=self.server.address)
        self.model = ChatLanguageModel(routes, base_url=self.server.address, clock=self.clock)

    def ask(self, component: str = "memory_sleep") -> str:
        return self.model.complete(PROMPT, component=component).text

    def code(self, component: str = "memory_sleep") -> str:
        with pytest.raises(LanguageModelUnavailable) as caught:
            self.ask(component)
        return caught.value.machine_code

    @property
    def asked(self) -> int:
        return len(self.server.received)


@pytest.fixture
def place(serve: Serve) -> Iterator[Place]:
    made = Place(serve)
    yield made
    made.model.close()


def test_three_failures_in_a_row_begin_a_pause_that_says_why(place: Place) -> None:
    assert [place.code() for _ in range(5)] == ["llm.unavailable"] * 3 + ["llm.paused"] * 2
    assert place.asked == 3
    with pytest.raises(LanguageModelUnavailable, match="failed 3 times in a row.*refuses the key"):
        place.ask()
    assert "refuses the key" in (place.model.failure() or "")


def test_after_the_pause_one_call_tries_and_mends_it(place: Place) -> None:
    for _ in range(4):
        place.code()
    place.clock.time += timedelta(seconds=31)
    place.reply = ANSWER
    assert place.ask() == "There."
    assert place.asked == 4
    assert place.model.failure() is None


def test_another_component_is_not_paused_by_it(place: Place) -> None:
    for _ in range(4):
        place.code("recall_expand")
    place.reply = ANSWER
    assert place.ask("memory_consolidation") == "There."


@pytest.mark.parametrize(
    "reply", [Reply(400), Reply(413), Reply(422), as_json({"choices": [{"message": {"content": ""}}]})]
)
def test_what_one_prompt_meets_pauses_no_other(place: Place, reply: Reply) -> None:
    place.reply = reply
    assert [place.code() for _ in range(5)] == ["llm.unavailable"] * 5
    assert place.asked == 5


def test_a_forked_process_finds_out_for_itself(place: Place) -> None:
    for _ in range(4):
        place.code()
    child = os.fork()
    if child == 0:
        os._exit(0 if place.code() == "llm.unavailable" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
