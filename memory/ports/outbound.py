"""What leaves for a provider: on whose behalf, and the record that is kept of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol
from uuid import UUID

EMBEDDING: Final = "embedding"
LLM: Final = "llm"
RERANK: Final = "rerank"
MODELS: Final = "models"
"""What looks after the models of a server: it is sent on nobody's behalf and holds nothing of anybody."""
SENDING: Final = "sending"
"""The outcome of a request whose answer is not known: it is under way, or the process died before the answer came."""


@dataclass(frozen=True, slots=True)
class Behalf:
    """For whom something is sent, and the part of the product that does so."""

    owner_id: UUID
    component: str
    agent_id: UUID | None = None


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One attempt to send a request; never its content.

    Attributes:
        id: one for each attempt.
        behalf: for whom, and which part asks.
        kind: `embedding`, `llm` or `rerank`.
        host: the name or address that it is sent to.
        size: bytes of the body.
        digest: SHA-256 of the exact body.
        outcome: `sending`, the class of the status (`2xx` to `5xx`), or the class of the error.
        at: when the attempt began, aware.
    """

    id: UUID
    behalf: Behalf
    kind: str
    host: str
    size: int
    digest: bytes
    outcome: str
    at: datetime


class OutboundRecorder(Protocol):
    """Keeps records of what leaves."""

    def __call__(self, request: Outgoing, /) -> None:
        """Keep a record, in the place of an earlier one with the same id; returns at once, asks no database."""


_behalf: ContextVar[Behalf | None] = ContextVar("outbound_behalf", default=None)


@contextmanager
def on_behalf_of(owner_id: UUID, component: str, *, agent_id: UUID | None = None) -> Iterator[None]:
    """Record what providers are sent in this block as sent for an owner; inner blocks win.

    An inner block for the same owner that names no agent asks for that of the outer one.

    A new thread begins without it.

    Args:
        owner_id: for whom.
        component: the part of the product, at most 32 characters; a language model's own component comes before it.
        agent_id: the agent that asks, where one does.
    """
    outer = _behalf.get()
    if agent_id is None and outer is not None and outer.owner_id == owner_id:
        agent_id = outer.agent_id
    token = _behalf.set(Behalf(owner_id, component, agent_id))
    try:
        yield
    finally:
        _behalf.reset(token)


def present_behalf() -> Behalf | None:
    """Give for whom this block sends; None for what belongs to nobody, such as a probe."""
    return _behalf.get()
