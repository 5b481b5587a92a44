"""Counting calls of models: each logical call is told once, with its tokens, to whoever keeps count.

Retries and steps down to another dialect belong to one call. A provider notes what its server has counted; where it
counts nothing, tokens are estimated at four characters each.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from memory.ports.allowance import Intended, require_allowance
from memory.ports.outbound import present_behalf
from memory.ports.recorder import ModelCalled, model_called
from memory.ports.tracing import span
from memory.providers.outbound.recording import LONGEST_COMPONENT

T = TypeVar("T")

CHARACTERS_A_TOKEN: Final = 4
# More than any server can have read or written for one answer.
MOST_TOKENS: Final = 1_000_000_000
LONGEST_PROVIDER: Final = 32
LONGEST_MODEL: Final = 200
NOBODY: Final = "none"
"""The provider that is none: to be refused by it is no call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked, and by whom where that is known better than by `on_behalf_of`.

    Attributes:
        kind: `embedding`, `llm` or `rerank`.
        provider, model: who is asked.
        local: whether nothing leaves this machine.
        component: the part that asks, where a language model's own is known.
    """

    kind: str
    provider: str
    model: str
    local: bool
    component: str = ""


class Count:
    """The tokens of a call under way."""

    def __init__(self) -> None:
        """Begin with none."""
        self.input_tokens = 0
        self.output_tokens = 0
        self.noted = False
        self.estimated = False

    def sent(self, texts: Sequence[str], *, counted: int = 0) -> None:
        """Add what was sent: the tokens that the server has counted, else an estimate."""
        self.noted = True
        self.estimated |= not counted
        self.input_tokens += counted or estimate(texts)

    def answered(self, text: str, *, counted: int = 0) -> None:
        """Add what was answered, as `sent`."""
        self.estimated |= not counted
        self.output_tokens += counted or estimate([text])


_count: ContextVar[Count | None] = ContextVar("model_call_count", default=None)


def metered(asked: Asked, call: Callable[[], T], *, texts: Sequence[str]) -> T:
    """Make a call and tell of it, whatever becomes of it.

    Args:
        asked: who is asked for what.
        call: the call; what it notes with `note_sent` and `note_answered` counts.
        texts: what tokens are estimated from where an answered call has noted nothing.
    """
    with _counting() as count, span("model.call", kind=asked.kind, provider=asked.provider, model=asked.model):
        began = time.perf_counter()
        ok = False
        try:
            result = call()
            ok = True
            return result
        finally:
            if ok and not count.noted:
                count.sent(texts)
            _tell(asked, count, seconds=time.perf_counter() - began, ok=ok)


def allowed(asked: Asked) -> None:
    """Raise BudgetExceeded where the owner on whose behalf is asked may not spend more."""
    behalf = present_behalf()
    if behalf is not None:
        require_allowance(
            Intended(
                owner_id=behalf.owner_id,
                agent_id=behalf.agent_id,
                kind=asked.kind,
                provider=asked.provider,
                model=asked.model,
            )
        )


def note_sent(texts: Sequence[str], *, counted: int = 0) -> None:
    """Note what the present call has sent with what the server counted; without effect outside of one."""
    count = _count.get()
    if count is not None:
        count.sent(texts, counted=counted)


def note_answered(text: str, *, counted: int = 0) -> None:
    """Note what the present call was answered, as `note_sent`."""
    count = _count.get()
    if count is not None:
        count.answered(text, counted=counted)


def estimate(texts: Sequence[str]) -> int:
    """Estimate the tokens of texts at four characters each, each text rounded up."""
    return sum(-(-len(text) // CHARACTERS_A_TOKEN) for text in texts)


def tokens_read(value: Any) -> int:
    """Find the tokens that a server says it has read, in the forms of OpenAI, Ollama, Jina, Voyage and Cohere.

    Args:
        value: a parsed answer.

    Returns:
        The number; 0 where there is none, or one that cannot be.
    """
    if not isinstance(value, dict):
        return 0
    usage, meta = _mapping(value.get("usage")), _mapping(value.get("meta"))
    found = (
        usage.get("prompt_tokens"),
        usage.get("input_tokens"),
        usage.get("total_tokens"),
        value.get("prompt_eval_count"),
        _mapping(meta.get("tokens")).get("input_tokens"),
    )
    return next((tokens for tokens in map(token_count, found) if tokens), 0)


def token_count(value: Any) -> int:
    """Read a count of tokens; what cannot be one counts as nothing, like a count that is left out."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 < value <= MOST_TOKENS else 0


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


@contextmanager
def _counting() -> Iterator[Count]:
    count = Count()
    token = _count.set(count)
    try:
        yield count
    finally:
        _count.reset(token)


def _tell(asked: Asked, count: Count, *, seconds: float, ok: bool) -> None:
    behalf = present_behalf()
    model_called(
        ModelCalled(
            owner_id=behalf.owner_id if behalf else None,
            agent_id=behalf.agent_id if behalf else None,
            kind=asked.kind,
            component=(asked.component or (behalf.component if behalf else ""))[:LONGEST_COMPONENT],
            provider=asked.provider[:LONGEST_PROVIDER],
            model=asked.model[:LONGEST_MODEL],
            input_tokens=count.input_tokens,
            output_tokens=count.output_tokens,
            estimated=count.estimated,
            local=asked.local,
            seconds=seconds,
            ok=ok,
            at=datetime.now(UTC),
        )
    )
