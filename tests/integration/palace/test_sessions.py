"""Sessions of browsers: made anew with each login, sent to this server only, and over in two weeks at most."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.sessions.models import Session
from django.core.cache import caches
from django.test import Client

from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.logins import set_password
from tests.conftest import PASSWORD
from tests.integration.palace.conftest import DIRECTIVES, directives


@pytest.fixture(autouse=True)
def forgotten_failures(db: None) -> None:
    caches["logins"].clear()


def log_in(client: Client, username: str = "alice", password: str = PASSWORD) -> Any:
    return client.post("/login/", {"username": username, "password": password}, secure=True)


def test_a_session_from_before_the_login_is_not_taken_over(alice: Actor) -> None:
    """Somebody who could plant a session's name in a browser knows nothing after the login."""
    client = Client()
    planted = client.session
    planted["seen"] = "by somebody else"
    planted.save()
    key = planted.session_key
    assert key
    client.cookies["loci_session"] = key
    assert log_in(client).status_code == 302
    assert client.cookies["loci_session"].value != key
    assert not Session.objects.filter(session_key=key).exists()
    other = Client()
    other.cookies["loci_session"] = key
    assert other.get("/").status_code == 302


def test_a_session_is_over_in_two_weeks(alice: Actor) -> None:
    client = Client()
    cookie = log_in(client).cookies["loci_session"]
    assert cookie["max-age"] == 14 * 24 * 60 * 60
    session = Session.objects.get(session_key=cookie.value)
    assert session.expire_date <= now() + timedelta(days=14)
    before = session.expire_date
    assert client.get("/").status_code == 200
    assert Session.objects.get(session_key=cookie.value).expire_date == before, "use does not prolong it"


def test_logging_out_removes_the_session(alice: Actor) -> None:
    client = Client()
    key = log_in(client).cookies["loci_session"].value
    client.post("/logout/")
    assert not Session.objects.filter(session_key=key).exists()


def test_another_password_ends_every_session_of_the_login(alice: Actor, mallory: Actor) -> None:
    browsers = [Client(), Client()]
    for browser in browsers:
        log_in(browser)
    stranger = Client()
    log_in(stranger, "mallory")
    set_password(username="alice", password="another battery staple")
    assert [browser.get("/").status_code for browser in browsers] == [302, 302]
    assert stranger.get("/").status_code == 200
    assert log_in(browsers[0]).status_code == 200, "the former password"
    assert log_in(browsers[0], password="another battery staple").status_code == 302


def test_cookies_and_headers_behind_tls(alice: Actor, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_HSTS_SECONDS = 31_536_000
    client = Client()
    form = client.get("/login/", secure=True)
    answer = log_in(client)
    for cookie in (form.cookies["loci_csrf"], answer.cookies["loci_session"]):
        assert cookie["secure"]
        assert cookie["samesite"] == "Lax"
    assert answer.cookies["loci_session"]["httponly"]
    assert answer["Strict-Transport-Security"] == "max-age=31536000"
    assert form["X-Content-Type-Options"] == "nosniff"
    assert form["X-Frame-Options"] == "DENY"
    assert form["Referrer-Policy"] == "same-origin"
    assert form["Cross-Origin-Opener-Policy"] == "same-origin"
    assert directives(form) == DIRECTIVES
