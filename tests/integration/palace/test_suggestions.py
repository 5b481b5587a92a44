"""What the search box offers, and questions with a slip of the pen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from memory.recall.vocabulary import vocabularies
from memory.services import reinforcement
from memory.services.actors import Actor
from memory.services.memories import accesses
from memory.services.retirement import archive_memory
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]


@pytest.fixture(autouse=True)
def _fresh_words() -> None:
    vocabularies.forget()


@pytest.fixture
def words_only(settings: Any) -> None:
    """Without the arm that finds something for every question."""
    settings.EMBEDDING_PROVIDER = "none"


def page(client: Client, address: str, **headers: str) -> str:
    return client.get(address, headers=headers).content.decode()


def test_the_box_offers_completions(palace: Client, store: Store) -> None:
    store("We met in Lisbon & <Porto>.")
    answer = palace.get("/suggest/?q=where+is+lis", headers=HTMX)
    assert answer.content.decode().strip() == '<option value="where is Lisbon"></option>'
    assert "no-store" in answer["Cache-Control"]
    assert page(palace, "/suggest/").strip() == ""
    assert 'value="&lt;b&gt; Lisbon"' in page(palace, "/suggest/?q=%3Cb%3E+lis")
    assert page(palace, "/suggest/?q=" + "x" * 5000 + "+lis").strip() == ""
    html = page(palace, "/")
    assert 'list="words"' in html
    assert '<datalist id="words" hx-get="/suggest/"' in html


def test_only_a_person_who_is_logged_in_gets_own_words(palace: Client, stranger: Client, store: Store) -> None:
    store("We met in Lisbon.")
    assert page(stranger, "/suggest/?q=lis").strip() == ""
    assert Client().get("/suggest/?q=lis").status_code == 302
    assert palace.post("/suggest/", {"q": "lis"}).status_code == 405


def test_a_slip_is_asked_about(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    store("The trip was long.")
    html = page(palace, "/?q=lisbn+trip&limit=5")
    assert 'Did you mean <a href="/?q=Lisbon+trip&amp;limit=5"><bdi>Lisbon trip</bdi></a>?' in html
    assert "Shown for" not in html
    assert "Shown for “<bdi>Lisbon</bdi>”" in page(palace, "/?q=lisbn&go=1"), "no word of it stands anywhere"
    assert "Did you mean" not in page(palace, "/?q=lisbon+trip")


@pytest.mark.usefixtures("words_only")
def test_the_corrected_question_is_asked_where_nothing_was_found(palace: Client, alice: Actor, store: Store) -> None:
    memory_id = store("We met in Lisbon.")
    html = page(palace, "/?q=lisbn&go=1")
    assert "Shown for “<bdi>Lisbon</bdi>”" in html
    assert "<mark>Lisbon</mark>" in html
    assert "Did you mean" not in html
    reinforcement.flush()
    assert memory_id in accesses(actor=alice, memory_ids=[memory_id])
    assert "I found nothing for this" in page(palace, "/?q=zzzzzz")


@pytest.mark.usefixtures("words_only")
def test_half_a_word_is_completed_while_typing_only(palace: Client, store: Store) -> None:
    store("We met in Lisbon.")
    html = page(palace, "/?q=where+lisb", **HTMX)
    assert "Shown for “<bdi>where Lisbon</bdi>”" in html
    assert "<mark>Lisbon</mark>" in html
    sent = page(palace, "/?q=where+lisb&go=1", **HTMX)
    assert "Shown for “<bdi>where Lisbon" not in sent


def test_a_word_of_a_memory_put_away_is_not_offered(palace: Client, alice: Actor, store: Store) -> None:
    memory_id = store("The zygomaticus lifts the corner of the mouth.")
    assert "zygomaticus" in page(palace, "/suggest/?q=zygo")
    archive_memory(actor=alice, memory_id=memory_id)
    store("Another memory takes its place.")
    assert "zygomaticus" not in page(palace, "/suggest/?q=zygo")
    assert "Did you mean" not in page(palace, "/?q=zygomaticuss")
