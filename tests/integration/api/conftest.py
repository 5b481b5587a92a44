"""Clients of the interface: two agents of one owner, the person, and a stranger, all with real keys and sessions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from memory.models import User
from memory.services.actors import Actor, Permission, person
from memory.services.bus.capabilities import Grant, issue_capability
from tests.conftest import new_agent

API = "/api/v1"


@pytest.fixture(autouse=True)
def cheap_passwords(settings: Settings) -> None:
    """Hash the tests' passwords quickly; nothing here is about passwords."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


class Client(APIClient):
    """A client that knows who it stands for."""

    actor: Actor
    sent: dict[str, str]

    def json(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send JSON, or bytes as they are, and give the response."""
        if isinstance(body, bytes):
            data: Any = body
            octets = "application/octet-stream"
            return self.generic(method.upper(), f"{API}{path}", data, content_type=octets, headers=headers)
        return getattr(self, method)(f"{API}{path}", body, format="json", headers=headers)


def client_of(secret: str) -> Client:
    """Make a client with an agent's key."""
    client = Client()
    client.sent = {"HTTP_AUTHORIZATION": f"Bearer {secret}"}
    client.credentials(**client.sent)
    return client


def new_client(owner: Actor, name: str = "assistant", **key: Any) -> Client:
    """Make an agent of an owner and a client with its key."""
    actor, secret = new_agent(owner, name, **key)
    client = client_of(secret)
    client.actor = actor
    return client


def logged_in(owner: Actor) -> Client:
    """Make the client of an owner's person, with a session."""
    client = Client()
    client.force_login(User.objects.get(owner__id=owner.owner_id))
    client.actor = owner
    return client


@pytest.fixture
def make_client(db: None) -> Callable[..., Client]:
    """Give a function that makes an agent of an owner and a client with its key."""
    return new_client


@pytest.fixture
def agent(alice: Actor, make_client: Callable[..., Client]) -> Client:
    """An agent of Alice with every permission."""
    return make_client(alice, "assistant", scopes=list(Permission))


@pytest.fixture
def colleague(alice: Actor, make_client: Callable[..., Client]) -> Client:
    """Another agent of Alice with every permission."""
    return make_client(alice, "colleague", scopes=list(Permission))


@pytest.fixture
def stranger(mallory: Actor, make_client: Callable[..., Client]) -> Client:
    """An agent of another owner, with every permission."""
    return make_client(mallory, "spy", scopes=list(Permission))


@pytest.fixture
def powerless(alice: Actor, make_client: Callable[..., Client]) -> Client:
    """An agent of Alice whose key has only the permission that each test does not need."""
    return make_client(alice, "powerless", scopes=[Permission.READ])


@pytest.fixture
def anonymous() -> Client:
    """Nobody."""
    return Client()


@pytest.fixture
def woman(alice: Actor) -> Client:
    """Alice herself, logged in."""
    return logged_in(alice)


@pytest.fixture
def strange_woman(mallory: Actor) -> Client:
    """Another owner, logged in."""
    return logged_in(mallory)


def remember(client: Client, text: str = "Alice prefers tea to coffee.", **fields: Any) -> str:
    """Store a statement and give its id."""
    response = client.json("post", "/memories", {"text": text, **fields})
    assert response.status_code in (200, 201), response.content
    return str(response.json()["id"])


def bearing(client: Client, **grant: Any) -> Client:
    """Let an agent's client send a token for the bus with every request."""
    assert client.actor.agent_id is not None
    owner = person(client.actor.owner_id)
    issued = issue_capability(actor=owner, agent_id=client.actor.agent_id, grant=Grant(**grant))
    client.sent["HTTP_X_LOCI_CAPABILITY"] = issued.token
    client.credentials(**client.sent)
    return client


def problem(response: Any, status: int, code: str) -> Any:
    """Check that a response is a problem of a status and code, and give its members."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body = response.json()
    assert body["code"] == code, body
    assert body["status"] == status
    assert {"type", "title", "detail"} <= set(body)
    return body
