"""What people say of themselves becomes statements about them, with claims that can be compared."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.unit.consolidation.extraction.drawing import claims, draw, relations, texts


@pytest.mark.parametrize(
    ("said", "told", "claim"),
    [
        ("I love Chinese food.", "Ana loves Chinese food.", ("Ana", "likes", "chinese food", 1, False)),
        ("I hate Chinese food!", "Ana hates Chinese food.", ("Ana", "likes", "chinese food", -1, False)),
        ("I don't like Chinese food", "Ana does not like Chinese food.", ("Ana", "likes", "chinese food", -1, False)),
        ("I like eating Chinese food a lot.", "Ana likes eating Chinese food a lot.",
         ("Ana", "likes", "chinese food", 1, False)),
        ("I can't stand loud music", "Ana can't stand loud music.", ("Ana", "likes", "loud music", -1, False)),
        ("I'm not a fan of jazz.", "Ana is not a fan of jazz.", ("Ana", "likes", "jazz", -1, False)),
        ("I've always loved my garden.", "Ana has always loved their garden.", ("Ana", "likes", "garden", 1, False)),
        ("I prefer tea over coffee.", "Ana prefers tea over coffee.", ("Ana", "likes", "tea", 1, False)),
        ("Loves cheese pizza", "Ana loves cheese pizza.", ("Ana", "likes", "cheese pizza", 1, False)),
        ("Dislikes cheese pizza", "Ana dislikes cheese pizza.", ("Ana", "likes", "cheese pizza", -1, False)),
        ("I live in Leipzig.", "Ana lives in Leipzig.", ("Ana", "lives_in", "leipzig", 1, True)),
        ("I've lived in Basel for ten years.", "Ana has lived in Basel for ten years.",
         ("Ana", "lives_in", "basel", 1, True)),
        ("I don't live in Berlin.", "Ana does not live in Berlin.", ("Ana", "lives_in", "berlin", -1, False)),
        ("I used to live in Bristol.", "Ana used to live in Bristol.", ("Ana", "lives_in", "bristol", -1, False)),
        ("I work at Kranich Freight.", "Ana works at Kranich Freight.",
         ("Ana", "works_at", "kranich freight", 1, True)),
        ("I'm a nurse.", "Ana is a nurse.", ("Ana", "job", "nurse", 1, False)),
        ("I'm 34 years old.", "Ana is 34 years old.", ("Ana", "age", "34", 1, True)),
        ("I am from Galway.", "Ana is from Galway.", ("Ana", "comes_from", "galway", 1, True)),
        ("My name is Ana Lopez.", "Ana's name is Ana Lopez.", ("Ana", "named", "ana lopez", 1, True)),
        ("My birthday is on the 3rd of May.", "Ana's birthday is the 3rd of May.",
         ("Ana", "birthday", "05-03", 1, True)),
        ("My timezone is CET.", "Ana's timezone is CET.", ("Ana", "timezone", "cet", 1, True)),
        ("My favorite colour is teal.", "Ana's favourite colour is teal.",
         ("Ana", "favourite_colour", "teal", 1, True)),
        ("I've been vegetarian since 2020.", "Ana has been vegetarian since 2020.",
         ("Ana", "diet", "vegetarian", 1, True)),
        ("I don't eat meat.", "Ana does not eat meat.", ("Ana", "eats", "meat", -1, False)),
        ("I want to learn Spanish.", "Ana wants to learn Spanish.", ("Ana", "wants", "learn spanish", 1, False)),
        ("I play the violin.", "Ana plays the violin.", ("Ana", "plays", "violin", 1, False)),
        ("I use PostgreSQL for everything.", "Ana uses PostgreSQL for everything.",
         ("Ana", "uses", "postgresql", 1, False)),
        ("Yeah, I also love hiking!", "Ana also loves hiking.", ("Ana", "likes", "hiking", 1, False)),
        ("Hey John, by the way, I'm allergic to penicillin.", "Ana is allergic to penicillin.",
         ("Ana", "allergic_to", "penicillin", 1, False)),
    ],
    ids=str,
)  # fmt: skip
def test_a_statement_in_the_third_person_and_its_claim(
    said: str, told: str, claim: tuple[str, str, str, int, bool]
) -> None:
    drawn = draw(said)
    assert texts(drawn) == [told]
    assert claims(drawn) == [claim]


def test_without_a_speaker_it_is_the_user() -> None:
    drawn = draw("I love Chinese food", speaker=None)
    assert texts(drawn) == ["The user loves Chinese food."]
    assert claims(drawn) == [("user", "likes", "chinese food", 1, False)]
    assert [(entity.name, entity.type) for entity in drawn.entities] == [("user", "person"), ("Chinese food", "topic")]


def test_a_move_ends_the_old_place_and_opens_the_new_one() -> None:
    drawn = draw("I moved from Whitefield to Electronic City last month.")
    assert relations(drawn) == {
        ("Ana", "lives_in", "Electronic City", False),
        ("Ana", "lives_in", "Whitefield", True),
    }
    assert claims(drawn) == [("Ana", "lives_in", "electronic city", 1, True)]
    closed = next(relation for relation in drawn.relations if relation.ended)
    opened = next(relation for relation in drawn.relations if relation.label == "lives_in" and not relation.ended)
    assert closed.valid_until == opened.valid_from == datetime(2025, 4, 1, tzinfo=UTC)


def test_a_switch_of_tools_ends_the_use_of_the_old_one() -> None:
    assert relations(draw("We switched from MySQL to PostgreSQL.")) == {
        ("Ana", "uses", "PostgreSQL", False),
        ("Ana", "uses", "MySQL", True),
    }


def test_a_list_is_taken_apart_so_that_each_thing_can_be_denied() -> None:
    drawn = draw("I'm allergic to hazelnuts and penicillin.")
    assert texts(drawn) == ["Ana is allergic to hazelnuts.", "Ana is allergic to penicillin."]
    assert [fact.importance for fact in drawn.facts] == [0.95, 0.95]


def test_two_clauses_of_one_subject_are_two_statements() -> None:
    assert texts(draw("I live in Leipzig and work at Kranich Freight as a backend engineer.")) == [
        "Ana lives in Leipzig.",
        "Ana works at Kranich Freight as a backend engineer.",
    ]


def test_what_is_said_of_others_is_theirs() -> None:
    drawn = draw("My sister Jule lives in Freiburg. She loves excavators.")
    assert texts(drawn) == [
        "Ana's sister is called Jule.",
        "Ana's sister Jule lives in Freiburg.",
        "Jule loves excavators.",
    ]
    assert relations(drawn) == {
        ("Ana", "has_sister", "Jule", False),
        ("Jule", "lives_in", "Freiburg", False),
        ("Jule", "likes", "excavators", False),
    }


def test_our_manager_is_the_speakers() -> None:
    drawn = draw("Lotte Asmussen is our product manager.")
    assert texts(drawn) == ["Lotte Asmussen is Ana's product manager."]
    assert relations(drawn) == {("Ana", "works_with", "Lotte Asmussen", False)}


def test_pets_and_spouses_are_related() -> None:
    assert relations(draw("I adopted a puppy named Oscar")) == {("Ana", "has_pet", "Oscar", False)}
    drawn = draw("My wife Anna is a doctor.")
    assert ("Ana", "married_to", "Anna", False) in relations(drawn)
    assert ("Ana", "married_to", "anna", 1, True) in claims(drawn)


@pytest.mark.parametrize(
    "said",
    [
        "I'm tired", "I'm going to the gym.", "I am so happy!", "Never mind.", "I never knew that!", "I love it!",
        "I love this photo.", "I like your dog.", "I love how that looks.", "I love the colours.", "I like that one.",
        "If I lived in Paris, I would love it.", "I would live in Paris.", "I wish I lived in Paris.",
        "Do I live in Paris?", "Don't you love pizza?", "Maybe I love pizza.", "I probably love pizza.",
        "Sam says he loves pizza.", "He told me: I love pizza.", "Someone said I live in Paris.",
        "She loves pizza.", "Write a poem about how I love pizza.", "Translate: I live in Paris.",
        "Write this down for my novel:\nI live in Paris.", "I was hungry yesterday.", "I loved the film.",
        "I want to thank everybody.", "Here it is.", "Never give up!", "Remember to have fun!",
        "I'm not a doctor.", "I'm learning a lot.", "I have to go.", "I used to it.", "You love pizza.",
    ],
    ids=str,
)  # fmt: skip
def test_what_does_not_last_or_is_not_meant_gives_no_statement(said: str) -> None:
    assert texts(draw(said)) == []


def test_a_long_statement_is_cut() -> None:
    (text,) = texts(draw("I live in Leipzig with my " + "very " * 100 + "old cat."))
    assert 270 < len(text) <= 281
    assert text.endswith("…")


@pytest.mark.parametrize(
    ("before", "said", "told"),
    [
        ("Nice! Do you live in Lisbon?", "Yes, in Lisbon.", ["Ana lives in Lisbon."]),
        ("Where do you live?", "In Lisbon", ["Ana lives in Lisbon."]),
        ("What's your favourite colour?", "Teal!", ["Ana's favourite colour is Teal."]),
        ("Do you live in Lisbon?", "No.", []),
        ("Do you live in Lisbon?", "Yes, but not for long.", []),
        ("Do you live in Lisbon?", "Why?", []),
        ("I live in Lisbon.", "Yes.", []),
    ],
    ids=str,
)
def test_a_short_answer_is_completed_by_its_question(before: str, said: str, told: list[str]) -> None:
    assert texts(draw(said, before=before)) == told


@pytest.mark.parametrize(
    ("said", "told", "claim"),
    [
        ("Ich wohne in Leipzig.", "Ana wohnt in Leipzig.", ("lives_in", "leipzig", 1)),
        ("Ich mag keine Pilze.", "Ana mag Pilze nicht.", ("likes", "pilze", -1)),
        ("J'adore le chocolat.", "Ana aime le chocolat.", ("likes", "chocolat", 1)),
        ("J'habite à Lyon depuis 2020.", "Ana habite à Lyon.", ("lives_in", "lyon", 1)),
        ("Me encanta el café.", "A Ana le gusta el café.", ("likes", "café", 1)),
        ("Soy alérgica a las nueces.", "Ana es alérgico a nueces.", ("allergic_to", "nueces", 1)),
        ("Eu moro em Lisboa.", "Ana mora em Lisboa.", ("lives_in", "lisboa", 1)),
        ("Non mi piace il vino.", "A Ana non piace il vino.", ("likes", "vino", -1)),
        ("Ik woon in Utrecht.", "Ana woont in Utrecht.", ("lives_in", "utrecht", 1)),
    ],
    ids=str,
)
def test_other_languages_by_their_commonest_phrases(said: str, told: str, claim: tuple[str, str, int]) -> None:
    drawn = draw(said)
    assert texts(drawn) == [told]
    assert [one[1:4] for one in claims(drawn)] == [claim]


@pytest.mark.parametrize(
    "said", ["Wenn ich in Leipzig wohne", "Ich mag das.", "Me gusta eso.", "Wohne ich in Leipzig?"]
)
def test_other_languages_have_conditions_too(said: str) -> None:
    assert texts(draw(said)) == []


def test_what_one_works_with_is_no_employer() -> None:
    assert relations(draw("I work with Kubernetes.")) == set()
    assert relations(draw("I work with Acme Corp.")) == {("Ana", "works_at", "Acme Corp", False)}
