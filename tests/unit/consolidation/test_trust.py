"""Whom to believe: how statements are compared, and the rule with its boundaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.consolidation.trust import (
    DEFAULT_TRUST,
    UNKNOWN_TRUST,
    Ground,
    Relation,
    Verdict,
    compare,
    overlap,
    weigh,
)

units = st.floats(0, 1)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("hello world foo", "hello world bar", 0.5),
        ("The Deploy runs", "the deploy RUNS", 1.0),
        ("green tea is warm", "red wine was cold", 0.0),
        ("…", "!", 0.0),
        ("the port is 5432", "the port is 5433", 0.6),
    ],
)
def test_overlap_is_the_share_of_common_words(one: str, other: str, share: float) -> None:
    assert overlap(one, other) == pytest.approx(share)
    assert overlap(other, one) == overlap(one, other)


@pytest.mark.parametrize(
    ("one", "other", "relation"),
    [
        ("The deploy runs on Monday.", "The deploy runs on Tuesday.", Relation.CONTRADICTS),
        ("The port of the server is 5432.", "The port of the server is 6543.", Relation.CONTRADICTS),
        ("Tom reports to Ann", "Ann reports to Tom", Relation.CONTRADICTS),
        ("Alice likes tea", "Alice doesn't like tea", Relation.CONTRADICTS),
        ("Alice likes tea with milk", "Alice likes no tea with milk", Relation.CONTRADICTS),
        ("Der Server ist online", "Der Server ist nicht online", Relation.CONTRADICTS),
        ("The deploy runs on Monday.", "the  deploy runs on monday.", Relation.SAME),
        ("Al really likes tea", "Al loves tea", Relation.SAME),
        ("Alice likes tea", "Alice likes green tea", Relation.DETAIL),
        ("hello world foo", "hello world bar", Relation.APART),
        ("The kettle is red", "Bob went home early", Relation.APART),
    ],
)
def test_a_repetition_and_a_detail_are_no_contradictions(one: str, other: str, relation: Relation) -> None:
    assert compare(one, other).relation is relation
    assert compare(other, one).relation is relation


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_two_texts_compare(one: str, other: str) -> None:
    assert compare(one, other).relation is compare(other, one).relation
    assert 0 <= overlap(one, other) <= 1
    assert compare(one, one).relation is Relation.SAME


@pytest.mark.parametrize("newer", [True, False])
def test_an_unknown_agent_never_overrides_the_usual_trust(newer: bool) -> None:
    assert UNKNOWN_TRUST - DEFAULT_TRUST == -0.2
    assert weigh(incoming=UNKNOWN_TRUST, existing=DEFAULT_TRUST, newer=newer) == (Verdict.KEEP, Ground.TRUST)


@pytest.mark.parametrize(
    ("incoming", "existing"), [(0.1, 0.3), (0.5, 0.7), (0.6, 0.8), (0.7, 0.9), (0.8, 1.0), (0.3, 0.5), (0.0, 0.2)]
)
def test_exactly_the_margin_below_keeps_whatever_the_last_bit_says(incoming: float, existing: float) -> None:
    assert weigh(incoming=incoming, existing=existing, newer=True) == (Verdict.KEEP, Ground.TRUST)


@pytest.mark.parametrize(("incoming", "existing"), [(0.3, 0.1), (0.7, 0.5), (0.9, 0.7), (1.0, 0.8), (0.5, 0.3)])
def test_exactly_the_margin_above_leaves_it_to_time(incoming: float, existing: float) -> None:
    assert weigh(incoming=incoming, existing=existing, newer=True) == (Verdict.ACCEPT, Ground.TIME)
    assert weigh(incoming=incoming, existing=existing, newer=False) == (Verdict.KEEP, Ground.TIME)


def test_beyond_the_margin_trust_decides() -> None:
    assert weigh(incoming=0.71, existing=0.5, newer=False) == (Verdict.ACCEPT, Ground.TRUST)
    assert weigh(incoming=0.29, existing=0.5, newer=True) == (Verdict.KEEP, Ground.TRUST)


def test_between_equals_the_later_one_stands() -> None:
    assert weigh(incoming=0.5, existing=0.5, newer=True) == (Verdict.ACCEPT, Ground.TIME)
    assert weigh(incoming=0.5, existing=0.5, newer=False) == (Verdict.KEEP, Ground.TIME)


@given(units, units, units, st.booleans())
def test_more_trust_never_loses(low: float, high: float, existing: float, newer: bool) -> None:
    low, high = sorted((low, high))
    if weigh(incoming=low, existing=existing, newer=newer)[0] is Verdict.ACCEPT:
        assert weigh(incoming=high, existing=existing, newer=newer)[0] is Verdict.ACCEPT
