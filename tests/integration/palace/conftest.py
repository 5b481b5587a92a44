"""Clients of people who are logged in, and a short way to store something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from memory.models import Owner
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember

# What the policy says, all of it: one source more would let a foreign file run.
DIRECTIVES = {
    "default-src": ["'self'"],
    "script-src": ["'self'"],
    "style-src": ["'self'"],
    "img-src": ["'self'", "data:"],
    "connect-src": ["'self'"],
    "object-src": ["'none'"],
    "frame-ancestors": ["'none'"],
    "base-uri": ["'none'"],
    "form-action": ["'self'"],
}


def directives(answer: Any) -> dict[str, list[str]]:
    """Give the content security policy of an answer: the sources of each directive."""
    parts = [part.split() for part in answer["Content-Security-Policy"].split(";") if part.strip()]
    assert len({name for name, *_ in parts}) == len(parts), "browsers take the first of two"
    return {name: sources for name, *sources in parts}


def client_of(actor: Actor) -> Client:
    client = Client()
    user = Owner.objects.get(pk=actor.owner_id).user
    assert user is not None
    client.force_login(user)
    return client


@pytest.fixture
def palace(alice: Actor) -> Client:
    """Alice's browser."""
    return client_of(alice)


@pytest.fixture
def stranger(mallory: Actor) -> Client:
    """The browser of another owner."""
    return client_of(mallory)


@pytest.fixture
def store(alice: Actor) -> Callable[..., UUID]:
    """Give a function that stores a memory of Alice's."""

    def make(text: str, **fields: Any) -> UUID:
        return remember(actor=alice, draft=Draft(text=text, **fields)).memory_id

    return make


HTMX = {"HX-Request": "true", "HX-Current-URL": "http://testserver/?q=a"}
