"""How names, labels, kinds and questions are read."""

from __future__ import annotations

import pytest

from memory.errors import InvalidInput
from memory.graph.edge_kinds import FOREIGN, meaning_of
from memory.graph.key_terms import key_terms, possible_names
from memory.graph.labels import SINGLE_VALUED, checked_label
from memory.graph.names import canonical, words
from memory.models import EdgeKind


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("What do you know about quantum computing?", ["quantum", "computing"]),
        ("my cat", []),
        ("", []),
        ("Did Alice meet Bob?", ["Alice", "Bob"]),
        ('Where is the "red kettle" of Al?', ["red kettle", "kettle", "Al"]),
        ("Python, python and PYTHON", ["Python"]),
        ("one1 alpha1 beta22 gamma3 delta4 epsilon5 zeta66", ["alpha1", "beta22", "gamma3", "delta4", "epsilon5"]),
        ("Was macht Jürgen in Österreich?", ["macht", "Jürgen", "Österreich"]),
    ],
)
def test_key_terms(question: str, terms: list[str]) -> None:
    assert key_terms(question) == terms


def test_possible_names() -> None:
    assert possible_names("Where does Al Smith live?") == [
        "where does al smith live", "where does al smith", "does al smith live", "where does al", "does al smith",
        "al smith live", "where does", "does al", "al smith", "smith live", "al", "smith", "live",
    ]  # fmt: skip
    assert "東京タワー" in possible_names("東京タワーはどこ")
    assert len(possible_names(" ".join(f"w{number}" for number in range(400)))) == 200


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("Renée  Müller", " RENEE MULLER ", True),
        ("Ｌｏｃｉ", "loci", True),
        ("Straße", "STRASSE", True),
        ("Room 101", "Room 102", False),
        ("UA123", "UA124", False),
        ("Wren 🐦", "Wren", False),
        ("Йод", "Иод", False),
    ],
)
def test_canonical_names(one: str, other: str, same: bool) -> None:
    assert (canonical(one) == canonical(other)) is same


def test_words_of_names() -> None:
    assert words("Dr. Al O'Neill's Café-Bar") == ["dr", "al", "o", "neill", "cafe", "bar"]
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert words("Wren 🐦🦜") == ["wren", "🐦", "🦜"]


@pytest.mark.parametrize("label", ["lives in", "Lives-In", "LIVES_IN", "livesIn", " lives  in "])
def test_labels_have_one_spelling(label: str) -> None:
    assert checked_label(label) == "lives_in"
    assert checked_label(label) in SINGLE_VALUED


def test_kinds_of_all_systems() -> None:
    assert {meaning_of(kind).kind for kind in EdgeKind.values} == set(EdgeKind)
    assert meaning_of("SimilarTo").kind == meaning_of("similar-to").kind == EdgeKind.SIMILAR_TO
    assert set(FOREIGN).isdisjoint(EdgeKind.values)
    for bad in ("", "eats", 7, None, "x" * 1_000_000):
        with pytest.raises(InvalidInput) as caught:
            meaning_of(bad)
        assert caught.value.machine_code == "kind.invalid"
