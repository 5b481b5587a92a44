"""Export and import."""

from __future__ import annotations

import json
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import AsyncClient

from memory.services.actors import Permission
from tests.integration.api.conftest import API, Client, problem, remember


def exported(client: Client, form: str = "loci") -> Any:
    response = client.json("get", f"/export?form={form}")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/json"
    return json.loads(b"".join(response.streaming_content))


def test_an_export_can_be_imported_by_another(agent: Client, stranger: Client) -> None:
    remember(agent, "Tea is warm. \N{HOT BEVERAGE}", kind="fact", tags=["tea"], metadata={"a": [1]}, importance=0.7)
    remember(agent, "Kyoto is old.", source="user:al/chat", valid_from="2020-01-01")
    agent.json("post", "/turns", {"session": "trip", "turns": [{"text": "ok", "role": "user"}, {"text": "ok"}]})
    document = exported(agent)
    imported = stranger.json("post", "/import", document)
    assert imported.status_code == 200
    nothing = {"created": 0, "existing": 0, "skipped": 0}
    graph = dict.fromkeys(("entities", "relations", "events", "causes", "edges"), nothing)
    assert imported.json() == {
        "created": 4,
        "existing": 0,
        "skipped": 0,
        "graph": graph,
        "skills": {},
        "errors": [],
        "further_errors": 0,
    }

    def plain(item: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in item.items() if name not in ("id", "created_at")}

    assert [plain(item) for item in exported(stranger)["memories"]] == [plain(item) for item in document["memories"]]
    assert stranger.json("post", "/import", document).json()["existing"] == 4


def test_the_export_is_a_file(agent: Client) -> None:
    response = agent.json("get", "/export")
    assert response["Content-Disposition"].startswith('attachment; filename="loci-memories-')
    assert response["Content-Disposition"].endswith('.json"')
    assert response["Cache-Control"] == "no-store"
    assert isinstance(response, StreamingHttpResponse)


def test_the_other_form_is_taken_back_too(agent: Client, stranger: Client) -> None:
    remember(agent, "Tea is warm.", importance=0.7, category="fact")
    document = exported(agent, "engram")
    (item,) = document["memories"]
    assert set(item) == {"id", "content", "category", "importance", "created_at"}
    assert item["importance"] == 7
    stranger.json("post", "/import", document)
    (memory,) = stranger.json("get", "/memories").json()["items"]
    assert (memory["text"], memory["importance"], memory["category"]) == ("Tea is warm.", 0.7, "fact")


def test_an_asynchronous_server_streams_the_same_document(agent: Client, make_agent: Any, alice: Any) -> None:
    for number in range(3):
        remember(agent, f"statement {number}")
    _, secret = make_agent(alice, "exporter", scopes=[Permission.TRANSFER, Permission.READ])

    async def fetch() -> bytes:
        response: Any = await AsyncClient().get(f"{API}/export", headers={"Authorization": f"Bearer {secret}"})
        assert isinstance(response, StreamingHttpResponse)
        assert response.is_async
        return b"".join([piece async for piece in response])

    document = json.loads(async_to_sync(fetch)())
    assert [item["content"] for item in document["memories"]] == [f"statement {number}" for number in range(3)]


def test_bad_items_are_reported_and_the_others_stored(agent: Client) -> None:
    items: list[Any] = [
        {"content": "good"},
        {"content": ""},
        {"content": "bad", "category": 7},
        {"content": "bad", "kind": ["note"]},
        {"content": "bad", "tags": {"a": 1}},
        {"content": "turn", "kind": "turn", "session": "\x00", "position": 0},
        {"content": "turn", "kind": "turn", "session": "s" * 900, "position": 0},
        {"content": "turn", "kind": "turn"},
        {"content": "turn", "kind": "turn", "session": "s", "position": "first"},
        {"content": "old", "status": "archived"},
        "text",
        {"content": "older", "status": "superseded"},
    ]
    body = agent.json("post", "/import", {"format": "loci-export/1", "memories": items}).json()
    assert (body["created"], body["skipped"]) == (2, 1)
    assert [error["index"] for error in body["errors"]] == [1, 2, 3, 4, 5, 6, 7, 8, 10]
    assert [item["text"] for item in agent.json("get", "/memories").json()["items"]] == ["good"]


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({}, "import.format"),
        ({"memories": {}}, "import.format"),
        ({"memories": [], "format": "loci-export/99"}, "import.format"),
        ({"memories": [], "format": ["loci-export/2"]}, "import.format"),
        ({"memories": [{"content": "x"}], "format": "loci-export/2", "entities": {}}, "import.format"),
        ({"memories": [], "format": "loci-export/2", "entities": [{"name": ""}]}, "batch.nothing_stored"),
        ({"memories": [{}] * 20_001}, "import.size"),
        ({"memories": [{"content": ""}, 7]}, "batch.nothing_stored"),
    ],
)
def test_documents_that_cannot_be_imported(agent: Client, document: Any, code: str) -> None:
    problem(agent.json("post", "/import", document), 422, code)
    assert agent.json("get", "/memories").json()["items"] == []


def test_a_graph_that_is_too_large_is_refused_before_anything_is_stored(agent: Client) -> None:
    document = {"memories": [{"content": "x"}], "format": "loci-export/2", "relations": [{}] * 20_001}
    body = problem(agent.json("post", "/import", document), 413, "import.graph_size")
    assert body["field"] == "relations"
    assert agent.json("get", "/memories").json()["items"] == []


def test_not_more_than_a_hundred_errors_are_listed(agent: Client) -> None:
    document = {
        "memories": [{"content": ""}] * 70 + [{"content": "good"}],
        "format": "loci-export/2",
        "entities": [{"name": ""}] * 50,
    }
    body = agent.json("post", "/import", document).json()
    assert (len(body["errors"]), body["further_errors"]) == (100, 20)
    assert [error.get("part") for error in body["errors"]] == [body["errors"][0].get("part")] * 70 + ["entities"] * 30
    document["memories"] = [{"content": ""}] * 70
    body = problem(agent.json("post", "/import", document), 422, "batch.nothing_stored")
    assert (len(body["errors"]), body["further_errors"]) == (100, 20)


def test_the_scope_of_an_import_is_asked_for(agent: Client, colleague: Client) -> None:
    document = {"memories": [{"content": "Dear diary."}]}
    for scope in ("", "*", "everyone"):
        problem(agent.json("post", f"/import?scope={scope}", document), 422, "scope.invalid")
    assert agent.json("post", "/import?scope=agent", document).json()["created"] == 1
    assert colleague.json("get", "/memories").json()["items"] == []


def test_an_import_needs_the_permission_to_write(alice: Any, make_client: Any) -> None:
    client = make_client(alice, "courier", scopes=[Permission.TRANSFER, Permission.READ])
    body = problem(client.json("post", "/import", {"memories": [{"content": "x"}]}), 403, "auth.forbidden")
    assert body["permission"] == "memory:write"


def test_what_was_archived_stays_so_whoever_imports(agent: Client, mallory: Any, make_client: Any) -> None:
    agent.json("post", f"/memories/{remember(agent, 'Tea was warm.')}/archive")
    agent.json("post", "/turns", {"session": "trip", "turns": [{"text": "ok"}]})
    document = exported(agent)
    for item in document["memories"]:
        item["status"] = "archived"
    permissions = [Permission.TRANSFER, Permission.READ, Permission.WRITE]
    mover = make_client(mallory, "mover", scopes=permissions)
    assert mover.json("post", "/import", document).json()["created"] == 2
    assert mover.json("get", "/memories").json()["items"] == []
    archived = mover.json("get", "/memories?status=archived").json()["items"]
    assert sorted(row["text"] for row in archived) == ["Tea was warm.", "ok"]
    problem(mover.json("post", f"/memories/{archived[0]['id']}/archive"), 403, "auth.forbidden")


def test_unknown_forms_are_refused(agent: Client) -> None:
    problem(agent.json("get", "/export?form=csv"), 422, "form.invalid")
