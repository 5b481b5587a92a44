"""A request for a host that is not ours: refused in the form of its address, with one short line in the log."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import AsyncClient
from pytest_django import Settings

from memory.services.actors import Actor
from tests.integration.api.conftest import API, Client, problem
from tests.integration.api.test_request_ids import logged

pytestmark = pytest.mark.django_db

FOREIGN = ["planted.example", "planted.example:8420", "planted_ann@example.org", "[planted", "planted" * 100]
SAID = "a request named a host that is not one of LOCI_ALLOWED_HOSTS"


@pytest.mark.parametrize("host", FOREIGN)
@pytest.mark.parametrize("where", ["/health", "/memories", "/nothing"])
def test_below_the_interface_it_is_a_problem(anonymous: Client, where: str, host: str) -> None:
    answer = anonymous.get(f"{API}{where}", HTTP_HOST=host)
    body = problem(answer, 400, "host.unknown")
    assert body["detail"].startswith("The request names a host that is not one of LOCI_ALLOWED_HOSTS.")
    assert "planted" not in answer.content.decode()
    assert answer["X-Request-ID"]


def test_a_write_is_refused_before_anything_is_stored(agent: Client, alice: Actor) -> None:
    problem(agent.json("post", "/memories", {"text": "Tea is warm."}, Host="planted.example"), 400, "host.unknown")
    assert agent.json("get", "/memories").json()["items"] == []


def test_pages_say_it_as_a_page(anonymous: Client) -> None:
    answer = anonymous.get("/login/", HTTP_HOST="planted.example")
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/html; charset=utf-8")
    assert "LOCI_ALLOWED_HOSTS" in answer.content.decode()


def test_other_requests_that_middlewares_refuse_are_problems_too(anonymous: Client, settings: Settings) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, f"{__name__}.suspicious"]
    problem(anonymous.get(f"{API}/health"), 400, "request.refused")


def test_it_is_the_same_in_the_event_loop() -> None:
    with logged("json") as lines:
        answer: Any = asyncio.run(AsyncClient().get(f"{API}/health", headers={"Host": "planted.example"}))
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")
    assert answer.json()["code"] == "host.unknown"
    assert [json.loads(line)["level"] for line in lines()] == ["WARNING"]


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("where", ["/login/", f"{API}/health"])
@pytest.mark.parametrize("host", FOREIGN)
def test_the_log_has_one_short_line_without_the_name(anonymous: Client, form: str, where: str, host: str) -> None:
    with logged(form) as lines:
        anonymous.get(where, HTTP_HOST=host, HTTP_X_REQUEST_ID="req-7")
    (line,) = lines()
    assert "WARNING" in line
    assert "django.security.DisallowedHost" in line
    assert SAID in line
    assert "req-7" in line
    assert "planted" not in line
    assert len(line) < 300


def test_it_is_no_line_where_warnings_are_not_wanted(anonymous: Client) -> None:
    with logged("text", "ERROR") as lines:
        anonymous.get("/login/", HTTP_HOST="planted.example")
    assert lines() == []


def suspicious(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a middleware that refuses everything."""
    from django.core.exceptions import SuspiciousOperation

    def refuse(request: Any) -> Any:
        raise SuspiciousOperation

    return refuse
