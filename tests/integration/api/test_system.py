"""Health, limits, and the one form of every error."""

from __future__ import annotations

import logging
from http import HTTPStatus
from io import BytesIO
from typing import Any

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation, ValidationError
from django.core.handlers.asgi import ASGIRequest
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from pytest_django import Settings
from rest_framework import exceptions

from memory.api.problems import problem_response
from memory.api.throttles import ActionThrottle
from memory.api.views import memories, system
from memory.errors import LociError, OwnerRequired
from memory.services.actors import Actor
from tests.integration.api.conftest import API, Client, problem, remember


@pytest.mark.django_db
def test_health_needs_no_key(anonymous: Client) -> None:
    response = anonymous.json("get", "/health")
    assert response.status_code == 200, response.content
    body = response.json()
    assert body["status"] in ("ok", "degraded")
    assert {check["name"] for check in body["checks"]} >= {"database", "schema", "embedder", "vectors", "memory"}
    assert response["Cache-Control"] == "no-store"
    problem(anonymous.json("post", "/health"), 405, "method.not_allowed")
    problem(anonymous.json("get", "/health?verbose=1"), 422, "query.unknown")


@pytest.mark.django_db
def test_health_says_that_memory_is_switched_off(anonymous: Client, settings: Settings) -> None:
    settings.MEMORY_ENABLED = False
    body = anonymous.json("get", "/health").json()
    assert body["status"] == "degraded"
    assert {check["name"]: check["status"] for check in body["checks"]}["memory"] == "degraded"


def test_a_failing_installation_answers_503(anonymous: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"status": "failing", "checks": [{"name": "database", "status": "failing", "detail": "It is gone."}]}
    monkeypatch.setattr(system, "recent_health", lambda: state)
    response = anonymous.json("get", "/health")
    assert (response.status_code, response.json()) == (503, state)


@pytest.mark.parametrize("path", ["/nothing", "/memories/", "/memories/x/y/z", "/", "/Memories"])
@pytest.mark.parametrize("method", ["get", "post", "delete", "options"])
def test_unknown_addresses_are_problems_too(anonymous: Client, path: str, method: str) -> None:
    problem(anonymous.json(method, path), 404, "route.unknown")


def test_an_answer_that_is_not_json_cannot_be_had(agent: Client) -> None:
    problem(agent.json("get", "/memories", Accept="text/html"), 406, "accept.unsupported")
    assert agent.json("get", "/memories", Accept="text/html, */*;q=0.1").status_code == 200


@pytest.mark.parametrize(
    ("rate", "method", "path", "body"),
    [
        ("write", "post", "/memories", {"text": "x"}),
        ("recall", "post", "/recall", {"query": "tea"}),
        ("recall", "post", "/context", {"query": "tea"}),
        ("read", "get", "/memories", None),
    ],
)
def test_a_caller_is_held_to_its_rate(
    agent: Client, colleague: Client, monkeypatch: pytest.MonkeyPatch, rate: str, method: str, path: str, body: Any
) -> None:
    monkeypatch.setitem(ActionThrottle.THROTTLE_RATES, rate, "2/min")
    for _ in range(2):
        assert agent.json(method, path, body).status_code < 300
    response = agent.json(method, path, body)
    found = problem(response, 429, "rate.limited")
    assert 0 < int(response["Retry-After"]) <= 60
    assert found["retry_after"] == int(response["Retry-After"])
    assert colleague.json(method, path, body).status_code < 300


def test_rates_are_counted_apart(agent: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ActionThrottle.THROTTLE_RATES, "write", "1/min")
    remember(agent, "x")
    problem(agent.json("post", "/memories", {"text": "y"}), 429, "rate.limited")
    assert agent.json("get", "/memories").status_code == 200
    assert agent.json("post", "/recall", {"query": "tea"}).status_code == 200


@pytest.mark.parametrize("error", [RuntimeError("Alice likes tea"), OwnerRequired("Alice likes tea"), KeyError("tea")])
def test_the_unexpected_is_logged_under_an_id_without_content(
    agent: Client, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def fail(**_: Any) -> Any:
        raise error

    monkeypatch.setattr(memories, "remember", fail)
    with caplog.at_level(logging.ERROR, logger="memory.api.problems"):
        response = agent.json("post", "/memories", {"text": "Alice likes tea"})
    body = problem(response, 500, "internal")
    (line,) = [record.getMessage() for record in caplog.records if record.name == "memory.api.problems"]
    assert body["id"] in line
    assert type(error).__name__ in line
    assert "test_system.py" in line
    assert "Alice" not in line
    assert "Alice" not in response.content.decode()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (Http404("x"), 404, "not_found"),
        (PermissionDenied("x"), 403, "auth.forbidden"),
        (ValidationError("x"), 422, "input.invalid"),
        (RequestDataTooBig("x"), 413, "body.too_large"),
        (SuspiciousOperation("x"), 400, "request.refused"),
        (UnreadablePostError("x"), 400, "body.unreadable"),
        (OperationalError("x"), 503, "database.unavailable"),
        (InterfaceError("x"), 503, "database.unavailable"),
        (exceptions.ParseError("x"), 400, "json.malformed"),
        (exceptions.NotFound("x"), 404, "not_found"),
        (exceptions.NotAuthenticated("x"), 401, "auth.required"),
        (exceptions.Throttled(3), 429, "rate.limited"),
        (exceptions.ValidationError("y"), 422, "field.type"),
        (exceptions.ValidationError({}), 422, "input.invalid"),
    ],
)
def test_every_exception_becomes_a_problem(error: Exception, status: int, code: str) -> None:
    response = problem_response(error)
    assert response.content_type == "application/problem+json"
    assert (response.status_code, response.data["status"], response.data["code"]) == (status, status, code)
    assert response.data["title"] == HTTPStatus(status).phrase
    assert response.data["type"] == f"urn:loci:problem:{code}"
    assert "x" not in response.data["detail"].split()


def test_details_never_hide_the_members_of_a_problem() -> None:
    class OddError(LociError):
        """Odd."""

        status = 422

    body = problem_response(OddError("words", code="odd", status="mine", type="mine", limit=3)).data
    assert (body["status"], body["type"], body["limit"]) == (422, "urn:loci:problem:odd", 3)


@pytest.mark.parametrize("raw", [b'{"text": "sent in pieces"}', b"", b"{"])
def test_a_body_in_chunks_without_a_length_is_read(agent: Client, alice: Actor, make_agent: Any, raw: bytes) -> None:
    _, secret = make_agent(alice, "streamer")
    scope = {
        "type": "http",
        "method": "POST",
        "path": f"{API}/memories",
        "query_string": b"",
        "headers": [
            (b"authorization", f"Bearer {secret}".encode()),
            (b"content-type", b"application/json"),
            (b"transfer-encoding", b"chunked"),
        ],
    }
    response = memories.MemoriesView.as_view()(ASGIRequest(scope, BytesIO(raw)))
    assert response.status_code == {0: 422, 1: 400}.get(len(raw), 201)
    stored = [item["text"] for item in agent.json("get", "/memories").json()["items"]]
    assert stored == (["sent in pieces"] if len(raw) > 1 else [])


@pytest.mark.parametrize("path", ["/docs", "/schema"])
def test_errors_of_the_descriptions_are_problems_too(anonymous: Client, path: str) -> None:
    problem(anonymous.json("post", path), 405, "method.not_allowed")
    response = anonymous.json("get", path, Accept="image/png")
    assert problem(response, 406, "accept.unsupported")
    assert response["Cache-Control"] == "no-store"


def test_what_would_be_passed_over_is_refused(agent: Client) -> None:
    memory = remember(agent, "Tea is warm.")
    problem(agent.json("post", f"/memories/{memory}/archive", {"reason": "old"}), 422, "field.unknown")
    problem(agent.json("delete", f"/memories/{memory}", {"permanently": True}), 422, "field.unknown")
    assert agent.json("get", f"/memories/{memory}").json()["status"] == "live"
    assert agent.json("delete", f"/memories/{memory}", {}).status_code == 200


def test_head_answers_like_get_without_a_body(agent: Client) -> None:
    memory = remember(agent, "Tea is warm.")
    response = agent.head(f"{API}/memories/{memory}")
    assert (response.status_code, response.content, response["ETag"]) == (200, b"", '"1"')
    assert agent.head(f"{API}/memories/x").status_code == 404
