"""Fitting on made-up questions whose right weights are known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.dataset import Question, Store
from bench.fit import Case, answers, fit, held_out, transfer
from bench.quality import Answered, Corpus
from bench.relevance import Asked, Listed, area, calibrate, logistic
from memory.errors import InvalidInput
from memory.ids import new_id
from memory.services.actors import person

RIGHT = np.array([2.0, -1.0, 0.0])


def cases(store: str, *, questions: int = 120, right: NDArray[np.float64] = RIGHT, seed: int = 3) -> list[Case]:
    """Draw the evidence of each question by the right weights, as the model says that it comes about."""
    random = np.random.default_rng(seed)
    items = [f"{store}.{number}" for number in range(30)]
    asked: list[Question] = []
    corpus = Corpus(Store(store, [], asked), person(new_id()))
    corpus.session_of = {item: item for item in items}
    found = []
    for number in range(questions):
        signals = random.standard_normal((30, 3)) * [1.0, 1.0, 5.0]
        odds = np.exp(signals @ right)
        chosen = int(random.choice(30, p=odds / odds.sum()))
        asked.append(Question("?", frozenset({items[chosen]}), "made"))
        found.append(Case(corpus, number, [(item,) for item in items], signals, np.arange(30) == chosen))
    return found


def test_the_right_weights_are_found() -> None:
    weights = fit([*cases("one", questions=400), *cases("two", questions=400, seed=4)])
    assert weights == pytest.approx(RIGHT, abs=0.25)
    assert weights[0] > -weights[1] > abs(weights[2])


def test_a_signal_that_is_always_the_same_weighs_nothing() -> None:
    flat = [
        Case(one.corpus, one.number, one.items, np.column_stack([one.signals[:, 0], np.ones(30)]), one.evidence)
        for one in cases("one")
    ]
    weights = fit(flat)
    assert weights[0] > 1
    assert weights[1] == pytest.approx(0)


def test_nothing_can_be_learnt_without_evidence() -> None:
    blind = [Case(one.corpus, one.number, one.items, one.signals, one.evidence & False) for one in cases("one")]
    with pytest.raises(InvalidInput, match="nothing to fit"):
        fit(blind)


def test_held_out_weights_have_not_seen_the_conversation() -> None:
    seen: list[set[str]] = []

    def watched(some: Sequence[Case]) -> NDArray[np.float64]:
        seen.append({case.store for case in some})
        return fit(some)

    # In the second conversation the first signal speaks against evidence, so only its own weights do well there.
    mixed = [*cases("one"), *cases("two", right=np.array([-2.0, 0.0, 0.0]))]
    apart = held_out(mixed, watched)
    assert seen == [{"two"}, {"one"}]
    assert len(apart) == len(mixed)
    own = [found for store in ("one", "two") for found in answers(of(mixed, store), fit(of(mixed, store)))]
    assert mean(apart) < 0.25 < 0.6 < mean(own)


def of(some: Sequence[Case], store: str) -> list[Case]:
    return [case for case in some if case.store == store]


def mean(answered: Sequence[Answered]) -> float:
    return float(np.mean([one.found[5] for one in answered]))


def test_transfer_is_averaged_over_every_choice() -> None:
    alike = [case for number in range(5) for case in cases(f"s{number}", questions=40, seed=number)]
    found = transfer(alike, fit)
    assert found is not None
    assert found["splits"] == 10
    assert abs(found["loss"]["r@5"]) < 0.03
    assert found["fitted_on_all"]["r@5"] - found["fitted_on_others"]["r@5"] == pytest.approx(
        found["loss"]["r@5"], abs=2e-4
    )
    assert transfer(cases("one"), fit) is None


def test_a_logistic_regression_finds_its_constants() -> None:
    random = np.random.default_rng(5)
    rows = random.standard_normal((20_000, 2)) * [1.0, 0.1]
    right = (random.random(20_000) < 1 / (1 + np.exp(-(0.5 + rows @ [1.5, -8.0])))).astype(float)
    assert logistic(rows, right, np.ones(20_000)) == pytest.approx([0.5, 1.5, -8.0], rel=0.15)


def test_groups_without_overlap_do_not_run_away() -> None:
    rows, right = np.array([[-1.0], [1.0]]), np.array([0.0, 1.0])
    bias, slope = logistic(rows, right, np.ones(2))
    assert np.isfinite([bias, slope]).all()
    assert slope > 1


def test_the_area_under_the_curve() -> None:
    right = np.array([1.0, 1.0, 0.0, 0.0])
    assert area(np.array([4.0, 3.0, 2.0, 1.0]), right) == 1.0
    assert area(np.array([1.0, 4.0, 2.0, 3.0]), right) == 0.5
    assert area(np.zeros(4), right) == 0.5
    assert area(np.zeros(4), np.ones(4)) == 0.5


def listed(random: np.random.Generator, *, answers_it: bool) -> Listed:
    logits = -np.sort(-random.normal(0, 2, 30))
    evidence = np.zeros(30, dtype=bool)
    if answers_it:
        evidence[int(random.integers(0, 3))] = True
    return Listed(logits, evidence, float(random.normal(0.6 if answers_it else 0.3, 0.05)), 0.5, 0.0)


def test_relevance_tells_lists_that_answer_from_those_that_do_not() -> None:
    random = np.random.default_rng(6)
    asked = [Asked(listed(random, answers_it=True), listed(random, answers_it=False)) for _ in range(200)]
    found = calibrate([*asked, Asked(None, None)], ("gap", "cosine"))
    assert found["gap"] > 0, "relevance must keep the order of the logits"
    assert found["cosine"] > 0
    assert found["evidence_passes"] > 0.9
    assert found["foreign_fails"] > 0.9
    assert found["n"] == 201


def test_relevance_falls_with_the_distance_to_the_best() -> None:
    one = Listed(np.array([3.0, 1.0]), np.array([False, True]), 0.4, 0.2, 0.1)
    assert one.features([0, 1]).tolist() == [[0.0, 0.4, 0.2, 0.1], [-2.0, 0.4, 0.2, 0.1]]
