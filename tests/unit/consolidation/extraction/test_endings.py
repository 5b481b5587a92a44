"""What is over: it is told, its claim is denied and its relation ends."""

from __future__ import annotations

import pytest

from memory.consolidation.extraction.endings import PARTED
from tests.unit.consolidation.extraction.drawing import claims, draw, relations, texts

ENDED = {
    "I don't play tennis any more.": ("plays", "tennis"),
    "I no longer play tennis.": ("plays", "tennis"),
    "I used to play tennis.": ("plays", "tennis"),
    "I quit tennis.": ("plays", "tennis"),
    "I stopped playing the cello.": ("plays", "cello"),
    "I've given up the cello.": ("plays", "cello"),
    "I no longer work at Acme Corp.": ("works_at", "Acme Corp"),
    "I quit my job at Acme Corp.": ("works_at", "Acme Corp"),
    "I stopped working at Acme Corp.": ("works_at", "Acme Corp"),
    "I resigned from Acme Corp.": ("works_at", "Acme Corp"),
    "I am not working at Acme Corp any more.": ("works_at", "Acme Corp"),
    "I'm no longer working at Acme Corp.": ("works_at", "Acme Corp"),
    "I'm not playing tennis anymore.": ("plays", "tennis"),
    "I'm no longer based in Porto.": ("lives_in", "Porto"),
    "I stopped using Redis.": ("uses", "Redis"),
    "I don't speak French any more.": ("speaks", "French"),
    "I don't collect stamps anymore.": ("collects", "stamps"),
    "I don't study physics any more.": ("studies", "physics"),
    "I broke up with my girlfriend Nina.": ("has_girlfriend", "Nina"),
    "My girlfriend Nina and I broke up.": ("has_girlfriend", "Nina"),
}  # fmt: skip


@pytest.mark.parametrize("said", sorted(ENDED), ids=str)
def test_an_end(said: str) -> None:
    drawn = draw(said)
    label, target = ENDED[said]
    assert relations(drawn) == {("Ana", label, target, True)}
    ((subject, _, value, polarity, single),) = claims(drawn)
    assert (subject, value, polarity, single) == ("Ana", target.casefold(), -1, False)
    assert [relation.weight > 0 for relation in drawn.relations if relation.label == label] == [True]


@pytest.mark.parametrize("said", ["I broke up with Nina.", "Nina and I split up.", "I'm divorced from Nina."], ids=str)
def test_a_parting_ends_whichever_stands(said: str) -> None:
    drawn = draw(said)
    assert relations(drawn) == {("Ana", label, "Nina", True) for label in PARTED}
    told = {relation.label for relation in drawn.relations if relation.weight > 0}
    assert told & set(PARTED) == ({"married_to"} if "divorced" in said else set())


def test_a_plain_denial_ends_only_what_stands() -> None:
    (relation,) = [one for one in draw("I don't play tennis.").relations if one.label == "plays"]
    assert (relation.ended, relation.weight) == (True, 0.0)
    assert relations(draw("I don't own a car.")) == set()
    (relation,) = draw("I left Acme Corp last week.").relations[:1]
    assert (relation.label, relation.ended, relation.weight) == ("works_at", True, 0.0)


@pytest.mark.parametrize(
    ("said", "told"),
    [("I gave up smoking.", "Ana gave up smoking."), ("I quit vaping.", "Ana quit vaping.")],
    ids=str,
)
def test_a_habit_is_told(said: str, told: str) -> None:
    drawn = draw(said)
    assert texts(drawn) == [told]
    assert [polarity for *_, polarity, _ in claims(drawn)] == [-1]


@pytest.mark.parametrize(
    "said",
    [
        "I stopped playing the cello for a minute.",
        "I gave up on Tom.",
        "I gave up my seat.",
        "I left Lisbon.",
        "I left the Louvre Museum at noon.",
        "We left Leeds University.",
        "I left my keys at Acme Corp.",
        "I didn't quit tennis.",
        "The team broke up.",
        "I split the bill with Tom.",
        "Tom said Nina and I broke up.",
        "If Nina and I broke up I would move.",
        "I'm not divorced from Tom.",
    ],
    ids=str,
)
def test_no_end(said: str) -> None:
    assert not [one for one in relations(draw(said)) if one[3]]
    assert -1 not in [polarity for *_, polarity, _ in claims(draw(said))]
