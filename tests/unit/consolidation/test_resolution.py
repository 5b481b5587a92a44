"""Which names stand for one entity: what must stay apart does, what a person decides is asked, spelling is spelling."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.consolidation.resolution import FLOOR, SURE, Verdict, judge
from memory.models import EntityType

APART = [
    ("Room 101", "Room 102", "topic", "number"),
    ("Room 101", "Room", "topic", "number"),
    ("Room 10 1", "Room 101", "topic", "number"),
    ("2023 tax return", "2024 tax return", "topic", "number"),
    ("UA123", "UA124", "concept", "number"),
    ("Dr John Richardson", "Dr Jane Richardson", "person", "first_name"),
    ("Q3 revenue report", "Q4 revenue report", "concept", "number"),
    ("v1.2", "v12", "tool", "number"),
    ("agent 007", "agent 7", "concept", "number"),
    ("World War I", "World War II", "concept", "number"),
    ("Henry IV", "Henry V", "person", "number"),
    ("first floor", "second floor", "topic", "number"),
    ("North Korea", "South Korea", "topic", "opposite"),
    ("Carolina", "North Carolina", "topic", "opposite"),
    ("Al Smith Jr.", "Al Smith", "person", "opposite"),
    ("Martin King Jr", "Martin King Sr", "person", "opposite"),
    ("March report", "May report", "concept", "opposite"),
    ("Monday meeting", "Tuesday meeting", "concept", "opposite"),
    ("Mr Richardson", "Mrs Richardson", "person", "title"),
    ("user", "user's sister", "person", "relative"),
    ("Ana Silva", "Ana’s sister", "person", "relative"),
    ("Ana's sister", "Ana's brother", "person", "surname"),
    ("J. Smith", "K. Smith", "person", "first_name"),
    ("John A. Smith", "John B. Smith", "person", "initial"),
    ("Vitamin C", "Vitamin D", "concept", "letter"),
    ("Plan A", "Plan", "concept", "letter"),
    ("C++", "C#", "tool", "word"),
    ("Iran", "Iraq", "topic", "word"),
    ("Slovakia", "Slovenia", "topic", "word"),
    ("GitHub", "GitHub Actions", "tool", "part"),
    ("Acme Inc.", "Acme Ltd", "organization", "legal_form"),
    ("東京", "京都", "topic", "script"),
    ("https://example.org/a", "https://example.org/b", "url", "address"),
    ("🐦", "🌸", "concept", "emoji"),
]
ASKED = [
    ("Wren 🐦", "Wren 🌸", "person", "emoji"),
    ("Wren 🐦", "Wren", "person", "emoji"),
    ("Merrivale", "Merryvale", "topic", "near"),
    ("J. Smith", "John Smith", "person", "initial"),
    ("Bob Smith", "Robert Smith", "person", "nickname"),
    ("John Smith", "John Q. Smith", "person", "middle"),
    ("Sara Smith", "Sarah Smith", "person", "near"),
    ("Jon Smith", "John Smith", "person", "nickname"),
    ("Alice", "Alice Johnson", "person", "part"),
    ("James Martin", "Martin James", "person", "order"),
    ("Anna Lee", "Annalee", "person", "joined"),
    ("Dr Richardson", "Richardson", "person", "title_of_surname"),
    ("NASA", "National Aeronautics and Space Administration", "organization", "acronym"),
    ("sensor", "sensors", "concept", "plural"),
    ("Apollo", "Apollo project", "project", "kind_word"),
    ("05/03/2024", "03/05/2024", "concept", "order_of_numbers"),
]
SAME = [
    ("Renée Müller", "RENEE  muller", "person", "exact"),
    ("Müller", "Mueller", "person", "spelling"),
    ("O'Brien", "OBrien", "person", "spelling"),
    ("Jean-Luc Picard", "Jean Luc Picard", "person", "spelling"),
    ("GitHub", "Git Hub", "tool", "spelling"),
    ("Node.js", "NodeJS", "tool", "spelling"),
    ("the Eiffel Tower", "Eiffel Tower", "topic", "spelling"),
    ("UA 123", "UA123", "concept", "spelling"),
    ("World War II", "World War 2", "concept", "spelling"),
    ("3rd floor", "third floor", "topic", "spelling"),
    ("❤️ list", "❤ list", "topic", "spelling"),
    ("Smith, John", "John Smith", "person", "comma"),
    ("Dr. John Richardson", "John Richardson", "person", "title"),
    ("Acme Inc.", "Acme", "organization", "legal_form"),
    ("University of Munich", "University Munich", "organization", "filler"),
    ("Kubernetes", "Kuberentes", "tool", "slip"),
    ("Philippines", "Phillipines", "topic", "slip"),
    ("https://www.example.org/a/", "http://example.org/a", "url", "address"),
]


def case(row: tuple[str, str, str, str]) -> str:
    return f"{row[3]}-{row[0]}-{row[1]}".encode("ascii", "backslashreplace").decode()


@pytest.mark.parametrize(
    ("verdict", "row"),
    [
        pytest.param(verdict, row, id=f"{verdict}-{case(row)}")
        for verdict, rows in ((Verdict.APART, APART), (Verdict.ASK, ASKED), (Verdict.SAME, SAME))
        for row in rows
    ],
)
def test_the_rule_decides_from_either_side(verdict: Verdict, row: tuple[str, str, str, str]) -> None:
    first, second, type_, rule = row
    for one, other in ((first, second), (second, first)):
        found = judge(one, other, type_=type_)
        assert (found.verdict, found.rule) == (verdict, rule), found


def test_two_sorts_of_things_are_never_one_by_likeness() -> None:
    assert judge("Python", "Python", type_="tool", other_type="topic").rule == "type"


WORDS = """John Jane J. Q. Smith Smyth Dr Mr Mrs Jr III 101 102 2024 Q3 q4 room Room Northern south report of the A Inc
UA123 ua-123 🐦 🌸 Müller Mueller , 東京 third 3rd v1.2 Git Hub GitHub"""
NAMES = st.lists(
    st.sampled_from(WORDS.split()),
    min_size=1,
    max_size=5,
).map(" ".join)


@given(NAMES, NAMES, st.sampled_from(EntityType.values))
@example("UA123", "ua-123 of Git", EntityType.PERSON.value)
@example("III Mrs 102", "102", EntityType.PERSON.value)
def test_judging_is_even_handed_and_bounded(first: str, second: str, type_: str) -> None:
    found, other = judge(first, second, type_=type_), judge(second, first, type_=type_)
    assert (found.score, found.verdict) == (other.score, other.verdict)
    assert 0 <= found.score <= 1
    assert (found.verdict == Verdict.SAME) == (found.score >= SURE)
    assert (found.verdict == Verdict.APART) == (found.score < FLOOR)


@given(st.text(max_size=40), st.text(max_size=40), st.sampled_from(EntityType.values))
def test_any_text_can_be_judged(first: str, second: str, type_: str) -> None:
    assert 0 <= judge(first, second, type_=type_).score <= 1
    assert judge(first, first, type_=type_).score == 1.0


@given(st.integers(0, 9999), st.integers(0, 9999), st.sampled_from(["Room {}", "{} tax return", "UA{}", "Q{} report"]))
def test_numbers_that_differ_are_never_merged(one: int, other: int, form: str) -> None:
    found = judge(form.format(one), form.format(other), type_="topic")
    assert (found.verdict == Verdict.SAME) == (one == other), found
