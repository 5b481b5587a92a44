"""The recent list, the archive, and what pages cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember_many
from memory.services.retirement import archive_memory
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]


def many(actor: Actor, count: int) -> list[UUID]:
    items = remember_many(actor=actor, drafts=[Draft(text=f"Fact number {number} of many") for number in range(count)])
    return [item.stored.memory_id for item in items if item.stored]


def test_recent_shows_the_newest_twenty_shortened(palace: Client, alice: Actor, store: Store) -> None:
    many(alice, 25)
    store("A long story " * 20, importance=0.9, category="creative")
    cards = palace.get("/").context["recent"]
    assert len(cards) == 20
    assert cards[0].preview.startswith("A long story")
    assert len(cards[0].preview) <= 60
    assert (cards[0].importance, cards[0].tag.name) == (9, "creative")


def test_recent_is_filtered_with_and_without_scripts(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    store("Tea is fine.", category="preference")
    part = palace.get("/recent/?recent=LISBON", headers=HTMX).content.decode()
    assert "Lisbon" in part
    assert "Tea" not in part
    assert "<html" not in part
    whole = palace.get("/recent/?recent=prefer").content.decode()
    assert "<html" in whole
    assert "Tea is fine." in whole
    assert "We met" not in whole
    none = palace.get("/recent/?recent=%3Cb%3E", headers=HTMX).content.decode()
    assert "holds “&lt;b&gt;”" in none


def test_recent_says_what_is_listed_and_what_next_where_nothing_is(palace: Client, store: Store) -> None:
    empty = palace.get("/recent/").content.decode()
    assert "I remember nothing yet" in empty
    assert "are listed beside this text." not in empty
    store("We met in Lisbon.")
    assert "The newest 20 memories are listed beside this text." in palace.get("/recent/").content.decode()
    none = palace.get("/recent/?recent=zebra").content.decode()
    assert "that hold" not in none
    assert none.count("None of the newest 20 holds “zebra”") == 2, "in the list and beside it"


def test_recent_masks_personal_data(palace: Client, store: Store) -> None:
    store("Write to anna@example.org soon.")
    html = palace.get("/").content.decode()
    assert "anna@example.org" not in html
    assert "Write to" in html


def test_the_numbers_are_said(palace: Client, alice: Actor) -> None:
    ids = many(alice, 3)
    archive_memory(actor=alice, memory_id=ids[0])
    assert palace.get("/").context["numbers"] == ["2 memories", "1 archived"]


def test_waiting_vectors_are_said(palace: Client, store: Store, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    store("We met in Lisbon.")
    settings.EMBEDDING_PROVIDER = "stub"
    assert "1 memory waits to be read for meaning" in palace.get("/").content.decode()


def test_a_failing_embedder_is_said_on_every_page(palace: Client, settings: Any) -> None:
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    settings.EMBEDDING_PROVIDER = "openai"
    palace.post("/remember/", {"content": "a", "importance": "5"})
    for path in ("/", "/remember/", "/archive/"):
        assert "Search by meaning is unavailable" in palace.get(path).content.decode()


def test_the_archive_has_pages(palace: Client, alice: Actor) -> None:
    for memory_id in many(alice, 53):
        archive_memory(actor=alice, memory_id=memory_id)
    first = palace.get("/archive/")
    assert len(first.context["rows"]) == 50
    second = palace.get("/archive/", {"after": first.context["next_place"]})
    assert len(second.context["rows"]) == 3
    assert second.context["next_place"] == ""
    shown = {row.id for row in [*first.context["rows"], *second.context["rows"]]}
    assert len(shown) == 53


@pytest.mark.parametrize("place", ["x", "2026-01-01_x", "2026-01-01T00:00:00_0190a6a2-0000-7000-8000-000000000000"])
def test_a_bad_page_of_the_archive_is_refused(palace: Client, place: str) -> None:
    answer = palace.get("/archive/", {"after": place})
    assert answer.status_code == 422
    assert "cursor.invalid" in answer.content.decode()


def test_the_archive_of_others_stays_closed(stranger: Client, alice: Actor, store: Store) -> None:
    archive_memory(actor=alice, memory_id=store("We met in Lisbon."))
    assert "Lisbon" not in stranger.get("/archive/").content.decode()


def statements(client: Client, path: str) -> int:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(path).status_code == 200
    return sum(not query["sql"].startswith(("SAVEPOINT", "RELEASE")) for query in queries.captured_queries)


@pytest.mark.parametrize(
    ("path", "most"), [("/", 34), ("/?q=fact", 52), ("/remember/", 20), ("/archive/", 22), ("/recent/", 23)]
)
def test_a_page_costs_the_same_with_more_memories(palace: Client, alice: Actor, path: str, most: int) -> None:
    for memory_id in many(alice, 4)[:2]:
        archive_memory(actor=alice, memory_id=memory_id)
    few = statements(palace, path)
    for memory_id in many(alice, 60)[4:34]:
        archive_memory(actor=alice, memory_id=memory_id)
    assert statements(palace, path) <= few
    assert few <= most


def test_typing_costs_no_frame(palace: Client, alice: Actor) -> None:
    many(alice, 10)
    with CaptureQueriesContext(connection) as whole:
        palace.get("/?q=fact")
    with CaptureQueriesContext(connection) as part:
        palace.get("/?q=fact", headers=HTMX)
    assert len(part) < len(whole) - 8
