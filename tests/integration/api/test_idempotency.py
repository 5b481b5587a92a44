"""Idempotency keys: repeated writes are answered again and not done again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connection

from memory.api.views import memories
from memory.models import IdempotencyRecord, Memory, MemorySource, owner_scope
from memory.services import clock
from memory.services.actors import Actor, Permission
from tests.integration.api.conftest import Client, client_of, problem, remember

KEY = {"Idempotency-Key": "b2c3-once"}


class SetClock:
    """A clock that stands where a test puts it."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 5, 1, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def standing_clock() -> Any:
    standing = SetClock()
    clock.set_clock(standing)
    yield standing
    clock.set_clock(None)


def count(actor: Actor) -> tuple[int, int]:
    with owner_scope(actor.owner_id):
        return Memory.objects.count(), MemorySource.objects.count()


def test_the_same_request_is_done_once_and_answered_twice(agent: Client) -> None:
    body = {"text": "Tea is warm."}
    first = agent.json("post", "/memories", body, **KEY)
    second = agent.json("post", "/memories", body, **KEY)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert first["Location"] == second["Location"]
    assert "Idempotency-Replayed" not in first
    assert second["Idempotency-Replayed"] == "true"
    assert count(agent.actor) == (1, 1)


def test_the_order_of_members_does_not_matter(agent: Client) -> None:
    agent.json("post", "/memories", {"text": "Tea is warm.", "kind": "fact"}, **KEY)
    again = agent.json("post", "/memories", {"kind": "fact", "text": "Tea is warm."}, **KEY)
    assert again["Idempotency-Replayed"] == "true"


def test_another_request_under_the_same_key_is_refused(agent: Client) -> None:
    agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY)
    problem(agent.json("post", "/memories", {"text": "Tea is cold."}, **KEY), 422, "idempotency.mismatch")
    problem(agent.json("post", "/memories/batch", {"items": [{"text": "x"}]}, **KEY), 422, "idempotency.mismatch")
    assert count(agent.actor) == (1, 1)


def test_the_query_and_the_version_belong_to_the_request(agent: Client) -> None:
    document = {"memories": [{"content": "Tea is warm."}]}
    agent.json("post", "/import", document, **KEY)
    problem(agent.json("post", "/import?scope=agent", document, **KEY), 422, "idempotency.mismatch")


def test_keys_belong_to_their_caller(agent: Client, colleague: Client, woman: Client, stranger: Client) -> None:
    for client in (agent, colleague, woman, stranger):
        response = client.json("post", "/memories", {"text": f"Tea {id(client)}"}, **KEY)
        assert response.status_code == 201
        assert "Idempotency-Replayed" not in response


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\tbed", "\xe9"])
def test_keys_that_cannot_be_used(agent: Client, key: str) -> None:
    problem(agent.json("post", "/memories", {"text": "x"}, **{"Idempotency-Key": key}), 422, "idempotency.key")
    assert count(agent.actor) == (0, 0)


def test_a_refusal_is_kept_too(agent: Client) -> None:
    first = agent.json("post", "/memories", {"text": ""}, **KEY)
    second = agent.json("post", "/memories", {"text": ""}, **KEY)
    assert problem(first, 422, "text.empty") == problem(second, 422, "text.empty")
    assert second["Idempotency-Replayed"] == "true"


def test_an_answer_without_a_body_is_kept(agent: Client, woman: Client, colleague: Client) -> None:
    group = woman.json("post", "/groups", {"kind": "squad", "name": "core"}).json()["id"]
    path = f"/groups/{group}/members/{colleague.actor.agent_id}"
    assert woman.json("put", path, **KEY).status_code == 204
    again = woman.json("put", path, **KEY)
    assert (again.status_code, again.content, again["Idempotency-Replayed"]) == (204, b"", "true")


def test_the_entity_tag_is_kept(agent: Client) -> None:
    memory = remember(agent, "Tea is warm.")
    first = agent.json("patch", f"/memories/{memory}", {"importance": 1}, **KEY)
    again = agent.json("patch", f"/memories/{memory}", {"importance": 1}, **KEY)
    assert first["ETag"] == again["ETag"] == '"2"'
    assert agent.json("get", f"/memories/{memory}").json()["version"] == 2


def test_a_conflict_may_be_tried_again(agent: Client) -> None:
    memory = remember(agent, "Tea is warm.")
    agent.json("post", f"/memories/{memory}/archive")
    other = remember(agent, "Tea is warm.")
    problem(agent.json("post", f"/memories/{memory}/restore", **KEY), 409, "memory.duplicate")
    agent.json("post", f"/memories/{other}/archive")
    assert agent.json("post", f"/memories/{memory}/restore", **KEY).status_code == 200


def test_a_secret_is_not_kept(woman: Client, colleague: Client) -> None:
    path = f"/agents/{colleague.actor.agent_id}/keys"
    first = woman.json("post", path, {"label": "laptop"}, **KEY).json()
    again = woman.json("post", path, {"label": "laptop"}, **KEY).json()
    assert first["secret"].startswith("loci_")
    assert again == {"id": first["id"], "secret": None}
    assert len(woman.json("get", path).json()["items"]) == 2


def test_keys_are_forgotten_after_a_day(agent: Client, standing_clock: SetClock) -> None:
    agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY)
    standing_clock.moment += timedelta(hours=23, minutes=59)
    assert "Idempotency-Replayed" in agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY)
    standing_clock.moment += timedelta(minutes=1)
    response = agent.json("post", "/memories", {"text": "Tea is cold."}, **KEY)
    assert response.status_code == 201
    with owner_scope(agent.actor.owner_id):
        assert IdempotencyRecord.objects.count() == 1


def test_a_claim_that_nobody_settled_is_free_again_later(agent: Client, standing_clock: SetClock) -> None:
    agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY)
    with owner_scope(agent.actor.owner_id):
        IdempotencyRecord.objects.update(status=None)
    response = agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY)
    problem(response, 409, "idempotency.in_progress")
    assert response["Retry-After"] == "1"
    standing_clock.moment += timedelta(minutes=11)
    assert agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY).status_code == 200


def test_a_failure_of_the_server_is_not_kept(agent: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> Any:
        raise OperationalError

    with monkeypatch.context() as patched:
        patched.setattr(memories, "remember", fail)
        problem(agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY), 503, "database.unavailable")
    assert agent.json("post", "/memories", {"text": "Tea is warm."}, **KEY).status_code == 201


def test_recalls_are_no_writes_and_take_no_keys(agent: Client) -> None:
    first = agent.json("post", "/recall", {"query": "Tea?"}, **KEY).json()
    assert agent.json("post", "/recall", {"query": "Tea?"}, **KEY).json()["recall_id"] != first["recall_id"]


@pytest.mark.django_db(transaction=True)
def test_of_two_parallel_requests_one_runs(
    transactional_db: None, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    actor, secret = make_agent(alice, "assistant", scopes=list(Permission))
    together = threading.Barrier(8)

    def add(_: int) -> Any:
        try:
            together.wait()
            return client_of(secret).json("post", "/turns", {"session": "s", "turns": [{"text": "once"}]}, **KEY)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(add, range(8)))
    for answer in answers:
        if answer.status_code == 409:
            problem(answer, 409, "idempotency.in_progress")
        else:
            assert answer.status_code == 200
    done = [answer for answer in answers if answer.status_code == 200]
    assert len([answer for answer in done if "Idempotency-Replayed" not in answer]) == 1
    assert len({answer.content for answer in done}) == 1
    assert count(actor) == (1, 1)
