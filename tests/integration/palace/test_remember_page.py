"""The form for remembering."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from memory.models import Memory, owner_scope
from memory.services.actors import Actor
from memory.services.memories import get_memory

FIELDS = {"content": "I like green tea.", "category": "preference", "kind": "preference", "importance": "8"}


def id_in(location: str) -> UUID:
    return UUID(location.split("/")[2])


def test_a_memory_is_stored_as_typed(palace: Client, alice: Actor) -> None:
    answer = palace.post(
        "/remember/",
        {
            **FIELDS,
            "content": "  I like\r\ngreen tea. ",
            "tags": "tea, , drinks",
            "source": " talk/2026 ",
            "valid_from": "2026-01-02T15:04",
        },
    )
    assert answer.status_code == 302
    row = get_memory(actor=alice, memory_id=id_in(answer["Location"]))
    assert row.text == "  I like\ngreen tea. "
    assert (row.category, row.kind, row.importance) == ("preference", "preference", 0.8)
    assert row.tags == ["tea", "drinks"]
    assert row.source == "talk/2026"
    assert row.valid_from is not None
    assert row.valid_from.isoformat() == "2026-01-02T15:04:00+00:00"
    html = palace.get(answer["Location"]).content.decode()
    assert "I remember this now" in html
    assert "green tea." in html


def test_the_same_again_is_said(palace: Client) -> None:
    first = palace.post("/remember/", FIELDS)["Location"]
    second = palace.post("/remember/", FIELDS)["Location"]
    assert id_in(first) == id_in(second)
    html = palace.get(second).content.decode()
    assert "I knew this already" in html
    assert "I remember this now" in html


def test_what_is_close_is_shown(palace: Client, store: Callable[..., UUID]) -> None:
    other = store("I like black tea.")
    location = palace.post("/remember/", FIELDS)["Location"]
    html = palace.get(location).content.decode()
    assert "Close to this, stored before" in html
    assert f"/memories/{other}/" in html
    assert "Close to this, stored before" not in palace.get(location.split("?")[0]).content.decode()


def test_notes_of_the_service_are_shown(palace: Client) -> None:
    location = palace.post("/remember/", {**FIELDS, "category": "weather"})["Location"]
    assert "Unknown category; stored as general." in palace.get(location).content.decode()


def test_a_missing_embedder_is_said(palace: Client, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    location = palace.post("/remember/", FIELDS)["Location"]
    assert "this is found by words until it is back" in palace.get(location).content.decode()


@pytest.mark.parametrize(
    ("fields", "status", "words"),
    [
        ({"content": ""}, 422, "is empty or shows nothing"),
        ({"content": " \u200b "}, 422, "is empty or shows nothing"),
        ({"content": "a\x00b"}, 422, "holds a NUL character"),
        ({"content": "x" * (256 * 1024 + 1)}, 413, "262144 are the limit"),
        ({"kind": "turn"}, 422, "Turns belong to a session"),
        ({"kind": "rumour"}, 422, "Kind is one of"),
        ({"category": "x" * 65}, 422, "at most 64 characters"),
        ({"importance": "0"}, 422, "greater than or equal to 1"),
        ({"importance": "11"}, 422, "less than or equal to 10"),
        ({"importance": "much"}, 422, "whole number from 1 to 10"),
        ({"importance": ""}, 422, "Choose a number from 1 to 10"),
        ({"tags": ",".join(map(str, range(51)))}, 422, "at most 50 words"),
        ({"source": "s" * 201}, 413, "may have 200 characters"),
        ({"valid_from": "yesterday"}, 422, "is no moment"),
        ({"valid_from": "1066-10-14T09:00"}, 422, "outside the years"),
    ],
)
def test_a_bad_value_keeps_what_was_typed(
    palace: Client, alice: Actor, fields: dict[str, str], status: int, words: str
) -> None:
    answer = palace.post("/remember/", {**FIELDS, "source": "a place", **fields})
    html = answer.content.decode()
    assert answer.status_code == status
    assert words in html.replace("&#x27;", "'")
    assert "what you typed is still here" in html or 'class="notice error"' in html
    if "content" not in fields:
        assert "I like green tea." in html
    if "source" not in fields:
        assert 'value="a place"' in html
    with owner_scope(alice.owner_id):
        assert not Memory.objects.exists()


def test_an_error_stands_beside_its_field(palace: Client) -> None:
    html = palace.post("/remember/", {**FIELDS, "content": ""}).content.decode()
    assert 'id="id_content_error"' in html
    assert 'aria-invalid="true"' in html


def test_hostile_text_comes_back_as_text(palace: Client) -> None:
    html = palace.post("/remember/", {**FIELDS, "content": "</textarea><script>x</script>", "importance": "99"})
    assert "<script>x" not in html.content.decode()
