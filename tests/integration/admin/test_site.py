"""The admin's door: the palace's login, and staff only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from memory.models import User
from memory.services.actors import Actor
from memory.services.health import heartbeat
from telemetry.services.turns.test_mode import set_test_mode
from tests.conftest import PASSWORD
from tests.integration.palace.conftest import DIRECTIVES, client_of, directives


def test_staff_find_the_front_page_under_the_same_policy(staff: Client) -> None:
    answer = staff.get("/admin/")
    assert answer.status_code == 200
    assert "Loci administration" in answer.content.decode()
    assert directives(answer) == DIRECTIVES
    html = answer.content.decode()
    assert " style=" not in html
    assert "<style" not in html
    assert html.count("<script") == html.count("<script src")
    assert "no-store" in answer["Cache-Control"]


def test_the_front_page_leads_to_the_palace_and_out(staff: Client) -> None:
    html = staff.get("/admin/").content.decode()
    assert 'action="/logout/"' in html
    assert "password" not in html.casefold()


@pytest.mark.parametrize(
    "page", ["telemetry-admin:coverage", "telemetry:costs", "telemetry:health", "telemetry:recall"]
)
def test_the_front_page_leads_to_what_telemetry_adds(staff: Client, page: str) -> None:
    address = reverse(page)
    assert staff.get("/admin/").content.decode().count(f'href="{address}"') >= 2
    assert staff.get(address).status_code == 200


@pytest.mark.parametrize("path", ["/admin/", "/admin/login/", "/admin/nothing/"])
def test_without_a_login_everything_leads_to_the_door_of_the_palace(db: None, path: str) -> None:
    answer = Client().get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/?next=/admin/")


def test_the_admin_looks_at_no_password(make_owner: Callable[..., Actor]) -> None:
    make_owner("boss", staff=True)
    client = Client()
    answer = client.post("/admin/login/", {"username": "boss", "password": PASSWORD})
    assert answer.status_code == 302
    assert answer["Location"] == "/login/?next=/admin/"
    assert "_auth_user_id" not in client.session


def test_the_door_lets_staff_into_the_admin(make_owner: Callable[..., Actor]) -> None:
    make_owner("boss", staff=True)
    answer = Client().post("/login/", {"username": "boss", "password": PASSWORD, "next": "/admin/"})
    assert (answer.status_code, answer["Location"]) == (302, "/admin/")


@pytest.mark.parametrize("path", ["/admin/", "/admin/nothing/"])
def test_who_is_no_staff_is_told_so(palace: Client, path: str) -> None:
    answer = palace.get(path)
    assert answer.status_code == 403
    assert "account.no_staff" in answer.content.decode()


def test_a_login_that_is_no_longer_staff_is_out_at_once(staff: Client) -> None:
    User.objects.filter(username="boss").update(is_staff=False)
    assert staff.get("/admin/").status_code == 403


def test_staff_without_an_owner_see_nothing(db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_user("lost", password=PASSWORD, is_staff=True))
    answer = client.get("/admin/")
    assert answer.status_code == 403
    assert "account.no_owner" in answer.content.decode()


@pytest.mark.parametrize("path", ["password_change/", "logout/", "r/1/1/"])
def test_what_is_left_out_is_not_there(staff: Client, path: str) -> None:
    assert staff.get(f"/admin/{path}").status_code == 404


def test_a_form_without_its_token_is_refused(staff: Client, make_owner: Any) -> None:
    checked = Client(enforce_csrf_checks=True)
    checked.cookies = staff.cookies
    assert checked.post("/admin/").status_code == 403


def test_the_front_page_says_when_test_mode_is_on(make_owner: Callable[..., Actor]) -> None:
    boss, other = make_owner("boss", staff=True), make_owner("other")
    client = client_of(boss)
    set_test_mode(actor=other, enabled=True)
    assert "Test mode" not in client.get("/admin/").content.decode()
    set_test_mode(actor=boss, enabled=True)
    html = client.get("/admin/").content.decode()
    assert "Test mode is on." in html
    assert f'href="{reverse("telemetry:test-mode")}"' in html
    set_test_mode(actor=boss, enabled=False)
    assert "Test mode" not in client.get("/admin/").content.decode()


def test_the_front_page_says_when_no_worker_runs(staff: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "No worker is running" not in staff.get("/admin/").content.decode()
    monkeypatch.setattr(heartbeat, "SILENCE", timedelta(0))
    answer = staff.get("/admin/")
    assert answer.status_code == 200
    assert "No worker is running" in answer.content.decode()
