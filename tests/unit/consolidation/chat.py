"""A chat server on loopback that says what a test wants, and a model that asks it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from memory.providers.language_model import ChatLanguageModel
from memory.providers.llm_routes import Routes
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, as_json

Says = Reply | str | Mapping[str, Any] | Sequence[Any]
PROMPT_TOKENS, COMPLETION_TOKENS = 11, 4


def said(what: Says, *, finish: str = "stop") -> Reply:
    """Give the reply of a chat server; objects and lists become JSON."""
    if isinstance(what, Reply):
        return what
    text = what if isinstance(what, str) else json.dumps(what, ensure_ascii=False)
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": COMPLETION_TOKENS}
    return as_json({"model": "m", "choices": [choice], "usage": usage})


class Chat:
    """A server with its model; `asked` are the prompts as they arrived."""

    def __init__(self, server: LoopbackServer, model: ChatLanguageModel) -> None:
        self.server = server
        self.model = model

    @property
    def asked(self) -> list[Received]:
        return self.server.received

    def prompts(self) -> list[str]:
        """Give everything that was sent, as one text for each request."""
        return ["\n".join(message["content"] for message in request.body["messages"]) for request in self.asked]

    def parts(self, at: int = -1) -> list[Any]:
        """Give the parts of one request."""
        parts: list[Any] = json.loads(self.asked[at].body["messages"][1]["content"])
        return parts


@contextmanager
def chatting(answer: Callable[[Received], Says] | Sequence[Says], *, seconds: float = 5.0) -> Iterator[Chat]:
    """Serve answers: those of a list in order, the last one again and again, or what a function says."""
    queue = [] if callable(answer) else list(answer)

    def script(request: Received) -> Reply:
        if callable(answer):
            return said(answer(request))
        return said(queue.pop(0) if len(queue) > 1 else queue[0])

    with LoopbackServer(script) as server:
        routes = Routes({}, model="m", base_url=server.address, timeout=seconds, max_tokens=4096)
        model = ChatLanguageModel(routes, base_url=server.address)
        try:
            yield Chat(server, model)
        finally:
            model.close()
