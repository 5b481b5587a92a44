"""Which of two statements that cannot both hold stands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

from memory.consolidation.contradiction import Claimant, Doubt, Held, Retirement, judge

START = datetime(2026, 1, 1, tzinfo=UTC)
LIKES, HOME, BIRTHDAY = 1, 2, 3
TEA = Held(LIKES, 10, 1, False)
NO_TEA = Held(LIKES, 10, -1, False)
COFFEE = Held(LIKES, 11, 1, False)
PUNE = Held(HOME, 20, 1, True)
DELHI = Held(HOME, 21, 1, True)
NOT_DELHI = Held(HOME, 21, -1, True)
MAY = Held(BIRTHDAY, 30, 1, True)


def one(
    number: int, *claims: Held, day: int, importance: float = 0.5, confidence: float = 0.9, **options: bool
) -> Claimant:
    at = START + timedelta(days=day)
    return Claimant(UUID(int=number), claims, at, at, importance, confidence, **options)


def test_claims_contradict_by_sign_or_by_value_where_one_can_hold() -> None:
    assert TEA.contradicts(NO_TEA)
    assert not TEA.contradicts(COFFEE)
    assert not TEA.contradicts(TEA)
    assert PUNE.contradicts(DELHI)
    assert not PUNE.contradicts(NOT_DELHI)
    assert DELHI.contradicts(NOT_DELHI)
    assert not PUNE.contradicts(MAY)


def test_the_later_one_stands() -> None:
    verdict = judge([one(1, TEA, day=0), one(2, NO_TEA, day=5)], asserted=[UUID(int=2)])
    assert verdict.retirements == (Retirement(UUID(int=1), UUID(int=2), START + timedelta(days=5)),)
    assert (verdict.found, verdict.doubts) == (1, ())


def test_what_comes_in_late_but_was_said_before_is_history() -> None:
    verdict = judge([one(1, DELHI, day=9), one(2, PUNE, day=3)], asserted=[UUID(int=2)])
    assert verdict.retirements == (Retirement(UUID(int=2), UUID(int=1), START + timedelta(days=9)),)


def test_each_ends_when_the_first_that_contradicts_it_begins() -> None:
    mumbai = Held(HOME, 22, 1, True)
    everyone = [one(1, PUNE, day=0), one(2, DELHI, day=3), one(3, mumbai, day=7)]
    verdict = judge(everyone, asserted=[UUID(int=2), UUID(int=3)])
    assert [(two.older.int, two.newer.int, (two.until - START).days) for two in verdict.retirements] == [
        (1, 2, 3),
        (2, 3, 7),
    ]


def test_only_what_is_stated_now_is_judged() -> None:
    assert judge([one(1, TEA, day=0), one(2, NO_TEA, day=1)], asserted=[]).found == 0


def test_a_weighty_or_stated_one_is_not_retired_by_an_unsure_extraction() -> None:
    unsure = one(2, NO_TEA, day=5, confidence=0.7)
    for older in (one(1, TEA, day=0, importance=0.8), one(1, TEA, day=0, stated_by_person=True, extracted=False)):
        verdict = judge([older, unsure], asserted=[unsure.memory_id])
        assert verdict.retirements == ()
        assert verdict.doubts == (Doubt(UUID(int=1), UUID(int=2), "contested"),)
        sure = one(2, NO_TEA, day=5, confidence=0.8)
        assert len(judge([older, sure], asserted=[sure.memory_id]).retirements) == 1
        stated = one(2, NO_TEA, day=5, confidence=0.5, extracted=False)
        assert len(judge([older, stated], asserted=[stated.memory_id]).retirements) == 1


def test_a_statement_of_several_claims_is_not_retired_for_one_of_them() -> None:
    both = one(1, PUNE, MAY, day=0)
    verdict = judge([both, one(2, DELHI, day=5)], asserted=[UUID(int=2)])
    assert verdict.doubts == (Doubt(UUID(int=1), UUID(int=2), "partly"),)
    june = Held(BIRTHDAY, 31, 1, True)
    verdict = judge([both, one(2, DELHI, day=5), one(3, june, day=6)], asserted=[UUID(int=2), UUID(int=3)])
    assert [two.older.int for two in verdict.retirements] == [1]
