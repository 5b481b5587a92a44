"""Whether a recall has helped: said by whoever asked, of a hit or of the whole, and changed or taken back."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from pytest_django import Settings

from memory.errors import NotFound
from memory.models import Memory, RecallRecord, owner_scope
from memory.services.clock import now
from telemetry.models import RecallFeedback
from telemetry.services.recalls.feedback import give_feedback, take_back_feedback
from tests.integration.api.conftest import Client, problem
from tests.integration.telemetry.recalls import fill


@pytest.fixture
def recalled(agent: Client) -> tuple[str, list[str]]:
    """A recall of the agent: its id and those of its hits."""
    fill(agent.actor)
    answer = agent.json("post", "/recall", {"query": "When is the billing service deployed?"}).json()
    return answer["recall_id"], [hit["memory"]["id"] for hit in answer["hits"]]


def kept(client: Client) -> list[tuple[UUID | None, int | None, bool]]:
    with owner_scope(client.actor.owner_id):
        rows = RecallFeedback.objects.order_by("rank")
        return list(rows.values_list("memory_id", "rank", "helpful"))


def test_feedback_of_a_hit_keeps_its_place(agent: Client, recalled: tuple[str, list[str]]) -> None:
    recall_id, hits = recalled
    given = agent.json("post", f"/recalls/{recall_id}/feedback", {"helpful": True, "memory": hits[1]})
    assert given.status_code == 201
    body = given.json()
    assert (body["recall_id"], body["memory"], body["rank"], body["helpful"]) == (recall_id, hits[1], 2, True)
    assert kept(agent) == [(UUID(hits[1]), 2, True)]


def test_changing_ones_mind_replaces_and_taking_back_removes(agent: Client, recalled: tuple[str, list[str]]) -> None:
    recall_id, hits = recalled
    path = f"/recalls/{recall_id}/feedback"
    assert agent.json("post", path, {"helpful": True}).status_code == 201
    again = agent.json("post", path, {"helpful": False})
    assert (again.status_code, again.json()["helpful"]) == (200, False)
    assert agent.json("post", path, {"helpful": True, "memory": hits[0]}).status_code == 201
    assert agent.json("delete", f"{path}?memory={hits[0]}").status_code == 204
    assert agent.json("delete", path).status_code == 204
    assert kept(agent) == []
    assert agent.json("delete", path).status_code == 404


def test_only_the_caller_gives_feedback(
    agent: Client, colleague: Client, woman: Client, stranger: Client, recalled: tuple[str, list[str]]
) -> None:
    for other in (colleague, woman, stranger):
        assert other.json("post", f"/recalls/{recalled[0]}/feedback", {"helpful": True}).status_code == 404
    assert kept(agent) == []


def test_only_hits_have_feedback(agent: Client, recalled: tuple[str, list[str]]) -> None:
    (other,) = fill(agent.actor, ["Something that was stored after the recall."])
    refused = agent.json("post", f"/recalls/{recalled[0]}/feedback", {"helpful": True, "memory": str(other)})
    assert (refused.status_code, refused.json()["code"]) == (422, "feedback.not_a_hit")


def test_an_erased_memory_takes_no_feedback(agent: Client, recalled: tuple[str, list[str]]) -> None:
    recall_id, hits = recalled
    agent.json("post", f"/recalls/{recall_id}/feedback", {"helpful": True, "memory": hits[0]})
    with owner_scope(agent.actor.owner_id):
        Memory.objects.filter(pk=hits[0]).delete()
    assert kept(agent) == []
    assert agent.json("post", f"/recalls/{recall_id}/feedback", {"helpful": True, "memory": hits[0]}).status_code == 404


def test_with_telemetry_off_nothing_is_noted_and_nobody_is_asked(
    agent: Client, woman: Client, recalled: tuple[str, list[str]], settings: Settings
) -> None:
    recall_id, _ = recalled
    asked = woman.get("/", {"q": "billing service", "go": ""}).content.decode()
    settings.TELEMETRY_ENABLED = False
    answer = agent.json("post", f"/recalls/{recall_id}/feedback", {"helpful": True})
    problem(answer, 409, "telemetry.disabled")
    assert kept(agent) == []
    unasked = woman.get("/", {"q": "billing service", "go": ""}).content.decode()
    assert "This helped" in asked
    assert "This helped" not in unasked


def test_an_old_recall_takes_no_feedback(agent: Client, recalled: tuple[str, list[str]]) -> None:
    with owner_scope(agent.actor.owner_id):
        RecallRecord.objects.update(created_at=now() - timedelta(days=7, minutes=1))
    assert agent.json("post", f"/recalls/{recalled[0]}/feedback", {"helpful": True}).status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [({}, "helpful"), ({"helpful": "yes"}, "helpful"), ({"helpful": True, "memory": "x"}, "memory"),
     ({"helpful": True, "note": "Because."}, "note")],
)  # fmt: skip
def test_bad_feedback_is_refused(
    agent: Client, recalled: tuple[str, list[str]], body: dict[str, object], field: str
) -> None:
    refused = agent.json("post", f"/recalls/{recalled[0]}/feedback", body)
    assert refused.status_code == 422
    assert field in refused.content.decode()


def test_a_repeated_request_is_answered_again(agent: Client, recalled: tuple[str, list[str]]) -> None:
    path, key = f"/recalls/{recalled[0]}/feedback", {"Idempotency-Key": "once"}
    answers = [agent.json("post", path, {"helpful": True}, **key).status_code for _ in range(2)]
    assert answers == [201, 201]


@pytest.mark.django_db(transaction=True)
def test_saying_it_and_taking_it_back_at_the_same_time(agent: Client, recalled: tuple[str, list[str]]) -> None:
    recall_id, begin = UUID(recalled[0]), threading.Barrier(3)

    def say() -> None:
        begin.wait(30)
        for _ in range(150):
            give_feedback(actor=agent.actor, recall_id=recall_id, helpful=True)

    def take_back() -> None:
        begin.wait(30)
        for _ in range(150):
            with suppress(NotFound):
                take_back_feedback(actor=agent.actor, recall_id=recall_id)

    def alone(work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            connection.close()

    with ThreadPoolExecutor(3) as threads:
        for done in [threads.submit(alone, work) for work in (say, say, take_back)]:
            done.result(120)
    give_feedback(actor=agent.actor, recall_id=recall_id, helpful=False)
    assert kept(agent) == [(None, None, False)]
