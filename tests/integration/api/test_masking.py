"""Masked memories over REST, and the one way in which a person sees more."""

from __future__ import annotations

from typing import Any
from uuid import UUID, uuid4

import pytest

from memory.models import AuditEvent, Memory, owner_scope
from tests.integration.api.conftest import Client, problem, remember

TEXT = "Write to anna@example.org soon."


@pytest.fixture
def memory_id(agent: Client) -> str:
    return remember(
        agent, TEXT, tags=["anna@example.org"], source="user:anna@example.org", metadata={"who": ["anna@example.org"]}
    )


def revealed(client: Client) -> list[tuple[str, str]]:
    with owner_scope(client.actor.owner_id):
        return list(AuditEvent.objects.filter(verb="reveal").values_list("actor", "reason"))


def shown(client: Client, path: str) -> tuple[dict[str, Any], str]:
    answer = client.json("get", path)
    assert answer.status_code == 200, answer.content
    body = answer.json()
    return body["items"][0] if "items" in body else body, answer.content.decode()


@pytest.mark.parametrize("path", ["/memories?masked=true", "/memories/{}?masked=true"], ids=["list", "one"])
def test_masked_shows_no_value_anywhere(agent: Client, memory_id: str, path: str) -> None:
    body, said = shown(agent, path.format(memory_id))
    assert body["text"] == "Write to [EMAIL] soon."
    assert (body["tags"], body["source"], body["metadata"]) == (["[EMAIL]"], "user:[EMAIL]", {"who": ["[EMAIL]"]})
    assert body["personal_data"] == {"kinds": ["email"], "tier": 1}
    assert "anna" not in said


@pytest.mark.parametrize("query", ["", "?masked=false"])
def test_a_client_that_does_not_ask_gets_the_text(agent: Client, woman: Client, memory_id: str, query: str) -> None:
    for client in (agent, woman):
        for path in ("/memories", f"/memories/{memory_id}"):
            assert shown(client, path + query)[0]["text"] == TEXT


@pytest.mark.parametrize("value", ["1", "yes", "", "null"])
def test_another_word_for_it_is_refused(agent: Client, memory_id: str, value: str) -> None:
    assert agent.json("get", f"/memories?masked={value}").status_code == 422


def test_what_is_personal_by_its_meaning_is_its_kind_alone(agent: Client, memory_id: str) -> None:
    with owner_scope(agent.actor.owner_id):
        Memory.objects.filter(pk=memory_id).update(pii_kinds=["email", "health"], pii_tier=2)
    body, _ = shown(agent, f"/memories/{memory_id}?masked=true")
    assert (body["text"], body["tags"], body["metadata"]) == ("Confidential: health", [], None)


def test_the_bound_of_a_text_counts_what_is_shown(agent: Client, memory_id: str) -> None:
    body, _ = shown(agent, "/memories?masked=true&max_text_characters=12")
    assert (body["text"], body["text_truncated"]) == ("Write to [EM", True)


def test_a_person_sees_it_and_that_is_recorded(woman: Client, memory_id: str) -> None:
    answer = woman.json("post", f"/memories/{memory_id}/reveal")
    assert answer.status_code == 200, answer.content
    assert answer.json() == {"id": memory_id, "text": TEXT, "speaker": None, "version": 1}
    assert answer["Cache-Control"] == "no-store"
    assert revealed(woman) == [("person", "asked")]


def test_an_agent_is_refused_and_nothing_is_recorded(agent: Client, woman: Client, memory_id: str) -> None:
    answer = agent.json("post", f"/memories/{memory_id}/reveal")
    problem(answer, 403, "auth.person_only")
    assert "anna" not in answer.content.decode()
    assert revealed(woman) == []


def test_a_memory_of_somebody_else_is_like_none(woman: Client, stranger: Client) -> None:
    theirs = remember(stranger, TEXT)
    for found in (theirs, str(uuid4()), str(UUID(int=0)), "no-id"):
        problem(woman.json("post", f"/memories/{found}/reveal"), 404, "not_found")
    assert revealed(woman) == []
    assert revealed(stranger) == []
