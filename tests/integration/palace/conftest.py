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
