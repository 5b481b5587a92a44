"""What agents read: one event for each request, in its transaction, and a count for each memory.

A person's reads are not recorded, since a person reads what is the person's own; what is revealed of masked personal
data is an act and recorded where that is done. Staff that reads what is another's is recorded like an agent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import wraps
from typing import Any, ParamSpec, TypeVar, cast
from uuid import UUID

from memory.models import AuditEvent, owner_scope
from memory.services.actors import Actor
from memory.services.audit.readers import note_reads
from memory.services.audit.recording import record
from memory.services.clock import now

P = ParamSpec("P")
R = TypeVar("R")
MemoriesOf = Callable[[Any, Mapping[str, Any]], Iterable[UUID]]

# One request is one event, also where a service that reads calls another one.
_recording: ContextVar[bool] = ContextVar("loci_recording_a_read", default=False)
_shown: ContextVar[int | None] = ContextVar("loci_rows_shown", default=None)


@contextmanager
def showing(rows: int) -> Iterator[None]:
    """Say how many rows of a list that is read in the block are shown; it is asked for one more, to tell of a next."""
    token = _shown.set(rows)
    try:
        yield
    finally:
        _shown.reset(token)


@contextmanager
def recorded_otherwise() -> Iterator[None]:
    """Let what is read in the block count as part of what the caller records itself, and as no agent's read."""
    token = _recording.set(True)
    try:
        yield
    finally:
        _recording.reset(token)


def reads(sort: str, *, of: str = "", memories: MemoriesOf | None = None) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a service record that an agent has read, in the transaction in which it reads.

    The service takes keyword arguments only, `actor` among them, and asks no model. Where it raises, nothing was read.
    A read that cannot be recorded is not answered. Costs an agent one INSERT and a savepoint, and persons nothing.

    Args:
        sort: what is read, as the event's object kind.
        of: the argument that holds the id of the one thing that is read.
        memories: gives the ids of the memories in an answer, by the answer and the service's arguments; without it the
            rows of the answer are counted.
    """

    def decorate(service: Callable[P, R]) -> Callable[P, R]:
        @wraps(service)
        def recorded(*args: P.args, **values: P.kwargs) -> R:
            actor = cast("Actor", values["actor"])
            if not is_recorded(actor):
                return service(*args, **values)
            token = _recording.set(True)
            try:
                with owner_scope(actor.owner_id):
                    answer = service(*args, **values)
                    shown = answer[: _shown.get()] if isinstance(answer, list) else answer
                    ids = list(memories(shown, values)) if memories else []
                    object_id = cast("UUID | None", values.get(of))
                    count = len(ids) if memories else _size(shown)
                    record_read(actor=actor, sort=sort, count=count, at=now(), object_id=object_id)
            finally:
                _recording.reset(token)
            note_reads(actor.owner_id, ids, reader=actor.caller_id, at=now())
            return answer

        return recorded

    return decorate


def is_recorded(actor: Actor) -> bool:
    """Tell whether what this one reads now is to be recorded: as an agent or staff, and not within such a read."""
    return (actor.agent_id is not None or actor.staff_id is not None) and not _recording.get()


def record_read(*, actor: Actor, sort: str, count: int, at: datetime, object_id: UUID | None = None) -> None:
    """Record one request of an agent or of staff, with the number of memories that were shown, in the owner's scope."""
    record(
        actor=actor.label,
        verb=AuditEvent.READ,
        object_kind=sort,
        at=at,
        object_id=object_id,
        reason=actor.via,
        count=count,
    )


def record_shown(*, actor: Actor, sort: str, memory_id: UUID) -> None:
    """Record that an agent is shown a memory which it has just changed, in a transaction of its own."""
    if is_recorded(actor):
        with owner_scope(actor.owner_id):
            record_read(actor=actor, sort=sort, count=1, at=now(), object_id=memory_id)
        note_reads(actor.owner_id, [memory_id], reader=actor.caller_id, at=now())


def rows_of(answer: Any, values: Mapping[str, Any]) -> Iterable[UUID]:
    """Give the ids of an answer that is a memory or a list of memories."""
    return [row.pk for row in answer] if isinstance(answer, list) else [answer.pk]


def the_memory(answer: Any, values: Mapping[str, Any]) -> Iterable[UUID]:
    """Give the id of the memory that was asked for."""
    return [values["memory_id"]]


def _size(answer: Any) -> int:
    return len(answer) if isinstance(answer, Sequence) else 1
