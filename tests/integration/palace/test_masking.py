"""Personal data in the palace: masked on every page until somebody asks to see it, which is recorded."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from bench.pii import Labelled, load
from memory.models import AuditEvent, Memory, User, owner_scope
from memory.privacy import pii
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.retirement import archive_memory
from tests.integration.palace.conftest import HTMX

Store = Callable[..., UUID]
LISTS = ("/", "/?q=note&go=1", "/?q=note&limit=100", "/recent/", "/recent/?recent=note", "/archive/", "/remember/")
ASTHMA = "Since spring I take salbutamol for my asthma."


def one_of_each_kind() -> list[Labelled]:
    """Choose a text of every kind whose value stands in it as a whole and is long enough to be looked for."""
    chosen: dict[str, Labelled] = {}
    for text in load():
        for start, end, kind in text.places:
            value = text.text[start:end]
            fits = len(value) >= 5 and "\n" not in value and len(text.text) < 200
            if fits and kind in pii.KINDS and kind in pii.scan(text.text).kinds and value not in pii.redact(text.text):
                chosen.setdefault(kind, Labelled(text.id, text.language, text.text, ((start, end, kind),)))
    assert set(chosen) == set(pii.KINDS)
    return list(chosen.values())


PLANTED = one_of_each_kind()
VALUES = [text.text[start:end] for text in PLANTED for start, end, _ in text.places]


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return html.unescape(answer.content.decode())


def shown_in(said: str) -> list[str]:
    return [value for value in VALUES if value in said]


def revealed(owner: Actor) -> list[tuple[str, str, UUID | None, str]]:
    """List what the audit says was revealed: by whom, of what, which, why."""
    with owner_scope(owner.owner_id):
        rows = AuditEvent.objects.filter(verb="reveal").order_by("pk")
        return list(rows.values_list("actor", "object_kind", "object_id", "reason"))


def judged(owner: Actor, memory_id: UUID, *kinds: str, tier: int = 2) -> None:
    """Store what a language model would have said."""
    with owner_scope(owner.owner_id):
        Memory.objects.filter(pk=memory_id).update(pii_kinds=list(kinds), pii_tier=tier)


@pytest.fixture
def planted(alice: Actor, store: Store) -> list[UUID]:
    """A memory for each of the seventeen kinds, every other one with its value in each label too; some archived."""
    ids = []
    for number, (text, value) in enumerate(zip(PLANTED, VALUES, strict=True)):
        labels = {"tags": [value], "topics": [value], "source": value} if number % 2 and len(value) < 200 else {}
        ids.append(store(f"A note: {text.text}", **labels))
    return ids


def test_no_list_shows_a_value_of_any_kind(palace: Client, alice: Actor, planted: list[UUID]) -> None:
    for memory_id in planted[::2]:
        archive_memory(actor=alice, memory_id=memory_id)
    for path in LISTS:
        assert shown_in(page(palace, path)) == [], path
    for memory_id in planted[1::2]:
        for path in LISTS[1:4]:
            assert shown_in(html.unescape(palace.get(path, headers=HTMX).content.decode())) == [], memory_id


def test_the_words_that_a_search_offers_hold_none(palace: Client, planted: list[UUID]) -> None:
    offered = "".join(palace.get("/suggest/", {"q": value[:4]}).content.decode() for value in VALUES)
    assert shown_in(html.unescape(offered)) == []


def test_a_memorys_own_page_shows_none_before_it_is_asked_to(palace: Client, alice: Actor, planted: list[UUID]) -> None:
    for memory_id, value in zip(planted, VALUES, strict=True):
        said = page(palace, f"/memories/{memory_id}/")
        assert value not in said
        assert ">Reveal<" in said
    assert revealed(alice) == []


def test_revealing_shows_it_once_and_is_recorded(palace: Client, alice: Actor, planted: list[UUID]) -> None:
    for memory_id, value in zip(planted, VALUES, strict=True):
        answer = palace.post(f"/memories/{memory_id}/reveal/")
        assert answer.status_code == 200
        assert "no-store" in answer["Cache-Control"]
        assert value in html.unescape(answer.content.decode())
        assert value not in page(palace, f"/memories/{memory_id}/")
    assert revealed(alice) == [("person", "memory", memory_id, "asked") for memory_id in planted]


class TestByMeaning:
    def test_lists_say_what_it_is_about_and_nothing_else(self, palace: Client, alice: Actor, store: Store) -> None:
        memory_id = store(ASTHMA, tags=["inhaler"], topics=["lungs"])
        judged(alice, memory_id, "health", "name")
        for path in ("/", "/?q=salbutamol+asthma&go=1", "/recent/", f"/memories/{memory_id}/"):
            said = page(palace, path).replace('value="salbutamol asthma"', "").replace("salbutamol asthma · ", "")
            assert "Confidential: health, name" in said or path == "/suggest/"
            for word in ("salbutamol", "asthma", "spring", "inhaler", "lungs"):
                assert word not in re.sub(r"q=salbutamol[^\"&]*", "", said), (path, word)

    def test_sensitive_ones_are_masked_too(self, palace: Client, alice: Actor, store: Store) -> None:
        memory_id = store("She prays at dawn.")
        judged(alice, memory_id, "belief", tier=1)
        assert "Sensitive: belief" in page(palace, "/recent/")
        assert "dawn" not in page(palace, f"/memories/{memory_id}/")

    def test_what_was_matched_is_not_named(self, palace: Client, alice: Actor, store: Store) -> None:
        memory_id = store(ASTHMA)
        assert "<b>asthma</b>" in palace.get("/?q=asthma").content.decode()
        judged(alice, memory_id, "health")
        assert "<b>asthma</b>" not in palace.get("/?q=asthma").content.decode()

    def test_the_history_hides_what_it_said(self, palace: Client, alice: Actor, store: Store) -> None:
        memory_id = store("I have astma.", tags=["lungs"])
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "I have asthma.", "tags": ["inhaler"]})
        judged(alice, memory_id, "health")
        change_memory(actor=alice, memory_id=memory_id, changes={"text": "I play the oboe.", "tags": []})
        said = page(palace, f"/memories/{memory_id}/")
        assert "I play the oboe." in said
        for word in ("astma", "asthma", "lungs", "inhaler"):
            assert word not in said
        assert said.count("Confidential: health") == 2
        shown = html.unescape(palace.post(f"/memories/{memory_id}/reveal/").content.decode())
        for word in ("I have astma.", "I have asthma.", "lungs", "inhaler"):
            assert word in shown


class TestRevealing:
    @pytest.fixture
    def memory_id(self, store: Store) -> UUID:
        return store("Write to anna@example.org soon.")

    def test_without_scripts_a_form_leads_to_the_page(self, palace: Client, alice: Actor, memory_id: UUID) -> None:
        for path in ("/?q=write", f"/memories/{memory_id}/"):
            client = Client(enforce_csrf_checks=True)
            client.force_login(User.objects.get())
            said = client.get(path).content.decode()
            form = re.search(rf'<form[^>]*action="(/memories/{memory_id}/reveal/)"[^>]*>(.*?)</form>', said, re.DOTALL)
            assert form is not None
            assert 'method="post"' in form[0]
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form[2])
            assert token is not None
            answer = client.post(form[1], {"csrfmiddlewaretoken": token[1]})
            assert "anna@example.org" in answer.content.decode()
            assert "<h1" in answer.content.decode()
        assert len(revealed(alice)) == 2

    def test_a_script_gets_the_text_alone(self, palace: Client, memory_id: UUID) -> None:
        answer = palace.post(f"/memories/{memory_id}/reveal/", headers=HTMX)
        said = answer.content.decode()
        assert said.startswith("Write to anna@example.org soon.")
        assert f'id="masked-{memory_id}" hx-swap-oob="true"' in said
        assert "<h1" not in said

    def test_hostile_text_stays_text(self, palace: Client, store: Store) -> None:
        memory_id = store("<script>alert(1)</script> to anna@example.org", speaker="<i>x</i>")
        for headers in ({}, HTMX):
            said = palace.post(f"/memories/{memory_id}/reveal/", headers=headers).content.decode()
            assert "<script>alert" not in said
            assert "<i>x" not in said

    def test_a_form_of_another_site_reveals_nothing(self, alice: Actor, memory_id: UUID) -> None:
        client = Client(enforce_csrf_checks=True)
        client.force_login(User.objects.get())
        assert client.post(f"/memories/{memory_id}/reveal/").status_code == 403
        assert revealed(alice) == []

    @pytest.mark.parametrize("method", ["get", "head"])
    def test_an_address_alone_reveals_nothing(self, palace: Client, alice: Actor, memory_id: UUID, method: str) -> None:
        answer = getattr(palace, method)(f"/memories/{memory_id}/reveal/")
        assert (answer.status_code, answer.headers["Location"]) == (302, f"/memories/{memory_id}/")
        assert revealed(alice) == []

    @pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "part"])
    def test_another_owner_finds_nothing(
        self, stranger: Client, alice: Actor, mallory: Actor, memory_id: UUID, headers: Any
    ) -> None:
        answer = stranger.post(f"/memories/{memory_id}/reveal/", headers=headers)
        nothing = stranger.post(f"/memories/{uuid4()}/reveal/", headers=headers)
        assert answer.status_code == nothing.status_code == 404
        assert "anna" not in answer.content.decode()
        assert (revealed(alice), revealed(mallory)) == ([], [])

    def test_without_a_login_nothing_is_shown(self, memory_id: UUID) -> None:
        answer = Client().post(f"/memories/{memory_id}/reveal/")
        assert (answer.status_code, answer["Location"][:7]) == (302, "/login/")

    def test_the_form_for_correcting_shows_it_and_that_is_recorded(
        self, palace: Client, alice: Actor, memory_id: UUID, store: Store
    ) -> None:
        assert "anna@example.org" in page(palace, f"/memories/{memory_id}/edit/")
        assert revealed(alice) == [("person", "memory", memory_id, "edited")]
        page(palace, f"/memories/{store('I like tea.')}/edit/")
        assert len(revealed(alice)) == 1

    def test_what_hides_nothing_has_no_button(self, palace: Client, store: Store) -> None:
        plain = store("I like tea.")
        assert ">Reveal<" not in page(palace, f"/memories/{plain}/")
