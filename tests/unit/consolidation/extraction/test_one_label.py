"""Who leads somebody and who is married to him has one label, however it is said; what is over ends it."""

from __future__ import annotations

import pytest

from memory.graph.labels import SINGLE_VALUED, SYNONYMS, preferred
from tests.unit.consolidation.extraction.drawing import claims, draw, relations, texts


@pytest.mark.parametrize(
    "said",
    [
        "I report to Rosa Lind.",
        "My manager is Rosa Lind.",
        "My boss is called Rosa Lind.",
        "Rosa Lind is my boss.",
        "Rosa Lind is our team lead.",
        "My team lead is Rosa Lind.",
        "My lead is Rosa Lind.",
        "Rosa Lind is my lead.",
        "My line manager Rosa Lind lives in Porto.",
        "My supervisor Rosa Lind lives in Porto.",
    ],
    ids=str,
)
def test_who_leads(said: str) -> None:
    drawn = draw(said)
    assert {one for one in relations(drawn) if one[0] == "Ana"} == {("Ana", "reports_to", "Rosa Lind", False)}
    assert ("Ana", "reports_to", "rosa lind", 1, True) in claims(drawn)


@pytest.mark.parametrize(
    "said",
    ["I no longer report to Rosa Lind.", "Rosa Lind is no longer my manager.", "Rosa Lind isn't my boss any more."],
    ids=str,
)
def test_who_leads_no_longer(said: str) -> None:
    drawn = draw(said)
    assert relations(drawn) == {("Ana", "reports_to", "Rosa Lind", True)}
    assert claims(drawn) == [("Ana", "reports_to", "rosa lind", -1, False)]


@pytest.mark.parametrize(
    "said", ["My old boss Tom called.", "My old boss Tom lives in Porto.", "Rosa isn't my boss."], ids=str
)
def test_who_led_once_leads_nobody(said: str) -> None:
    assert not [one for one in relations(draw(said)) if one[1] == "reports_to"]


@pytest.mark.parametrize("said", ["My boss lives in Porto.", "My wife lives in Porto."], ids=str)
def test_one_without_a_name_takes_no_place(said: str) -> None:
    assert not {label for _, label, _, _ in relations(draw(said))} & {"reports_to", "married_to"}


@pytest.mark.parametrize("said", ["My wife is Clara.", "Clara is my wife.", "My spouse Clara lives in Porto."], ids=str)
def test_who_is_married(said: str) -> None:
    assert ("Ana", "married_to", "clara", 1, True) in claims(draw(said))


def test_synonyms_lead_to_labels_of_one_target() -> None:
    assert set(SYNONYMS.values()) <= SINGLE_VALUED
    assert not SINGLE_VALUED & SYNONYMS.keys() - {"employed_by"}
    assert (preferred("has_boss"), preferred("employed_by"), preferred("likes")) == ("reports_to", "works_at", "likes")


@pytest.mark.parametrize(
    "said",
    [
        "Dr John Richardson is my dentist, Dr Jane Richardson my doctor.",
        "Dr John Richardson is my dentist and Dr Jane Richardson my doctor.",
    ],
    ids=str,
)
def test_two_in_one_sentence(said: str) -> None:
    drawn = draw(said)
    assert texts(drawn) == ["Dr John Richardson is Ana's dentist.", "Dr Jane Richardson is Ana's doctor."]
    assert relations(drawn) == {
        ("Ana", "has_dentist", "Dr John Richardson", False),
        ("Ana", "has_doctor", "Dr Jane Richardson", False),
    }
