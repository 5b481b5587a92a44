"""Intervals are drawn by conversation, and the same answers always give the same one."""

from __future__ import annotations

from dataclasses import dataclass

from bench.intervals import interval


@dataclass(frozen=True)
class Answer:
    store: str
    value: float


def spread(answers: list[Answer]) -> list[float]:
    return interval(answers, lambda one: one.value)


def test_the_same_answers_give_the_same_interval() -> None:
    answers = [Answer(f"s{at % 5}", float(at % 3 == 0)) for at in range(200)]
    low, high = spread(answers)
    assert spread(answers) == [low, high]
    assert low < sum(one.value for one in answers) / len(answers) < high


def test_conversations_are_drawn_whole() -> None:
    # Every conversation has the same mean, so drawing conversations never changes it; drawing answers would.
    alike = [Answer(f"s{at // 10}", float(at % 2)) for at in range(50)]
    assert spread(alike) == [0.5, 0.5]
    # All that differs lies between two conversations: nothing in between is certain.
    apart = [Answer("good", 1.0)] * 50 + [Answer("bad", 0.0)] * 50
    assert spread(apart) == [0.0, 1.0]


def test_large_conversations_count_for_more() -> None:
    answers = [Answer("large", 1.0)] * 90 + [Answer("small", 0.0)] * 10
    low, high = spread(answers)
    assert (low, high) == (0.0, 1.0)
    many = [Answer(f"l{at % 20}", 1.0) for at in range(900)] + [Answer(f"s{at % 20}", 0.0) for at in range(100)]
    low, high = spread(many)
    assert 0.8 < low < 0.9 < high < 0.97


def test_no_answers_and_one_conversation() -> None:
    assert spread([]) == [0.0, 0.0]
    assert spread([Answer("only", 1.0), Answer("only", 0.0)]) == [0.5, 0.5]
