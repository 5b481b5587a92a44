"""The default profile with the shipped embedder: ordered by evidence, explained, fair to statements, with switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import pytest

from memory.models import MemoryVector, TokenVectors, owner_scope
from memory.providers import composition
from memory.providers.minilm import MiniLmEmbedder
from memory.recall.evidence import WEIGHTS
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.profiles import change_profile
from memory.services.questions import RecallRequest
from memory.services.recall import Recalled, recall
from memory.services.remember import remember, remember_many
from memory.services.turns import TurnDraft, ingest_turns

TALK: Final = (
    ("Bea", "The garden needs water again."),
    ("Tom", "When did you go to Kyoto?"),
    ("Bea", "Last week, with my sister. We stayed three nights."),
    ("Tom", "Nice."),
    ("Bea", "How many nights would you stay in Kyoto?"),
    ("Tom", "No idea, I never travel."),
    ("Bea", "The train was late, as always."),
)
QUESTION: Final = "How many nights did Bea stay in Kyoto?"
ANSWER: Final = TALK[2][1]

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def local() -> MiniLmEmbedder:
    return MiniLmEmbedder(threads=1)


@pytest.fixture(autouse=True)
def _chosen(local: MiniLmEmbedder, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(composition._EMBEDDERS, "local", lambda _: local)
    settings.EMBEDDING_PROVIDER = "local"


@pytest.fixture
def talk(alice: Actor) -> dict[str, UUID]:
    """Store the conversation, and another one about something else, and give the ids by text."""
    found = said(alice, "talk", TALK)
    said(alice, "other", [("Ann", f"The printer on floor {floor} is out of paper.") for floor in range(1, 9)])
    return found


def said(actor: Actor, session: str, turns: Sequence[tuple[str, str]]) -> dict[str, UUID]:
    drafts = [TurnDraft(draft=Draft(text=text, speaker=speaker, role="user")) for speaker, text in turns]
    answer = ingest_turns(actor=actor, session=session, turns=drafts)
    return {
        text: one.memory_id for (_, text), one in zip(turns, answer.turns, strict=True) if one.memory_id is not None
    }


def ask(actor: Actor, query: str = QUESTION, **request: Any) -> Recalled:
    return recall(actor=actor, request=RecallRequest(query=query, reinforce=False, record=False, **request))


def order(answer: Recalled) -> list[str]:
    return [hit.memory.text for hit in answer.hits]


def test_the_answer_comes_before_the_questions_that_sound_like_it(alice: Actor, talk: dict[str, UUID]) -> None:
    change_profile(actor=alice, name="default", changes={"evidence": False})
    assert order(ask(alice))[0] == "How many nights would you stay in Kyoto?"
    change_profile(actor=alice, name="default", changes={"evidence": True})
    answer = ask(alice)
    assert order(answer)[0] == ANSWER
    assert answer.degraded == []


def test_every_hit_is_explained_and_the_terms_add_up_to_its_score(alice: Actor, talk: dict[str, UUID]) -> None:
    answer = ask(alice)
    assert len(answer.hits) == 10
    known = {weight.signal: weight.value for weight in WEIGHTS}
    for hit in answer.hits:
        terms = hit.reasons["evidence"]
        assert terms
        assert {signal: term["weight"] for signal, term in terms.items()}.items() <= known.items()
        assert all(term["added"] == pytest.approx(term["weight"] * term["value"], abs=0.001) for term in terms.values())
        assert hit.score == pytest.approx(sum(term["added"] for term in terms.values()), abs=0.01)
        assert set(hit.reasons["arms"]) >= {"dense"}
    first = answer.hits[0].reasons["evidence"]
    assert {"number", "answers", "window", "late", "late_window"} <= set(first)
    assert first["answers"]["value"] == first["number"]["value"] == 1.0
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)


def test_a_turn_that_no_arm_found_comes_in_beside_the_one_that_it_follows(alice: Actor) -> None:
    said(alice, "talk", [("Tom", "Which ferry goes to Inis Oirr?"), ("Bea", "Blue one.")])
    said(alice, "other", [("Ann", f"Is ferry number {number} going anywhere?") for number in range(20)])
    change_profile(actor=alice, name="default", changes={"candidates": 3, "arms": ["lexical"]})
    assert "Blue one." in order(ask(alice, "Which ferry goes to Inis Oirr?"))
    change_profile(actor=alice, name="default", changes={"spread_before": 0, "spread_after": 0})
    assert "Blue one." not in order(ask(alice, "Which ferry goes to Inis Oirr?"))


@pytest.mark.parametrize("how", ["setting", "profile", "missing"])
def test_late_interaction_can_be_off_or_missing(alice: Actor, talk: dict[str, UUID], settings: Any, how: str) -> None:
    if how == "setting":
        settings.LATE_INTERACTION = False
    elif how == "profile":
        change_profile(actor=alice, name="default", changes={"late_interaction": False})
    else:
        with owner_scope(alice.owner_id):
            TokenVectors.objects.all().delete()
            assert MemoryVector.objects.exists()
    answer = ask(alice)
    assert order(answer)[0] == ANSWER
    assert not any({"late", "late_window"} & set(hit.reasons["evidence"]) for hit in answer.hits)
    assert answer.degraded == []


def test_rows_without_tokens_are_passed_over_and_the_others_compared(alice: Actor, talk: dict[str, UUID]) -> None:
    with owner_scope(alice.owner_id):
        TokenVectors.objects.filter(memory_id=talk[ANSWER]).delete()
    hits = {hit.memory.text: hit.reasons["evidence"] for hit in ask(alice).hits}
    assert "late" not in hits[ANSWER]
    assert sum("late" in terms for terms in hits.values()) >= 5


class TestMixed:
    """Statements and turns in one list: each is found first where it is the one that answers."""

    @pytest.fixture
    def store(self, alice: Actor, talk: dict[str, UUID]) -> Actor:
        remember_many(
            actor=alice,
            drafts=[
                Draft(text="Tom is allergic to peanuts.", kind="fact"),
                Draft(text="Bea prefers trains to planes.", kind="preference"),
                Draft(text="The wifi password of the workshop changes on Mondays.", kind="note"),
                Draft(text="Tom's shoe size is 43.", kind="fact"),
            ],
        )
        return alice

    @pytest.mark.parametrize(
        ("query", "first"),
        [
            ("What is Tom allergic to?", "Tom is allergic to peanuts."),
            ("Does Bea like trains or planes?", "Bea prefers trains to planes."),
            ("What shoe size does Tom have?", "Tom's shoe size is 43."),
            (QUESTION, ANSWER),
            ("Who went to Kyoto with Bea?", ANSWER),
            ("What needs water?", "The garden needs water again."),
        ],
    )
    def test_what_answers_comes_first(self, store: Actor, query: str, first: str) -> None:
        assert order(ask(store, query))[0] == first

    def test_a_statement_that_repeats_a_turn_is_shown_once(self, store: Actor) -> None:
        statement = remember(actor=store, draft=Draft(text="The garden needs water again.", kind="fact")).memory_id
        answer = ask(store, "What needs water?")
        assert order(answer).count("The garden needs water again.") == 1
        first = answer.hits[0]
        assert statement in {first.memory.pk, *first.also}
        assert len(first.also) == 1
