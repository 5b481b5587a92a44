"""What has come since a page was made: numbers for quiet counters, of this owner only, and the worker's state."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from memory.palace.views import news
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.health import heartbeat
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from telemetry.services.turns.test_mode import set_test_mode
from tests.integration.consolidation.reviewing import opened
from tests.integration.palace.conftest import HTMX, client_of

pytestmark = pytest.mark.django_db


def page(client: Client) -> str:
    return client.get(reverse("palace:settings")).content.decode()


def place_in(html: str) -> str:
    found = re.search(r'data-after="([^"]+)"', html)
    assert found is not None
    return found[1]


def since(client: Client, place: str) -> Any:
    answer = client.get(reverse("palace:news"), {"after": place})
    assert answer.status_code == 200
    return answer.json()


def store(owner: Actor, text: str) -> UUID:
    return remember(actor=owner, draft=Draft(text=text)).memory_id


def test_what_came_after_the_page_is_counted(alice: Actor, mallory: Actor, make_agent: Callable[..., Any]) -> None:
    browser = client_of(alice)
    store(alice, "The kettle is blue.")
    place = place_in(page(browser))
    assert since(browser, place)["memories"]["count"] == 0
    agent, _ = make_agent(alice)
    store(agent, "The ferry leaves at nine.")
    store(mallory, "Nobody here may know.")
    assert since(browser, place)["memories"] == {"count": 1, "words": "1 new"}
    archive_memory(actor=alice, memory_id=store(alice, "The ferry is blue."))
    assert since(browser, place)["memories"]["count"] == 1


def test_the_list_that_is_merged_begins_to_count_anew(alice: Actor) -> None:
    browser = client_of(alice)
    place = place_in(page(browser))
    store(alice, "The ferry leaves at nine.")
    part = browser.get(reverse("palace:recent"), headers=HTMX).content.decode()
    assert "The ferry leaves at nine." in part
    assert place_in(part) > place
    assert since(browser, place_in(part))["memories"]["count"] == 0


def test_counting_ends(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(news, "MOST", 2)
    browser = client_of(alice)
    for number in range(4):
        store(alice, f"The ferry number {number} is blue.")
    assert since(browser, "")["memories"] == {"count": 3, "words": "more than 2 new"}


def test_what_waits_for_review_is_counted(alice: Actor) -> None:
    opened(alice)
    assert since(client_of(alice), "")["reviews"] == {"count": 1, "words": "1 waits for you"}


def test_a_silent_worker_is_said_on_every_page(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = client_of(alice)
    assert since(browser, "")["worker"] == ""
    assert "No worker is running" not in page(browser)
    monkeypatch.setattr(heartbeat, "SILENCE", timedelta(0))
    assert "No worker is running" in since(browser, "")["worker"]
    assert "No worker is running" in page(browser)
    for name in ("coverage", "costs", "recall", "health", "test-mode"):
        assert "No worker is running" in browser.get(reverse(f"telemetry:{name}")).content.decode(), name


def test_pages_of_telemetry_say_once_that_test_mode_is_on(alice: Actor) -> None:
    set_test_mode(actor=alice, enabled=True)
    browser = client_of(alice)
    for shown in (page(browser), browser.get(reverse("telemetry:costs")).content.decode()):
        assert shown.count("Turn events go to a stream of their own") == 1


def test_a_place_that_is_none_is_refused(alice: Actor) -> None:
    assert client_of(alice).get(reverse("palace:news"), {"after": "yesterday"}).status_code == 422


def test_it_asks_little(alice: Actor, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    browser = client_of(alice)
    with django_assert_max_num_queries(16):
        since(browser, "")
