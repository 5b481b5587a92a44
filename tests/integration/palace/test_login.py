"""Logging in and out, the lock and the theme."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from memory.services.actors import Actor
from tests.conftest import PASSWORD


@pytest.fixture(autouse=True)
def forgotten_failures(db: None) -> None:
    caches["logins"].clear()


def log_in(client: Client, **fields: str) -> Any:
    return client.post("/login/", {"username": "alice", "password": PASSWORD, **fields})


def test_the_right_password_opens_the_palace(alice: Actor) -> None:
    client = Client()
    assert client.get("/login/").status_code == 200
    assert log_in(client)["Location"] == "/"
    assert client.get("/").status_code == 200


def test_a_wrong_password_says_nothing_of_the_name(alice: Actor) -> None:
    known = log_in(Client(), password="wrong").content.decode()
    unknown = log_in(Client(), username="bob", password="wrong").content.decode()
    sentence = "Please enter a correct username and password"
    assert sentence in known
    assert sentence in unknown


@pytest.mark.parametrize(
    ("wanted", "led_to"),
    [
        ("/archive/?after=x", "/archive/?after=x"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("javascript:alert(1)", "/"),
    ],
)
def test_next_leads_only_to_this_server(alice: Actor, wanted: str, led_to: str) -> None:
    assert log_in(Client(), next=wanted)["Location"] == led_to


def test_many_wrong_passwords_lock_the_name_for_a_while(alice: Actor, settings: Any) -> None:
    client = Client()
    for _ in range(settings.AXES_FAILURE_LIMIT):
        answer = log_in(client, password="wrong")
    assert answer.status_code == 429
    assert "it is locked for 15 minutes" in answer.content.decode()
    assert log_in(client).status_code == 429


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("203.0.113.7", "203.0.113.8", False),
        ("203.0.113.7", "::ffff:203.0.113.7", True),
        ("::ffff:203.0.113.7", "::ffff:203.0.113.8", False),
    ],
)
def test_the_lock_is_for_a_network(alice: Actor, settings: Any, first: str, second: str, together: bool) -> None:
    for _ in range(settings.AXES_FAILURE_LIMIT):
        log_in(Client(REMOTE_ADDR=first), password="wrong")
    assert log_in(Client(REMOTE_ADDR=second)).status_code == (429 if together else 302)


def test_logging_out_closes_it(palace: Client) -> None:
    assert palace.post("/logout/")["Location"] == "/login/"
    assert palace.get("/").status_code == 302


def test_who_is_logged_in_needs_no_form(palace: Client) -> None:
    assert palace.get("/login/")["Location"] == "/"


def test_the_theme_is_kept_and_shown(palace: Client) -> None:
    answer = palace.post("/theme/", {"theme": "dark", "next": "/remember/"})
    assert answer["Location"] == "/remember/"
    html = palace.get("/remember/").content.decode()
    assert '<html lang="en" data-theme="dark">' in html


def test_the_theme_works_without_a_login(db: None) -> None:
    assert Client().post("/theme/", {"theme": "light"}).cookies["loci_theme"].value == "light"


@pytest.mark.parametrize("theme", ["", "pink", '"><script>'])
def test_no_other_theme_is_kept(palace: Client, theme: str) -> None:
    answer = palace.post("/theme/", {"theme": theme})
    assert answer.status_code == 400
    assert "loci_theme" not in answer.cookies


def test_a_theme_leads_only_to_this_server(palace: Client) -> None:
    assert palace.post("/theme/", {"theme": "dark", "next": "https://evil.example/"})["Location"] == "/"


def test_a_forged_theme_cookie_stays_a_word(palace: Client) -> None:
    palace.cookies["loci_theme"] = '"><script>alert(1)</script>'
    assert "<script>alert" not in palace.get("/").content.decode()
