"""Logins, wrong passwords, locks and log-outs of known names are recorded; nothing about unknown ones is."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client

from memory.models import AuditEvent, Owner, User, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.logins import set_password
from tests.conftest import PASSWORD


@pytest.fixture(autouse=True)
def forgotten_failures(db: None) -> None:
    caches["logins"].clear()


def log_in(client: Client, **fields: str) -> Any:
    return client.post("/login/", {"username": "alice", "password": PASSWORD, **fields})


def recorded(owner: Actor) -> list[tuple[str, str]]:
    with owner_scope(owner.owner_id):
        events = list(AuditEvent.objects.filter(object_kind="login").order_by("pk"))
    assert all(event.object_id is None and event.reason == "" for event in events), "no name, no address"
    return [(event.verb, event.actor) for event in events]


def test_in_and_out(alice: Actor, mallory: Actor) -> None:
    client = Client()
    log_in(client)
    client.post("/logout/")
    assert recorded(alice) == [("login", "person"), ("logout", "person")]
    assert recorded(mallory) == []


def test_wrong_passwords_and_the_lock_once(alice: Actor, settings: Any) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    client = Client()
    for _ in range(3):
        log_in(client, password="wrong")
    expected = [("login_failed", "unknown")] * 3 + [("login_locked", "unknown")]
    assert recorded(alice) == expected
    for _ in range(5):
        assert log_in(client).status_code == 429
    assert recorded(alice) == expected, "attempts while it is locked fill nothing"


@pytest.mark.parametrize("name", ["bob", "Alice", "alice ", "a" * 200, "", "alice'; --", "\N{SNOWMAN}"])
def test_names_that_nobody_has_leave_nothing(alice: Actor, name: str) -> None:
    answer = log_in(Client(), username=name, password="wrong")
    assert answer.status_code == 200
    assert [verb for verb, _ in recorded(alice)] == (["login_failed"] if name.strip() == "alice" else [])


def test_a_login_without_an_owner_can_log_in(db: None) -> None:
    User.objects.create_user("staff", password=PASSWORD)
    assert log_in(Client(), username="staff").status_code == 302


def test_somebody_who_is_purged_can_still_try(alice: Actor) -> None:
    Owner.objects.filter(pk=alice.owner_id).update(purging_at=now())
    assert log_in(Client(), password="wrong").status_code == 200
    assert log_in(Client()).status_code == 302
    with owner_scope(alice.owner_id, purging=True):
        assert not AuditEvent.objects.exists()


def test_a_password_that_the_operator_sets(alice: Actor) -> None:
    set_password(username="alice", password="another battery staple")
    assert recorded(alice) == [("password", "operator")]
