"""Completing and correcting what a person types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import MemoryDisabled, PermissionRefused
from memory.models import owner_scope
from memory.recall.vocabulary import vocabularies
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.services.retirement import archive_memory
from memory.services.suggestions import MOST_SUGGESTIONS, MOST_TYPED, completed, completions, corrected

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _words_only(settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"
    vocabularies.forget()


@pytest.fixture
def store(alice: Actor) -> Callable[[str], UUID]:
    return lambda text: remember(actor=alice, draft=Draft(text=text)).memory_id


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("where is lis", ["where is Lisbon"]),
        ("LIS", ["Lisbon"]),
        ("l", []),
        ("", []),
        ("lisbon ", []),
        ("mail@lis", []),
        ("lisbon/lis", []),
        ("x" * MOST_TYPED + " lis", []),
    ],
)
def test_the_last_word_is_completed(alice: Actor, store: Any, typed: str, expected: list[str]) -> None:
    store("We met in Lisbon.")
    assert completions(actor=alice, typed=typed) == expected


def test_an_empty_box_has_words_read_already(alice: Actor, store: Any) -> None:
    store("We met in Lisbon.")
    assert completions(actor=alice, typed="") == []
    with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as captured:
        assert vocabularies.of(alice.owner_id, steps=0).suggest("lis", limit=1) == ["Lisbon"]
    assert not any("memory_memory" in query["sql"] for query in captured)


def test_few_completions_are_offered(alice: Actor, store: Any) -> None:
    store(" ".join(f"lis{chr(97 + number)}{chr(97 + number)}" for number in range(20)))
    assert len(completions(actor=alice, typed="lis")) == MOST_SUGGESTIONS


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("trip to lisb", "trip to Lisbon"),
        ("trip to lisbon", None),
        ("trip to lisbonx", None),
        ("what is th", None),
        ("trip to li", None),
        ("house", None),
    ],
)
def test_half_a_word_is_made_whole(alice: Actor, store: Any, typed: str, expected: str | None) -> None:
    store("We met in Lisbon. The houses there are tiled, thatched none.")
    assert completed(actor=alice, typed=typed) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Lisbn trip", "Lisbon trip"),
        ("a trpi to lisbn", "a trip to Lisbon"),
        ("Lisbon trips", None),
        ("moving to Lisbon", None),
        ('"Lisbn" trip', None),
        ("wher is it", None),
        ("Kündigungsfrits", "Kündigungsfrist"),
        ("Kündigungsfristen", None),
        ("ZX-4418", None),
        ("lisbn@example.org", None),
        ("zzzzzz", None),
        ("", None),
        ("lisbn " * 100, None),
    ],
)
def test_unknown_words_are_corrected(alice: Actor, store: Any, query: str, expected: str | None) -> None:
    store("We planned a trip: we move to Lisbon with part ZX-4419. I wrote lisbon@example.org.")
    store("Die Kündigungsfrist ist lang.")
    assert corrected(actor=alice, query=query) == expected


def test_words_of_archived_memories_are_not_offered(alice: Actor, store: Any) -> None:
    memory_id = store("We met in Lisbon.")
    assert corrected(actor=alice, query="lisbn") == "Lisbon"
    archive_memory(actor=alice, memory_id=memory_id)
    assert corrected(actor=alice, query="lisbn") is None
    assert completions(actor=alice, typed="lis") == []


def test_strangers_and_other_agents_learn_no_words(alice: Actor, mallory: Actor, make_agent: Any, store: Any) -> None:
    store("We met in Lisbon.")
    agent, _ = make_agent(alice, "first")
    other, _ = make_agent(alice, "second")
    remember(actor=agent, draft=Draft(text="Porto is mine"), scope="agent")
    assert corrected(actor=mallory, query="lisbn") is None
    assert completions(actor=mallory, typed="lis") == []
    assert corrected(actor=other, query="porti") is None
    assert corrected(actor=agent, query="porti") == "Porto"
    # A word that only another agent may read is unknown here, and is corrected to what may be read.
    remember(actor=other, draft=Draft(text="Ports are open"), scope="owner")
    assert corrected(actor=other, query="porto") == "Ports"


def test_it_needs_the_permission_and_the_switch(alice: Actor, make_agent: Any, settings: Any) -> None:
    agent, _ = make_agent(alice, "writer", scopes=["memory:write"])
    for ask in (lambda a: completions(actor=a, typed="lis"), lambda a: completed(actor=a, typed="lis")):
        with pytest.raises(PermissionRefused):
            ask(agent)
    with pytest.raises(PermissionRefused):
        corrected(actor=agent, query="lisbn")
    settings.MEMORY_ENABLED = False
    with pytest.raises(MemoryDisabled):
        corrected(actor=alice, query="lisbn")
