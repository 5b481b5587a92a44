"""The search page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from memory.models import RecallRecord, owner_scope
from memory.services import reinforcement
from memory.services.actors import Actor
from memory.services.memories import accesses
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]


def page(client: Client, query: str, **headers: str) -> str:
    answer = client.get(f"/{query}", headers=headers)
    return answer.content.decode()


def test_an_empty_memory_teaches(palace: Client) -> None:
    html = page(palace, "")
    assert "I remember nothing yet" in html
    assert "curl http://testserver/api/v1/memories" in html


@pytest.mark.parametrize("query", ["?q=lisbon", "?q=lisbon&go=1", "?f=category:goal"])
def test_a_search_of_an_empty_memory_teaches_too(palace: Client, store: Store, query: str) -> None:
    html = page(palace, query)
    assert "I remember nothing yet" in html
    assert "Try fewer or other words" not in html
    store("We met in Porto.")
    assert "I remember nothing yet" not in page(palace, query)


def test_without_a_question_nothing_is_searched(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    html = page(palace, "?q=%20%20")
    assert "Ask in your own words" in html
    assert "data-hits" not in html


def test_a_hit_shows_why(palace: Client, store: Store) -> None:
    memory_id = store("We moved the databases to Lisbon.", category="project", importance=0.8)
    store("Tea is better than coffee.")
    html = page(palace, "?q=database+lisbon")
    assert f"/memories/{memory_id}/" in html
    assert "<mark>databases</mark>" in html
    assert "<mark>Lisbon</mark>" in html
    assert "similar meaning" in html
    assert "words: place 1" in html
    assert "project" in html
    assert "just now" in html
    assert "UTC" in html
    assert "importance 8" in html
    assert "explain" in html
    assert "memories found" in html or "memory found" in html


def test_texts_stay_texts(palace: Client, store: Store) -> None:
    store("<script>alert('x')</script> <img src=x onerror=alert(1)> lighthouse & more", tags=["<b>tag</b>"])
    for path in ("?q=lighthouse", "?q=%3Cscript%3Ealert", "?q=%22%3E%3Cimg+src%3Dx%3E"):
        html = page(palace, path)
        assert "<script>alert" not in html
        assert "<img src=x" not in html
    assert "<mark>lighthouse</mark>" in page(palace, "?q=lighthouse")
    assert "&lt;<mark>script</mark>&gt;<mark>alert</mark>" in page(palace, "?q=script+alert")


def test_typing_brings_only_the_results(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    answer = palace.get("/?q=lisbon&profile=&limit=5", headers=HTMX)
    html = answer.content.decode()
    assert "<html" not in html
    assert "<mark>Lisbon</mark>" in html
    assert 'hx-swap-oob="innerHTML">1 memory found' in html
    assert answer["HX-Replace-Url"] == "/?q=lisbon&limit=5"
    assert "HX-Request" in answer["Vary"]


def test_the_way_back_brings_the_whole_page(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    assert "<html" in page(palace, "?q=lisbon", **HTMX, **{"HX-History-Restore-Request": "true"})


@pytest.mark.parametrize(
    ("query", "headers", "counted"),
    [
        ("q=lisbon", HTMX, False),
        ("q=lisbon", {}, False),
        ("q=lisbon&go=1", HTMX, True),
        ("q=lisbon&go=1", {}, True),
    ],
)
def test_only_a_search_that_was_sent_counts(
    palace: Client, alice: Actor, store: Store, query: str, headers: dict[str, str], counted: bool
) -> None:
    memory_id = store("We met in Lisbon.")
    palace.get(f"/?{query}", headers=headers)
    reinforcement.flush()
    assert (memory_id in accesses(actor=alice, memory_ids=[memory_id])) is counted
    with owner_scope(alice.owner_id):
        assert RecallRecord.objects.exists() is counted


def test_a_sent_search_stands_in_the_history_without_its_button(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    answer = palace.get("/?q=lisbon&go=1&threshold=0", headers=HTMX)
    assert answer["HX-Push-Url"] == "/?q=lisbon&threshold=0"


def test_the_address_decides_what_is_shown(palace: Client, store: Store) -> None:
    for number in range(4):
        store(f"Lisbon trip number {number}", category="project" if number % 2 else "person")
    html = page(palace, "?q=lisbon&limit=2&profile=cortex")
    assert html.count('class="hit"') == 2
    assert '<option value="cortex" selected>' in html
    assert "Profile cortex" in html
    html = page(palace, "?q=lisbon&f=category:person")
    assert html.count('class="hit"') == 2
    assert 'href="/?q=lisbon"' in html
    html = page(palace, "?q=lisbon&threshold=100")
    assert "I found nothing for this" in html
    assert "search without it" in html


def test_without_an_embedder_words_are_searched_and_that_is_said(palace: Client, store: Store, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    store("We met in Lisbon.")
    html = page(palace, "?q=lisbon")
    assert "found by words only" in html
    assert "<mark>Lisbon</mark>" in html
    assert "Search by meaning is switched off" in html


@pytest.mark.parametrize(("query", "words"), [("thanks!", "There is nothing to look up"), ("fix it", "I am not sure")])
def test_the_gate_is_explained(palace: Client, store: Store, query: str, words: str) -> None:
    store("We met in Lisbon.")
    assert words in page(palace, f"?q={query}")


def test_letters_are_looked_for_when_no_word_matches(palace: Client, store: Store, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    store("The Regenbogenforelle swims.")
    assert "looked for its letters" in page(palace, "?q=bogenfor")


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("q=a&limit=0", 422, "limit.out_of_range"),
        ("q=a&limit=101", 422, "limit.out_of_range"),
        ("q=a&limit=ten", 422, "limit.out_of_range"),
        ("q=a&limit=%D9%A3", 422, "limit.out_of_range"),
        ("q=a&threshold=-1", 422, "threshold.out_of_range"),
        ("q=a&threshold=200", 422, "threshold.out_of_range"),
        ("q=a&profile=best", 404, "profile.unknown"),
        ("q=%00a", 422, "text.nul"),
        ("q=" + "word+" * 501, 422, "query.too_long"),
    ],
)
def test_a_bad_search_says_what_to_do(palace: Client, store: Store, query: str, status: int, code: str) -> None:
    store("We met in Lisbon.")
    for headers in ({}, HTMX):
        answer = palace.get(f"/?{query}", headers=headers)
        assert answer.status_code == status
        assert code in answer.content.decode()


def test_personal_data_is_masked_in_lists(palace: Client, store: Store) -> None:
    memory_id = store("Caroline's card is 4111 1111 1111 1111, valid in Lisbon.")
    html = page(palace, "?q=lisbon")
    assert "4111" not in html
    assert "personal data masked" in html
    assert "<mark>Lisbon</mark>" in html
    assert "4111" not in palace.get(f"/memories/{memory_id}/").content.decode()
    assert "4111 1111 1111 1111" in palace.post(f"/memories/{memory_id}/reveal/").content.decode()


def test_others_are_never_found(stranger: Client, store: Store) -> None:
    store("We met in Lisbon.")
    html = page(stranger, "?q=lisbon")
    assert "Lisbon." not in html
    assert "I remember nothing yet" in html, "of her own"
