"""Who is not let in, and what a socket may do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import pytest
from django.core.cache import caches
from django.test import Client
from pytest_django import Settings
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from config.serving import MOST_SOCKET_BYTES
from memory.live import consumer, layer, sockets
from memory.models import User
from memory.services.actors import Actor, Permission
from runtime.postgres.cluster import Cluster
from tests.live_server import as_agent, as_person, cookie_of, listening, logged_in, own_server, serving

__all__ = ["own_server"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Cookie": "loci_session=" + "a" * 32},
        {"Cookie": "loci_session=not-a-session; other=1"},
        {"Cookie": "=;;;loci_session=\\073"},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer loci_aaaaaaaa_" + "b" * 43},
        {"Authorization": "Bearer " + "x" * 4000},
        {"X-Api-Key": "ü"},
    ],
    ids=str,
)
def test_strangers_are_told_that_they_are_not_known(place: str, headers: dict[str, str]) -> None:
    with listening(place, headers) as opened:
        assert opened.closed_with() == 4401


def test_a_login_without_an_owner_has_nothing_to_hear(place: str, db: None) -> None:
    client = Client()
    client.force_login(User.objects.create_user("nobody"))
    with listening(place, cookie_of(client)) as opened:
        assert opened.closed_with() == 4401


def refused(place: str, headers: dict[str, str], origin: str | None, path: str = "/live/") -> int:
    with pytest.raises(InvalidStatus) as raised:
        connect(f"ws://{place}{path}", additional_headers=headers, origin=origin)  # type: ignore[arg-type]
    return raised.value.response.status_code


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://{place}",
        "http://{host}:1",
        "http://{host}",
        "http://{place}.evil.example",
        "http://evil.example/{place}",
        "null",
        "file://",
        "http://[",
        "http://evil@{place}",
        "http://evil:word@{place}",
        "http://@{place}",
        "HTTP://{place}",
        "http://{place}/",
        "http://{place}/page?a#b",
        None,
    ],
)
def test_pages_of_other_places_are_refused(place: str, alice: Actor, origin: str | None) -> None:
    named = origin and origin.format(place=place, host=place.partition(":")[0])
    assert refused(place, cookie_of(logged_in(alice)), named) == 403


@pytest.mark.parametrize("given", ["Basic YTpi", "Bearer", "Bearer loci_aaaaaaaa_" + "b" * 43, "x", ""])
@pytest.mark.parametrize("origin", [None, "own"])
def test_who_brings_a_key_is_judged_by_the_key_alone(place: str, alice: Actor, given: str, origin: str | None) -> None:
    with listening(place, {**cookie_of(logged_in(alice)), "Authorization": given}, origin=origin) as opened:
        assert opened.closed_with() == 4401


def test_a_session_without_a_page_is_no_way_in_beside_a_key(place: str, alice: Actor) -> None:
    with listening(place, {**cookie_of(logged_in(alice)), "X-Api-Key": ""}, origin=None) as opened:
        assert opened.closed_with() == 4401


def test_an_origin_that_the_operator_trusts_is_let_in(place: str, alice: Actor, settings: Settings) -> None:
    settings.CSRF_TRUSTED_ORIGINS = ["https://loci.example"]
    with listening(place, cookie_of(logged_in(alice)), origin="https://loci.example") as page:
        assert page.watch("coverage") == {"watching": ["coverage"]}


def test_behind_a_proxy_the_page_is_one_of_https(place: str, alice: Actor, settings: Settings) -> None:
    settings.LOCI_HTTPS = True
    headers = {**cookie_of(logged_in(alice)), "X-Forwarded-Proto": "https"}
    with listening(place, headers, origin=f"https://{place}") as page:
        assert page.watch("coverage") == {"watching": ["coverage"]}
    assert refused(place, headers, f"http://{place}") == 403


def test_a_host_that_is_not_ours_is_refused(place: str, alice: Actor, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["loci.example"]
    assert refused(place, cookie_of(logged_in(alice)), f"http://{place}") == 403


@pytest.mark.parametrize("path", ["/", "/live", "/live/x", "/api/v1/memories", "/%00"])
def test_other_addresses_have_no_socket(place: str, alice: Actor, path: str) -> None:
    assert refused(place, cookie_of(logged_in(alice)), f"http://{place}", path) == 403


@pytest.mark.parametrize(
    "message",
    [
        "",
        "{",
        "null",
        "[]",
        '"watch"',
        "{}",
        '{"watch": "coverage"}',
        '{"watch": [1]}',
        '{"watch": [null]}',
        '{"watch": ["coverage"], "more": 1}',
        '{"watch": {"coverage": 1}}',
        '{"watch": ["' + "x" * 33 + '"]}',
        '{"watch": [' + ",".join(['"x"'] * 33) + "]}",
        "[" * 4000,
        b'{"watch": ["coverage"]}',
        b"\xff",
    ],
)
def test_anything_else_than_a_wish_closes_the_socket(place: str, alice: Actor, message: Any) -> None:
    with as_person(place, alice) as page:
        page.connection.send(message)
        assert page.closed_with() == 4400


def test_a_name_with_odd_characters_is_only_unknown(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        assert page.watch("\0", "\ud800", "Ünïcödé")["watching"] == []


@pytest.mark.parametrize("pieces", [1, 50])
def test_a_large_message_closes_the_socket(place: str, alice: Actor, pieces: int) -> None:
    with as_person(place, alice) as page:
        # Only the last piece is too much: what is sent to a closed socket would take the reason away.
        part = "x" * (MOST_SOCKET_BYTES // pieces + 1)
        with suppress(ConnectionClosed):
            page.connection.send(part if pieces == 1 else [part] * pieces)
        with pytest.raises(ConnectionClosed):
            page.connection.recv(20)
        assert page.connection.close_code == 1009


def test_a_flood_of_wishes_closes_the_socket(place: str, alice: Actor) -> None:
    with as_person(place, alice) as page:
        for _ in range(consumer.MOST_MESSAGES):
            page.watch("coverage")
        page.connection.send('{"watch": []}')
        assert page.closed_with() == 4429


def test_sockets_of_one_caller_are_counted(place: str, alice: Actor, make_agent: Callable[..., Any]) -> None:
    _, key = make_agent(alice, scopes=[Permission.TELEMETRY_READ])
    client = logged_in(alice)
    with ExitStack() as stack:
        pages = [stack.enter_context(listening(place, cookie_of(client))) for _ in range(sockets.MOST_OF_ONE)]
        for page in pages:
            page.watch("coverage")
        with listening(place, cookie_of(logged_in(alice))) as one_more:
            assert one_more.closed_with() == 4429
        # The owner's agents have their own.
        with as_agent(place, key) as agent:
            assert agent.watch("coverage") == {"watching": ["coverage"]}


def test_a_socket_that_watches_nothing_is_closed(place: str, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "WATCH_SECONDS", 0.1)
    with as_person(place, alice) as page:
        assert page.closed_with() == 4408


def test_a_flood_of_wrong_keys_is_refused_unread(place: str, alice: Actor, settings: Settings) -> None:
    settings.MOST_WRONG_KEYS = 2
    caches["agent_keys"].clear()
    for number in range(2):
        with as_agent(place, f"loci_aaaaaaaa_{number}" + "b" * 42) as opened:
            assert opened.closed_with() == 4401
    with as_agent(place, "loci_aaaaaaaa_" + "c" * 43) as opened:
        assert opened.closed_with() == 4429


def test_a_page_is_not_left_to_believe_that_it_hears(
    alice: Actor, own_server: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a pooler keeps notices to itself."""
    monkeypatch.setattr(layer, "PROBE_PATIENCE", 0.2)
    monkeypatch.setattr(layer, "JOIN_PATIENCE", 1.0)
    with serving() as deaf, as_person(deaf, alice) as page:
        assert page.closed_with() == 1013
