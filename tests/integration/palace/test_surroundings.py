"""What stands beside every page: the export, and whether search by meaning works."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from django.test import Client

from memory.models import EmbeddingSpace, SpaceState
from memory.providers.composition import forget_providers
from memory.services.actors import Actor
from memory.services.retirement import archive_memory

PAGES = ["/", "/remember/", "/archive/", "/recent/"]
EXPORT = "/api/v1/export?form=loci"


@pytest.fixture(autouse=True)
def fresh_providers() -> Iterator[None]:
    forget_providers()
    yield
    forget_providers()


@pytest.mark.parametrize("path", PAGES)
def test_vectors_of_another_embedder_are_told(palace: Client, path: str) -> None:
    assert "Search by meaning is on" in palace.get(path).content.decode()
    EmbeddingSpace.objects.create(provider="local", model="another", dimension=384, state=SpaceState.ACTIVE)
    answer = palace.get(path)
    assert answer.context["embedder"].state == "failing"
    html = answer.content.decode()
    assert "Search by meaning is unavailable" in html
    assert "The stored vectors belong to local/another" in html
    assert "Search by meaning is on" not in html


def test_words_only_by_choice_is_no_failure(palace: Client, settings: Any, store: Callable[..., UUID]) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    store("We met in Lisbon.")
    found = palace.get("/").context["embedder"]
    assert (found.state, found.detail) == ("off", "1 memory has no vector.")


@pytest.mark.parametrize("path", PAGES)
def test_the_export_is_offered_on_every_page(palace: Client, path: str) -> None:
    assert f'href="{EXPORT}"' in palace.get(path).content.decode()


def test_the_export_holds_all_of_ones_own(
    palace: Client, stranger: Client, alice: Actor, store: Callable[..., UUID]
) -> None:
    store("We met in Lisbon.")
    archive_memory(actor=alice, memory_id=store("Tea is fine."))
    answer = palace.get(EXPORT)
    assert answer.status_code == 200
    assert "attachment" in answer["Content-Disposition"]
    document = json.loads(answer.getvalue())
    assert {item["content"] for item in document["memories"]} == {"We met in Lisbon.", "Tea is fine."}
    nothing = json.loads(stranger.get(EXPORT).getvalue())
    assert nothing["memories"] == []


def test_the_lock_names_what_helps(alice: Actor, settings: Any) -> None:
    client = Client(REMOTE_ADDR="192.0.2.7")
    for _ in range(settings.AXES_FAILURE_LIMIT):
        answer = client.post("/login/", {"username": "alice", "password": "wrong"})
    html = answer.content.decode()
    assert "for 15 minutes" in html
    assert "restart" in html
    assert "axes_reset" not in html
    assert settings.AXES_COOLOFF_TIME * 60 == 15
