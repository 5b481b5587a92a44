"""Requests that Django refuses leave one line each in the log, a warning in words of ours; and the way to the login."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import AsyncClient, Client

from memory.services.actors import Actor
from tests.integration.api.test_request_ids import logged
from tests.integration.palace.conftest import client_of

PLANTED = "planted.in.log@example.org"
LONG = "x" * 20_000


@pytest.fixture
def staff(make_owner: Any) -> Client:
    """The browser of one who looks after the installation."""
    return client_of(make_owner("boss", staff=True))


@pytest.mark.parametrize(
    ("path", "query", "logger"),
    [
        ("/admin/memory/memory/", {PLANTED: "x"}, "DisallowedModelAdminLookup"),
        ("/admin/memory/memory/", {"_to_field": PLANTED}, "DisallowedModelAdminToField"),
        ("/review", {"q": PLANTED + LONG}, "DisallowedRedirect"),
        ("/admin/memory/memory/", {f"planted{number}": "x" for number in range(1100)}, "TooManyFieldsSent"),
    ],
)
@pytest.mark.parametrize("form", ["text", "json"])
def test_a_refusal_is_one_warning_without_the_clients_words(
    staff: Client, form: str, path: str, query: dict[str, str], logger: str
) -> None:
    with logged(form) as lines:
        assert staff.get(path, query).status_code == 400
    (line,) = lines()
    assert f"django.security.{logger}" in line
    assert "a request was refused, at " in line
    assert "WARNING" in line
    assert "planted" not in line
    assert len(line) < 300


def test_the_line_names_the_route(staff: Client) -> None:
    with logged("json") as lines:
        staff.get("/admin/memory/memory/", {PLANTED: "x"})
    (line,) = map(json.loads, lines())
    assert line["message"] == "a request was refused, at /admin/memory/memory/"
    assert "exception" not in line


@pytest.mark.parametrize(
    ("headers", "secure", "said"),
    [
        ({"Origin": "https://planted7.example.org"}, False, "Origin checking failed, at "),
        ({"Referer": "https://planted7.example.org/"}, True, "Referer checking failed, at "),
        ({}, False, "CSRF cookie not set, at "),
        ({"Cookie": "loci_csrf=planted"}, False, "CSRF check failed, at "),
        ({"Cookie": f"loci_csrf={'x' * 32}"}, False, "CSRF token missing, at "),
    ],
)
@pytest.mark.django_db
def test_a_form_without_its_token_is_one_warning_too(headers: dict[str, str], secure: bool, said: str) -> None:
    with logged("text") as lines:
        answer = Client(enforce_csrf_checks=True).post("/login/", {"username": PLANTED}, headers=headers, secure=secure)
    assert answer.status_code == 403
    (line,) = lines()
    assert said in line
    assert "WARNING django.security.csrf" in line
    assert "planted" not in line


def test_it_is_no_line_where_warnings_are_not_wanted(staff: Client) -> None:
    with logged("text", "ERROR") as lines:
        staff.get("/admin/memory/memory/", {PLANTED: "x"})
    assert lines() == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "query", "back"),
    [
        ("/", {"q": LONG}, "/"),
        ("/review/", {"source": LONG}, "/review/"),
        ("/review/", {"source": "x"}, "/review/?source=x"),
        (f"/admin/{LONG}/", {}, "/"),
        ("/admin/memory/memory/", {"q": "\U0001f511" * 3_000}, "/admin/memory/memory/"),
        ("/admin/login/", {"next": "/admin/?q=" + "\U0001f511" * 2_000}, "/admin/"),
    ],
)
def test_the_login_is_reached_from_every_address(path: str, query: dict[str, str], back: str) -> None:
    with logged("text") as lines:
        answer = Client().get(path, query)
    assert answer.status_code == 302
    assert parse_qs(urlsplit(answer["Location"]).query)["next"] == [back]
    assert lines() == []


@pytest.mark.django_db
def test_a_part_of_a_page_leads_there_too() -> None:
    address = f"http://testserver/review/?source={LONG}"
    answer = Client().get("/review/", headers={"HX-Request": "true", "HX-Current-URL": address})
    assert answer["HX-Redirect"] == "/login/?next=%2Freview%2F"


@pytest.mark.django_db(transaction=True)
def test_it_is_the_same_in_the_event_loop(alice: Actor) -> None:
    with logged("text") as lines:
        answer: Any = asyncio.run(AsyncClient().get("/review", {"q": PLANTED + LONG}))
    assert answer.status_code == 400
    (line,) = lines()
    assert "a request was refused" in line
    assert "planted" not in line
