"""The plain words that this process keeps of an owner's memories."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.models import LexStats, owner_scope
from memory.recall import vocabulary
from memory.recall.vocabulary import KEPT_SECONDS, STEPS_AT_ONCE, Vocabularies, WordList
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.remember import remember_many

pytestmark = pytest.mark.django_db


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def kept(clock: Clock) -> Vocabularies:
    return Vocabularies(monotonic=clock)


@pytest.fixture(autouse=True)
def _words_only(settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"


def store(actor: Actor, *texts: str, scope: str = "owner") -> list[UUID]:
    items = remember_many(actor=actor, drafts=[Draft(text=text) for text in texts], scope=scope)
    return [item.stored.memory_id for item in items if item.stored is not None]


def words(kept: Vocabularies, actor: Actor, *, steps: int = 1) -> WordList:
    with owner_scope(actor.owner_id):
        return kept.of(actor.owner_id, actor.readable, steps=steps)


def test_the_commonest_words_with_a_beginning_come_first(alice: Actor, kept: Vocabularies) -> None:
    store(alice, "Lisbon in May", "Listen to Lisbon", "A list of Lisbon streets", "Lists, lists", "listen!")
    assert words(kept, alice).suggest("lis", limit=3) == ["Lisbon", "listen", "list"]
    assert words(kept, alice).suggest("LISB", limit=3) == ["Lisbon"]
    assert words(kept, alice).suggest("lisbon", limit=3) == []
    assert words(kept, alice).suggest("x", limit=3) == []


def test_words_keep_their_letters_and_are_found_without_diacritics(alice: Actor, kept: Vocabularies) -> None:
    store(alice, "Die Kündigungsfrist endet", "मैंने किताब खरीदी", "Живём в Москве", "우리는 학교에 갔다")
    for prefix, word in (("kundig", "Kündigungsfrist"), ("कि", "किताब"), ("моск", "Москве"), ("학교", "학교에")):
        assert words(kept, alice).suggest(prefix, limit=5) == [word]


def test_no_function_words_numbers_identifiers_or_personal_data(alice: Actor, kept: Vocabularies) -> None:
    store(alice, "The card ZX-4419 of https://example.org/thanks belongs to alice.thorn@example.org, they say there")
    found = words(kept, alice)
    assert {word for start in "abcdefghijklmnopqrstuvwxyz" for word in found.suggest(start, limit=50)} == {
        "card",
        "belongs",
        "say",
    }


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("lisbn", ["Lisbon"]),
        ("lisbno", ["Lisbon"]),
        ("Lisbom", ["Lisbon"]),
        ("isbon", ["Lisbon"]),
        ("lsbno", []),
        ("lisbon", []),
        ("lamd", ["lamp", "lamb"]),
        ("lam", []),
        ("kundigungfris", ["Kündigungsfrist"]),
        ("kandigungfris", []),
        ("bat", []),
        ("bark", ["dark"]),
    ],
)
def test_a_slip_of_the_pen_is_seen_through(alice: Actor, kept: Vocabularies, word: str, expected: list[str]) -> None:
    store(alice, "Lisbon lamp", "a lamp, a lamb", "Kündigungsfrist", "dark cat")
    assert words(kept, alice).corrections(word, limit=3) == expected


def test_the_same_first_letter_is_more_likely(alice: Actor, kept: Vocabularies) -> None:
    store(alice, "night", "a night", "sight", "light", "a light", "the light")
    assert words(kept, alice).corrections("sght", limit=3) == ["sight"]
    assert words(kept, alice).corrections("nigt", limit=1) == ["night"]
    assert words(kept, alice).corrections("sightt", limit=1) == ["sight"]
    assert words(kept, alice).corrections("fight", limit=3) == ["light", "night", "sight"]
    assert words(kept, alice).corrections("nlght", limit=2) == ["night"]


def test_the_list_grows_in_steps(
    alice: Actor, kept: Vocabularies, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "STEP_ROWS", 2)
    store(alice, *[f"word{chr(97 + number)}" for number in range(12)])
    # The newest first, two memories a step, four steps a second at most.
    assert words(kept, alice).suggest("word", limit=9) == ["wordk", "wordl"]
    assert len(words(kept, alice)) == 4
    assert len(words(kept, alice, steps=9)) == 8
    assert len(words(kept, alice)) == 8
    clock.now += 10
    assert len(words(kept, alice, steps=9)) == 12
    assert not words(kept, alice).suggest("new", limit=1)
    store(alice, "newcomer")
    clock.now += 10
    assert words(kept, alice).suggest("new", limit=1) == ["newcomer"]


def test_rows_and_words_are_bounded(alice: Actor, kept: Vocabularies, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vocabulary, "STEP_ROWS", 2)
    monkeypatch.setattr(vocabulary, "MOST_ROWS", 4)
    monkeypatch.setattr(vocabulary, "MOST_WORDS", 3)
    store(alice, *[f"word{chr(97 + number)}" for number in range(12)])
    found = words(kept, alice, steps=STEPS_AT_ONCE)
    assert (found.rows_read, len(found), found.complete) == (4, 3, True)


def test_nobody_waits_for_another_who_reads(alice: Actor, kept: Vocabularies) -> None:
    store(alice, "lighthouse")
    found = words(kept, alice)
    store(alice, "newcomer")
    with found._lock:
        assert words(kept, alice).suggest("light", limit=1) == ["lighthouse"]
        assert words(kept, alice).suggest("new", limit=1) == []
    assert words(kept, alice).suggest("new", limit=1) == ["newcomer"]


def test_lists_are_the_readers_own(alice: Actor, mallory: Actor, make_agent: Any, kept: Vocabularies) -> None:
    agent, _ = make_agent(alice, "first")
    store(alice, "shared lighthouse")
    store(agent, "private lantern", scope="agent")
    other, _ = make_agent(alice, "second")
    assert words(kept, alice).suggest("l", limit=5) == ["lantern", "lighthouse"]
    assert words(kept, agent).suggest("l", limit=5) == ["lantern", "lighthouse"]
    assert words(kept, other).suggest("l", limit=5) == ["lighthouse"]
    assert words(kept, mallory).suggest("l", limit=5) == []


def test_words_go_with_their_time_their_memory_and_their_owner(alice: Actor, kept: Vocabularies, clock: Clock) -> None:
    store(alice, "lighthouse")
    first = words(kept, alice)
    assert words(kept, alice) is first
    kept.forget(alice.owner_id)
    second = words(kept, alice)
    assert second is not first
    clock.now += KEPT_SECONDS
    third = words(kept, alice)
    assert third is not second
    with owner_scope(alice.owner_id):
        LexStats.objects.update(n=0)
    assert words(kept, alice) is not third


def test_the_list_not_used_for_longest_makes_room(
    alice: Actor, mallory: Actor, kept: Vocabularies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "MOST_LISTS", 1)
    first = words(kept, alice)
    words(kept, mallory)
    assert words(kept, alice) is not first


def test_a_known_list_costs_two_statements(alice: Actor, kept: Vocabularies) -> None:
    store(alice, "lighthouse")
    words(kept, alice)
    with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as captured:
        kept.of(alice.owner_id, None)
    assert len(captured) == 2


def test_a_text_that_does_not_open_is_left_out(
    alice: Actor, kept: Vocabularies, caplog: pytest.LogCaptureFixture
) -> None:
    ids = store(alice, "lighthouse", "lantern")
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(
            "UPDATE memory_memory SET text = other.text FROM memory_memory other "
            "WHERE memory_memory.id = %s AND other.id = %s AND memory_memory.owner_id = other.owner_id",
            ids,
        )
    assert words(kept, alice).suggest("l", limit=5) == ["lantern"]
    assert "1 of 2 memories do not open" in caplog.text
