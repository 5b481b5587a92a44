"""What one agent keeps to itself, another agent of the same owner sees nowhere; and a stranger sees nothing at all."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.api.conftest import Client, problem, remember

SECRET = "The vault opens with a marmalade sandwich."


@pytest.fixture
def hidden(agent: Client) -> str:
    memory = remember(agent, SECRET, scope="agent", tags=["vault"], source="agent:diary/vault")
    agent.json("patch", f"/memories/{memory}", {"importance": 0.9})
    agent.json("post", "/turns", {"session": "vault", "scope": "agent", "turns": [{"text": "marmalade, you said?"}]})
    return memory


@pytest.fixture(params=["colleague", "stranger"])
def outsider(request: pytest.FixtureRequest) -> Client:
    client: Client = request.getfixturevalue(request.param)
    return client


def test_its_own_agent_and_the_person_see_it(agent: Client, woman: Client, hidden: str) -> None:
    for client in (agent, woman):
        assert client.json("get", f"/memories/{hidden}").json()["text"] == SECRET
        assert client.json("post", "/recall", {"query": "marmalade sandwich"}).json()["hits"] != []
        assert client.json("get", "/stats").json()["total"] == 2


def test_one_by_one_it_is_not_found(outsider: Client, agent: Client, hidden: str) -> None:
    for method, path, body in (
        ("get", "", None),
        ("get", "/history", None),
        ("get", "/sources", None),
        ("patch", "", {"importance": 0.1}),
        ("delete", "", None),
        ("post", "/archive", None),
        ("post", "/restore", None),
    ):
        problem(outsider.json(method, f"/memories/{hidden}{path}", body), 404, "not_found")
    shown = agent.json("get", f"/memories/{hidden}").json()
    assert (shown["status"], shown["importance"]) == ("live", 0.9)


@pytest.mark.parametrize("query", ["", "?tag=vault", "?source=agent:diary", "?kind=turn", "?scope=owner&scope=agent"])
def test_lists_leave_it_out(outsider: Client, hidden: str, query: str) -> None:
    assert outsider.json("get", f"/memories{query}").json() == {"items": [], "next": None}


@pytest.mark.parametrize("profile", ["default", "prax", "praxis", "cortex", "engram"])
def test_recalls_leave_it_out(outsider: Client, hidden: str, profile: str) -> None:
    for query in (SECRET, "marmalade", "rmalad"):
        answer = outsider.json("post", "/recall", {"query": query, "profile": profile, "threshold": 0}).json()
        assert answer["hits"] == []
        block = outsider.json("post", "/context", {"query": query, "profile": profile}).json()
        assert block["text"] == ""


def test_counts_leave_it_out(outsider: Client, hidden: str) -> None:
    stats: dict[str, Any] = outsider.json("get", "/stats").json()
    for name in ("total", "archived", "sessions", "vectors_pending"):
        assert stats[name] == 0
    for name in ("by_tier", "by_kind", "by_category", "by_source"):
        assert stats[name] == {}


@pytest.mark.parametrize("form", ["loci", "engram"])
def test_exports_leave_it_out(outsider: Client, hidden: str, form: str) -> None:
    response = outsider.json("get", f"/export?form={form}")
    document = json.loads(b"".join(response.streaming_content))
    assert document["memories"] == []
    assert document["totalMemories"] == 0


def test_the_same_statement_of_another_is_a_row_of_its_own(outsider: Client, agent: Client, hidden: str) -> None:
    response = outsider.json("post", "/memories", {"text": SECRET})
    assert response.status_code == 201
    assert response.json()["id"] != hidden
    assert len(agent.json("get", f"/memories/{hidden}/sources").json()["items"]) == 1


def test_what_was_shared_is_hidden_again(agent: Client, colleague: Client) -> None:
    memory = remember(agent, SECRET)
    assert colleague.json("get", f"/memories/{memory}").status_code == 200
    agent.json("patch", f"/memories/{memory}", {"scope": "agent"})
    problem(colleague.json("get", f"/memories/{memory}"), 404, "not_found")
    assert colleague.json("post", "/recall", {"query": "marmalade"}).json()["hits"] == []
    agent.json("patch", f"/memories/{memory}", {"scope": "owner"})
    assert colleague.json("get", f"/memories/{memory}").json()["text"] == SECRET
