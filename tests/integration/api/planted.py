"""Rows that all tests of a module share; whatever a test does to them is undone.

A module that plants them overrides `db`, `alice`, `agent` and `colleague` of the other tests, so that all that is made
from these stands in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import transaction
from pytest_django.plugin import DjangoDbBlocker

from memory.services.actors import Actor, Permission
from tests.conftest import new_owner
from tests.gatherers import written_when_asked
from tests.integration.api.conftest import Client, logged_in, new_client

Rows = dict[str, str]


@dataclass(frozen=True, slots=True)
class Planted:
    """An owner, two of its agents with every permission, and the ids of its rows by name."""

    alice: Actor
    agent: Client
    colleague: Client
    rows: Rows


@contextmanager
def planted(blocker: DjangoDbBlocker, plant: Callable[[Client, Client, Client], Rows]) -> Iterator[Planted]:
    """Plant rows in a transaction that ends with the block; `plant` gets the agent, the colleague and the person."""
    with written_when_asked(), blocker.unblock(), transaction.atomic():
        alice = new_owner("alice")
        agent = new_client(alice, "assistant", scopes=list(Permission))
        colleague = new_client(alice, "colleague", scopes=list(Permission))
        yield Planted(alice, agent, colleague, plant(agent, colleague, logged_in(alice)))
        transaction.set_rollback(True)


@contextmanager
def undone() -> Iterator[None]:
    """Undo what a test does in the database."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def again(client: Client) -> Client:
    """Make a client that sends what another one sends, and has met no answer yet."""
    fresh = Client()
    fresh.actor = client.actor
    fresh.sent = dict(client.sent)
    fresh.credentials(**fresh.sent)
    return fresh
