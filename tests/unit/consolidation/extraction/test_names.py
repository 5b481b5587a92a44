"""What texts name, and what only looks like a name."""

from __future__ import annotations

import pytest

from memory.consolidation.extraction import rules_extractor
from memory.ports import Passage
from tests.unit.consolidation.extraction.drawing import AT, draw, names, relations


@pytest.mark.parametrize(
    ("said", "named"),
    [
        ("Not Room 101 but room 102.", {"Room 101": "concept", "Room 102": "concept"}),
        ("It was flight UA123, not UA124.", {"UA123": "concept", "UA124": "concept"}),
        ("Send me the Q3 revenue report.", {"Q3 revenue report": "concept"}),
        ("The 2024 tax return is late.", {"2024 tax return": "concept"}),
        ("It came from Dr John Richardson.", {"Dr John Richardson": "person"}),
        ("It came from Dr. Jane Richardson.", {"Dr. Jane Richardson": "person"}),
        ("See https://www.status.example.org/incidents/7.", {"status.example.org": "url"}),
        ("Look into `resolve_chain` and routing/fallback.py.",
         {"resolve_chain": "concept", "routing/fallback.py": "concept"}),
        ("The tests run with pytest on Docker.", {"pytest": "tool", "Docker": "tool"}),
        ('We watched "Home Alone" again.', {"Home Alone": "concept"}),
        ("A talk at the University of Leeds.", {"University of Leeds": "organization"}),
        ("They read The Name of the Wind.", {"The Name of the Wind": "concept"}),
        ("A letter from Kranich Freight.", {"Kranich Freight": "organization"}),
        ("Thanks, Mel!", {"Mel": "person"}),
        ("We went to Lake Bohinj in Slovenia.", {"Lake Bohinj": "concept", "Slovenia": "concept"}),
        ("Project Aurora is late.", {"Project Aurora": "project"}),
        ("Mostly yoga and pottery these days.", {"yoga": "topic", "pottery": "topic"}),
        ("Ich habe Kaffee und Kuchen in Leipzig gekauft.", {"Leipzig": "concept"}),
    ],
    ids=str,
)  # fmt: skip
def test_names_and_their_types(said: str, named: dict[str, str]) -> None:
    assert names(draw(said)) == named


@pytest.mark.parametrize(
    "said",
    [
        "Hey! Wow, thanks!", "Thanks for that. Sounds great.", "See you on Friday, or in May.", "Yeah, Awesome!",
        "LOL, THAT IS SO FUNNY", "Taking a break helps.", "My Spanish is bad.", "I saw it on Monday 12 May.",
        "No, never. Absolutely! Congrats!",
    ],
    ids=str,
)  # fmt: skip
def test_noise_names_nothing(said: str) -> None:
    assert names(draw(said)) == {}


def test_a_mail_address_is_no_entity() -> None:
    assert names(draw("Write to ana.lopez@example.org about it.")) == {}


def test_five_hundred_repetitions_give_one_entity_each() -> None:
    drawn = draw("Anna Berg met Carl Dorn in Galway. " * 500)
    assert names(drawn) == {"Anna Berg": "person", "Carl Dorn": "person", "Galway": "concept"}
    assert len([relation for relation in drawn.relations if relation.label == "mentioned_with"]) == 3


def test_at_most_forty_entities_and_ten_pairs_of_one_text() -> None:
    letters = "BCDFGHKLMN"
    people = [f"{first}ane {second}orwin" for first in letters for second in letters]
    drawn = draw(". They met ".join(f"Anna {one} and {two}" for one, two in zip(people, people[1:], strict=False)))
    assert len(drawn.entities) == 40
    assert len(drawn.relations) == 10
    assert drawn.left_out["extraction.entities"] > 0
    assert drawn.left_out["extraction.relations"] > 0


def test_a_very_long_turn_is_read_to_its_limit_and_the_rest_counted() -> None:
    text = "I live in Leipzig. " + "Nothing more to say here. " * 8_000
    drawn = draw(text)
    assert drawn.left_out["extraction.characters"] == len(text) - 20_000
    assert [fact.text for fact in drawn.facts] == ["Ana lives in Leipzig."]


def test_an_entity_of_several_passages_cites_them_all() -> None:
    passages = [
        Passage(key=key, text=text, occurred_at=AT, role="user")
        for key, text in (("a", "Anna Berg called."), ("b", "Nothing."), ("c", "I met anna berg and Anna Berg's dog."))
    ]
    (entity,) = [one for one in rules_extractor().extract(passages).entities if one.name == "Anna Berg"]
    assert entity.passages == ("a", "c")


def test_the_name_of_the_speaker_before_his_words_is_not_read() -> None:
    drawn = draw("Ana: I live in Leipzig.")
    assert [fact.text for fact in drawn.facts] == ["Ana lives in Leipzig."]


@pytest.mark.parametrize(
    ("said", "whose"),
    [
        ("Jule's daughter is called Wren too.", "Jule"),
        ("Jule's daughter is also named Wren.", "Jule"),
        ("My daughter is called Wren as well.", "Ana"),
    ],
    ids=str,
)
def test_a_namesake_is_kept_apart_by_whose_it_is(said: str, whose: str) -> None:
    drawn = draw(said)
    assert relations(drawn) == {(whose, "has_daughter", f"{whose}'s daughter Wren", False)}
    assert [fact.text for fact in drawn.facts] == [f"{whose}'s daughter is also called Wren."]
    assert "Wren" not in names(drawn)


def test_a_relative_who_comes_along_too_is_no_namesake() -> None:
    assert relations(draw("My sister Jule too lives in Porto.")) >= {("Ana", "has_sister", "Jule", False)}
