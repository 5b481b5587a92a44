"""Wrong keys from one address are refused unread after some; whoever has a right one keeps working."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from memory.services import wrong_keys
from memory.services.agents import KEY_PREFIX
from tests.integration.api.conftest import Client, client_of, problem
from tests.integration.palace.test_login_floods import Noting

WRONG = f"{KEY_PREFIX}_aaaaaaaa_{'b' * 43}"


@pytest.fixture(autouse=True)
def few(settings: Settings) -> None:
    settings.MOST_WRONG_KEYS = 3


def ask(client: Client, address: str = "203.0.113.7") -> Any:
    return client.get("/api/v1/memories", REMOTE_ADDR=address)


def flood(address: str = "203.0.113.7") -> None:
    for _ in range(3):
        problem(ask(client_of(WRONG), address), 401, "auth.invalid")


def test_a_flood_of_wrong_keys_is_refused_without_a_query(db: None) -> None:
    flood()
    with CaptureQueriesContext(connection) as captured:
        refused = ask(client_of(f"{WRONG}c"))
    found = problem(refused, 429, "rate.limited")
    assert int(refused["Retry-After"]) == found["retry_after"] == wrong_keys.WINDOW_SECONDS
    assert len(captured) == 0


def test_what_is_counted_names_no_address(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[str] = []
    noting = Noting(kept)
    noting.clear()
    monkeypatch.setattr(wrong_keys, "caches", {wrong_keys.CACHE: noting})
    for address in ("203.0.113.7", "2001:db8:1:2::7"):
        flood(address)
        problem(ask(client_of(WRONG), address), 429, "rate.limited")
    assert len({key for key in kept if key.startswith("wrong:agents:")}) == 2
    assert not any(part in key for key in kept for part in ("203.0.113", "2001:db8"))


def test_other_addresses_go_on(agent: Client) -> None:
    flood()
    assert ask(agent, "203.0.113.8").status_code == 200
    problem(ask(client_of(WRONG), "203.0.113.8"), 401, "auth.invalid")


def test_a_key_that_was_right_lately_passes_from_an_address_in_a_flood(agent: Client, colleague: Client) -> None:
    assert ask(agent).status_code == 200
    flood()
    assert ask(agent).status_code == 200
    problem(ask(colleague), 429, "rate.limited")
    assert ask(agent, "198.51.100.1").status_code == 200


def test_a_revoked_key_does_not_pass_because_it_was_right(agent: Client, woman: Client) -> None:
    assert ask(agent).status_code == 200
    flood()
    key = str(agent.actor.key_id)
    assert woman.json("delete", f"/keys/{key}").status_code == 204
    problem(ask(agent), 401, "auth.invalid")


def test_people_with_a_session_are_not_counted(woman: Client) -> None:
    flood()
    assert ask(woman).status_code == 200


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("2001:db8::1", "2001:db8::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("203.0.113.7", "203.0.113.8", False),
        ("unix:", "", True),
    ],
)
def test_what_counts_as_one_address(db: None, first: str, second: str, together: bool) -> None:
    flood(first)
    assert (ask(client_of(WRONG), second).status_code == 429) == together


@pytest.mark.parametrize("secret", ["", "x", "\xfc" * 20, "loci_" + "x" * 500])
def test_keys_of_any_form_count(db: None, secret: str) -> None:
    for expected in (401, 401, 401, 429):
        assert ask(client_of(secret)).status_code == expected


def test_the_count_runs_out(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wrong_keys, "WINDOW_SECONDS", 0)
    flood()
    problem(ask(client_of(WRONG)), 401, "auth.invalid")
