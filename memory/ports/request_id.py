"""The id of the request that is being answered, which logs, answers and the jobs that follow from it carry."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final
from uuid import UUID, uuid4

HEADER: Final = "X-Request-ID"
METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
OTHER_METHOD: Final = "other"
"""What logs and counts call a method that nothing takes, which could be any text."""
# Short and plain, since it is written into logs as it comes; a number alone may be somebody's.
_ACCEPTED: Final = re.compile(r"(?=[0-9._-]*[A-Za-z])[A-Za-z0-9._-]{1,64}")


@dataclass(slots=True)
class Running:
    """A request or job under way: its id, and the agent that asks once that is known.

    One object for all threads that work on it, so that what one of them learns stands in the lines of the others.
    """

    id: str
    agent_id: UUID | None = None


_current: ContextVar[Running | None] = ContextVar("loci_running", default=None)


def current_request_id() -> str:
    """Give the id of the request or job under way; empty outside."""
    running = _current.get()
    return running.id if running else ""


def current_agent_id() -> UUID | None:
    """Give the agent whose request is under way; None where it is a person's, a job's or not known yet."""
    running = _current.get()
    return running.agent_id if running else None


def note_agent(agent_id: UUID) -> None:
    """Say which agent sent the request that is under way."""
    running = _current.get()
    if running:
        running.agent_id = agent_id


def accepted_request_id(given: str | None) -> str:
    """Take over the id that a client gives, if it is a short plain word with a letter in it; else make one."""
    return given if given and _ACCEPTED.fullmatch(given) else uuid4().hex


def method_named(method: str | None) -> str:
    """Give a request's method as logs and counts name it."""
    return method if method in METHODS else OTHER_METHOD


@contextmanager
def request_id(value: str) -> Iterator[None]:
    """Run the block as part of the request with this id."""
    with as_part_of(Running(value)):
        yield


@contextmanager
def as_part_of(running: Running) -> Iterator[None]:
    """Run the block as part of a request or job that has begun already."""
    token = _current.set(running)
    try:
        yield
    finally:
        _current.reset(token)
