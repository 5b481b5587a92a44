"""Files over REST: JSON and raw text, ETag and If-Match, names and contents that are meant to harm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.ids import new_id
from memory.services.actors import Actor, Permission
from tests.integration.api.conftest import API, Client

pytestmark = pytest.mark.django_db(transaction=True)


def code(response: Any, status: int) -> Any:
    assert response.status_code == status, response.content
    return response.json().get("code")


def create(client: Client, path: str = "SOUL.md", content: str = "I am kind.", **more: Any) -> dict[str, Any]:
    response = client.json("post", "/files", {"path": path, "content": content, **more})
    assert response.status_code == 201, response.content
    assert response["ETag"] == '"1"'
    assert response["Location"] == f"{API}/files/{response.json()['id']}"
    made: dict[str, Any] = response.json()
    return made


def put(client: Client, path: str, data: bytes, content_type: str, version: str = "*") -> Any:
    """Send a text as the body that it is."""
    body: Any = data
    return client.generic("PUT", f"{API}{path}", body, content_type=content_type, headers={"If-Match": version})


def test_a_file_is_created_read_changed_and_deleted(agent: Client) -> None:
    made = create(agent, model="llama3.1:8b")
    assert made == {
        **made, "path": "SOUL.md", "scope": f"agent:{agent.actor.agent_id}", "media_type": "text/markdown",
        "bytes": 10, "version": 1, "deleted_at": None, "changed_by": f"agent:{agent.actor.agent_id}",
        "model": "llama3.1:8b", "injection_kinds": [],
    }  # fmt: skip
    assert "content" not in made
    address = f"/files/{made['id']}"
    read = agent.json("get", address)
    assert (read.json()["content"], read["ETag"]) == ("I am kind.", '"1"')
    written = agent.json("put", address, {"content": "I am brief."}, **{"If-Match": '"1"'})
    assert (written.status_code, written["ETag"], written.json()["version"]) == (200, '"2"', 2)
    renamed = agent.json("patch", address, {"path": "self/SOUL.md"}, **{"If-Match": '"2"'})
    assert (renamed.status_code, renamed.json()["path"]) == (200, "self/SOUL.md")
    listed = agent.json("get", "/files?path=self/soul.md").json()
    assert [one["id"] for one in listed["items"]] == [made["id"]]
    assert agent.json("delete", address, None, **{"If-Match": '"3"'}).status_code == 200
    assert agent.json("get", "/files").json() == {"items": [], "next": None}
    assert [one["id"] for one in agent.json("get", "/files?deleted=true").json()["items"]] == [made["id"]]
    assert agent.json("post", f"{address}/restore", {"number": 1}).json()["version"] == 5
    history = agent.json("get", f"{address}/history").json()["items"]
    assert [one["change"] for one in history] == ["restored", "deleted", "renamed", "written", "created"]
    assert agent.json("get", f"{address}/history/2").json() == {"number": 2, "content": "I am brief."}
    assert code(agent.json("get", f"{address}/history/9"), 404) == "file.version_unknown"
    assert code(agent.json("get", f"{address}/history/x"), 404) == "file.version_unknown"


def test_a_write_names_the_version_that_it_was_made_from(agent: Client) -> None:
    address = f"/files/{create(agent)['id']}"
    assert code(agent.json("put", address, {"content": "x"}), 428) == "precondition.required"
    agent.json("put", address, {"content": "one"}, **{"If-Match": '"1"'})
    refused = agent.json("put", address, {"content": "two"}, **{"If-Match": '"1"'})
    assert (code(refused, 412), refused.json()["version"]) == ("precondition.failed", 2)
    for method, body in (("patch", {"path": "x"}), ("delete", None)):
        assert code(agent.json(method, address, body, **{"If-Match": '"1"'}), 412) == "precondition.failed"
    assert code(agent.json("post", f"{address}/restore", {"number": 1}, **{"If-Match": '"1"'}), 412)
    assert agent.json("get", address).json()["content"] == "one"
    assert agent.json("put", address, {"content": "three"}, **{"If-Match": "*"}).json()["version"] == 3
    several = agent.json("put", address, {"content": "four"}, **{"If-Match": '"7", "3"'})
    assert several.json()["version"] == 4


def test_one_name_stands_once(agent: Client) -> None:
    made = create(agent)
    taken = agent.json("post", "/files", {"path": "soul.md"})
    assert (code(taken, 409), taken.json()["file_id"], taken.json()["version"]) == ("file.taken", made["id"], 1)
    other = create(agent, "OTHER.md")
    assert code(agent.json("patch", f"/files/{other['id']}", {"path": "SOUL.md"}), 409) == "file.taken"


def test_the_text_alone_goes_in_and_out(agent: Client) -> None:
    made = create(agent, content="")
    text = "# Soul\r\n\r\n<script>alert(1)</script> Zoë \u202e\n"
    address = f"/files/{made['id']}"
    sent = put(agent, address, text.encode(), "text/plain; charset=utf-8", '"1"')
    assert (sent.status_code, sent.json()["media_type"], sent["ETag"]) == (200, "text/plain", '"2"')
    for wanted in ("text/plain", "text/markdown"):
        read = agent.get(f"{API}/files/{made['id']}", headers={"Accept": wanted})
        assert (read.content.decode(), read["ETag"]) == (text, '"2"')
        assert read["Content-Type"] == f"{wanted}; charset=utf-8"
        assert read["X-Content-Type-Options"] == "nosniff"
        assert read["Cache-Control"] == "no-store"
    lost = agent.get(f"{API}/files/{new_id()}", headers={"Accept": "text/plain"})
    assert lost["Content-Type"].startswith("application/problem+json")
    assert code(agent.get(f"{API}/files/{made['id']}", headers={"Accept": "text/html"}), 406) == "accept.unsupported"
    assert code(put(agent, address, b"\xff", "text/plain"), 400) == "body.not_utf8"
    assert code(put(agent, address, b"x", "text/html"), 415) == "content_type.unsupported"
    assert code(put(agent, address, b"x" * 262_145, "text/markdown"), 413) == "text.too_large"
    assert code(put(agent, address, b"x" * (2 * 1024 * 1024 + 1), "text/plain"), 413) == "body.too_large"
    assert agent.json("get", f"/files/{made['id']}").json()["version"] == 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"path": "../x"}, "path.invalid"), ({"path": "a\u202eb"}, "path.characters"),
        ({"path": "x" * 201}, "path.too_long"), ({"path": "x", "media_type": "text/html"}, "media_type.invalid"),
        ({"path": ""}, "path.empty"), ({"path": 7}, "field.type"), ({}, "field.required"),
        ({"path": "x", "content": 7}, "field.type"), ({"path": "x", "content": "\u0000"}, "text.nul"),
        ({"path": "x", "model": "<b>"}, "model.invalid"),
        ({"path": "x", "scope": "squad:1"}, "scope.invalid"), ({"path": "x", "scope": None}, "scope.invalid"),
        ({"path": "x", "owner": "me"}, "field.unknown"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_refused(agent: Client, body: dict[str, Any], expected: str) -> None:
    assert code(agent.json("post", "/files", body), 422) == expected
    assert agent.json("get", "/files").json()["items"] == []


def test_a_person_writes_for_every_agent_and_an_agent_for_itself(
    agent: Client, colleague: Client, woman: Client, stranger: Client
) -> None:
    theirs = create(woman, scope=f"agent:{colleague.actor.agent_id}")
    ours = create(woman, "USER.md")
    assert ours["scope"] == "owner"
    for client in (agent, stranger):
        for method, path, body in (
            ("get", f"/files/{theirs['id']}", None),
            ("put", f"/files/{theirs['id']}", {"content": "x"}),
            ("patch", f"/files/{theirs['id']}", {"path": "x"}),
            ("delete", f"/files/{theirs['id']}", None),
            ("get", f"/files/{theirs['id']}/history", None),
            ("get", f"/files/{theirs['id']}/history/1", None),
            ("post", f"/files/{theirs['id']}/restore", {}),
            ("get", f"/files?scope=agent:{colleague.actor.agent_id}", None),
        ):
            assert client.json(method, path, body, **{"If-Match": "*"}).status_code == 404, (method, path)
    assert colleague.json("get", f"/files/{theirs['id']}").json()["content"] == "I am kind."
    assert agent.json("get", f"/files/{ours['id']}").status_code == 200
    assert stranger.json("get", f"/files/{ours['id']}").status_code == 404
    assert {one["id"] for one in woman.json("get", "/files").json()["items"]} == {theirs["id"], ours["id"]}


def test_pages_of_files_go_on(agent: Client) -> None:
    made = [create(agent, f"{number}.md")["id"] for number in range(5)]
    found: list[str] = []
    address = "/files?limit=2"
    while True:
        page = agent.json("get", address).json()
        found += [one["id"] for one in page["items"]]
        if page["next"] is None:
            break
        address = f"/files?limit=2&cursor={page['next']}"
    assert found == made[::-1]


def test_a_usual_key_reads_and_writes_no_files(alice: Actor, make_client: Callable[..., Client], woman: Client) -> None:
    ours = create(woman, "USER.md")
    usual = make_client(alice, "usual")
    assert usual.json("get", f"/files/{ours['id']}").status_code == 200
    refused = usual.json("put", f"/files/{ours['id']}", {"content": "x"}, **{"If-Match": "*"})
    assert (code(refused, 403), refused.json()["permission"]) == ("auth.forbidden", "files:write")
    writer = make_client(alice, "writer", scopes=[Permission.FILES_WRITE])
    answer = writer.json("put", f"/files/{ours['id']}", {"content": "y"}, **{"If-Match": '"1", "4"'})
    assert answer.status_code == 200
    assert "content" not in answer.json()


def test_a_write_that_is_sent_again_is_answered_again(agent: Client) -> None:
    key = {"Idempotency-Key": "once"}
    first = agent.json("post", "/files", {"path": "SOUL.md"}, **key)
    again = agent.json("post", "/files", {"path": "SOUL.md"}, **key)
    assert (first.status_code, again.status_code, again["Idempotency-Replayed"]) == (201, 201, "true")
    assert again.json() == first.json()
