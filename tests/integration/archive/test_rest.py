"""Archives and snapshots over REST."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse
from django.test import AsyncClient

from memory.models import AuditEvent, Memory, User, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.archive import snapshot_format
from memory.services.drafts import Draft
from memory.services.remember import remember
from tests.integration.api.conftest import API, Client, client_of, problem
from tests.integration.archive.archives import archive_of, lines_of

pytestmark = pytest.mark.django_db(transaction=True)

OCTETS = "application/octet-stream"
WORDS = "sieben stille Reiher äöü"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretch passphrases with the least effort that is taken."""
    monkeypatch.setattr(snapshot_format, "LOG_N", snapshot_format.LEAST_LOG_N)


@pytest.fixture
def person_of() -> Callable[[Actor], Client]:
    """Give a function that makes a client of a person who is logged in."""

    def client(owner: Actor) -> Client:
        made = Client()
        made.force_login(User.objects.get(owner__id=owner.owner_id))
        return made

    return client


def sent(client: Client, path: str, data: Any, *, content_type: str = OCTETS, **headers: str) -> Any:
    """Send a file as a body."""
    return client.generic("POST", f"{API}{path}", data, content_type=content_type, headers=headers)


def texts(owner: Actor) -> set[str]:
    """Give what an owner's memories say."""
    with owner_scope(owner.owner_id):
        return {row.text for row in Memory.objects.all()}


def test_out_and_in_again(alice: Actor, mallory: Actor, person_of: Callable[[Actor], Client]) -> None:
    remember(actor=alice, draft=Draft(text="Al drinks tea."))
    response = person_of(alice).json("get", "/archive")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/zip"
    assert response["Content-Disposition"].startswith('attachment; filename="loci-archive-')
    assert response["Cache-Control"] == "no-store"
    data = b"".join(response.streaming_content)
    assert zipfile.ZipFile(io.BytesIO(data)).testzip() is None
    for content_type in (OCTETS, "application/zip"):
        answer = sent(person_of(mallory), "/archive/import", data, content_type=content_type)
        assert answer.status_code == 200, answer.content
    assert answer.json()["memories"]["existing"] == 1
    assert answer.json()["signed_here"] is True
    assert texts(mallory) == {"Al drinks tea."}


def test_a_caller_may_ask_for_a_zip(alice: Actor, person_of: Callable[[Actor], Client]) -> None:
    client = person_of(alice)
    assert client.json("get", "/archive", Accept="application/zip").status_code == 200
    problem(client.json("get", "/archive", Accept="text/html"), 406, "accept.unsupported")


def test_an_asynchronous_server_streams_it(alice: Actor, make_agent: Any) -> None:
    remember(actor=alice, draft=Draft(text="Al drinks tea."))
    _, secret = make_agent(alice, "exporter", scopes=[Permission.PRIVACY, Permission.READ])

    async def fetch() -> bytes:
        response: Any = await AsyncClient().get(f"{API}/archive", headers={"Authorization": f"Bearer {secret}"})
        assert isinstance(response, StreamingHttpResponse)
        assert response.is_async
        return b"".join([piece async for piece in response])

    data = async_to_sync(fetch)()
    assert [line["text"] for line in lines_of(data, "memories")] == ["Al drinks tea."]


def test_a_snapshot_and_its_passphrase(alice: Actor, mallory: Actor, person_of: Callable[[Actor], Client]) -> None:
    remember(actor=alice, draft=Draft(text="Al drinks tea."))
    response = person_of(alice).json("post", "/snapshots", {"passphrase": WORDS})
    assert response["Content-Type"] == OCTETS
    data = b"".join(response.streaming_content)
    thief = person_of(mallory)
    problem(sent(thief, "/snapshots/restore", data), 422, "passphrase.required")
    wrong = {"X-Loci-Passphrase": "another passphrase"}
    problem(sent(thief, "/snapshots/restore", data, **wrong), 422, "snapshot.passphrase")
    problem(sent(thief, "/snapshots/restore", data, **{"X-Loci-Passphrase": "%ff" * 12}), 400, "passphrase.encoding")
    right = {"X-Loci-Passphrase": "sieben%20stille%20Reiher%20%C3%A4%C3%B6%C3%BC"}
    assert sent(thief, "/snapshots/restore", data, **right).status_code == 200
    assert texts(mallory) == {"Al drinks tea."}


def test_an_own_snapshot_brings_back_what_is_asked_for(alice: Actor, person_of: Callable[[Actor], Client]) -> None:
    client = person_of(alice)
    kept = remember(actor=alice, draft=Draft(text="Al drinks tea.")).memory_id
    data = b"".join(client.json("post", "/snapshots", {}).streaming_content)
    assert client.json("post", f"/memories/{kept}/archive").status_code == 200
    assert sent(client, "/snapshots/restore", data).json()["memories"]["existing"] == 1
    assert sent(client, "/snapshots/restore?mode=all", data).json()["memories"]["restored"] == 1
    problem(sent(client, "/snapshots/restore?mode=some", data), 422, "mode.invalid")
    problem(sent(client, "/archive/import?settings=1", data), 422, "settings.invalid")


@pytest.mark.parametrize(
    ("path", "data", "status", "code"),
    [
        ("/archive/import", b"", 400, "body.empty"),
        ("/archive/import", b"no archive" * 10, 422, "archive.damaged"),
        ("/snapshots/restore", b"", 400, "body.empty"),
        ("/snapshots/restore", b"no snapshot", 422, "snapshot.format"),
    ],
)
def test_a_body_that_is_no_file_of_ours(
    alice: Actor, person_of: Callable[[Actor], Client], path: str, data: bytes, status: int, code: str
) -> None:
    problem(sent(person_of(alice), path, data), status, code)


def test_json_is_no_file(alice: Actor, person_of: Callable[[Actor], Client]) -> None:
    client = person_of(alice)
    taken = {
        "/archive/import": "application/octet-stream or application/zip",
        "/snapshots/restore": "application/octet-stream",
    }
    for path, types in taken.items():
        refused = problem(client.json("post", path, {"memories": []}), 415, "content_type.unsupported")
        assert refused["detail"] == f"The body has to be sent as {types}. Nothing was stored."
    refused = problem(sent(client, "/snapshots", b"x"), 415, "content_type.unsupported")
    assert refused["detail"] == "The body has to be sent as application/json."


def test_a_file_beyond_the_limit_is_refused(alice: Actor, person_of: Callable[[Actor], Client]) -> None:
    body = problem(sent(person_of(alice), "/archive/import", bytes(32 * 1024 * 1024 + 1)), 413, "body.too_large")
    assert body["limit"] == 32 * 1024 * 1024


def test_the_same_request_again_gives_the_same_answer(alice: Actor, person_of: Callable[[Actor], Client]) -> None:
    client = person_of(alice)
    data = archive_of(alice)
    again = {"Idempotency-Key": "once"}
    first = sent(client, "/archive/import", data, **again)
    second = sent(client, "/archive/import", data, **again)
    assert first.json() == second.json()
    assert second["Idempotency-Replayed"] == "true"
    problem(sent(client, "/archive/import", data + b"x", **again), 422, "idempotency.mismatch")


def test_a_key_needs_its_permissions(alice: Actor, make_agent: Any) -> None:
    data = archive_of(alice)
    _, reader = make_agent(alice, "reader", scopes=[Permission.PRIVACY, Permission.READ])
    problem(sent(client_of(reader), "/archive/import", data), 403, "auth.forbidden")
    _, writer = make_agent(alice, "writer", scopes=[Permission.PRIVACY, Permission.WRITE])
    problem(sent(client_of(writer), "/archive/import?settings=true", data), 403, "auth.forbidden")
    assert sent(client_of(writer), "/archive/import", data).status_code == 200
    with owner_scope(alice.owner_id):
        assert AuditEvent.objects.filter(verb="import").count() == 1
