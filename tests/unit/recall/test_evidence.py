"""The signals of candidates, computed by hand, and what their weights make of them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from memory.recall import evidence, signals
from memory.recall.candidates import Candidate
from memory.recall.evidence import WEIGHTS, Weight
from memory.recall.filters import Filters
from memory.recall.neighbours import Neighbours
from memory.recall.profiles import RecallProfile, shipped
from memory.recall.query import Query
from memory.recall.signals import Ground
from memory.text.signals import NOTHING_ASKED, QuerySignals

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TALK, OTHER = UUID(int=100), UUID(int=101)
HALVES = RecallProfile(name="halves", weights={"dense": 0.5, "lexical": 0.5}, spread_before=0.5, spread_after=0.25)


def row(number: int, **changes: Any) -> Candidate:
    plain = Candidate(
        memory_id=UUID(int=number),
        tier="semantic",
        kind="fact",
        importance=0.5,
        salience=1.0,
        created_at=NOW.timestamp(),
        access_count=0,
        last_accessed=None,
        token_count=9,
    )
    return replace(plain, **changes)


def turn(number: int, position: int, session: UUID = TALK, **changes: Any) -> Candidate:
    return row(number, tier="episodic", kind="turn", session_id=session, position=position, **changes)


def query(asks: QuerySignals = NOTHING_ASKED) -> Query:
    return Query(
        text="made by hand",
        owner_id=UUID(int=1),
        scopes=None,
        terms={},
        shares={},
        words={},
        vector=None,
        space_id=None,
        dimension=0,
        filters=Filters(),
        now=NOW,
        reference=NOW,
        asks=asks,
    )


def ground(
    rows: Sequence[Candidate],
    *,
    dense: Sequence[float] | None = None,
    lexical: Sequence[float] | None = None,
    words: Mapping[int, int] | None = None,
    weights: Sequence[float] = (),
    timely: Mapping[int, float] | None = None,
    found: set[int] | None = None,
    neighbours: Mapping[int, tuple[int | None, int | None]] | None = None,
) -> Ground:
    ids = [one.memory_id for one in rows]

    def known(number: int | None) -> UUID | None:
        return None if number is None else UUID(int=number)

    return signals.lay_out(
        {one.memory_id: one for one in rows},
        scores={
            "dense": dict(zip(ids, dense or [0.0] * len(ids), strict=True)),
            "lexical": dict(zip(ids, lexical or [0.0] * len(ids), strict=True)),
            "time": {UUID(int=number): fit for number, fit in (timely or {}).items()},
        },
        found=set(ids) if found is None else {UUID(int=number) for number in found},
        words={UUID(int=number): bits for number, bits in (words or {}).items()},
        weights=weights,
        neighbours={
            UUID(int=number): Neighbours(known(before), known(after))
            for number, (before, after) in (neighbours or {}).items()
        },
    )


def columns(
    made: Ground, asks: QuerySignals = NOTHING_ASKED, profile: RecallProfile = HALVES
) -> dict[str, list[float]]:
    return {name: column.tolist() for name, column in signals.signals(made, query(asks), profile).items()}


def asking(**changes: Any) -> QuerySignals:
    return dataclasses.replace(NOTHING_ASKED, **changes)


class TestScores:
    def test_both_arms_count_by_their_z_scores(self) -> None:
        made = ground([row(1), row(2)], dense=[0.1, 0.5], lexical=[6.0, 0.0])
        assert signals.fused(made, {"dense": 3.0, "lexical": 1.0}).tolist() == pytest.approx([-2.0, 2.0])

    def test_rows_that_no_arm_found_do_not_move_the_scale(self) -> None:
        made = ground([row(1), row(2), row(3)], dense=[0.0, 1.0, 3.0], found={1, 2})
        assert signals.fused(made, {"dense": 1.0}).tolist() == pytest.approx([-1.0, 1.0, 5.0])

    def test_an_arm_that_cannot_tell_rows_apart_says_nothing(self) -> None:
        made = ground([row(1), row(2)], dense=[0.5, 0.5], lexical=[1.0, 2.0])
        assert signals.fused(made, {"dense": 9.0, "lexical": 1.0}).tolist() == pytest.approx([-1.0, 1.0])

    def test_what_an_arm_does_not_know_has_its_least(self) -> None:
        ids = UUID(int=1), UUID(int=2)
        made = signals.lay_out(
            {one: row(one.int) for one in ids},
            scores={"dense": {ids[0]: 0.3}, "lexical": {ids[1]: 2.0}},
            found=set(ids),
            words={},
            weights=[],
            neighbours={},
        )
        assert (made.dense.tolist(), made.lexical.tolist()) == ([0.3, 0.3], [0.0, 2.0])

    def test_nothing_is_nothing(self) -> None:
        assert all(not len(column) for column in columns(ground([])).values())


class TestSpread:
    # Four turns of one conversation in their order, and one of another that follows by number only.
    ROWS = (turn(1, 0), turn(2, 1), turn(3, 2), turn(4, 3), turn(5, 4, OTHER))

    def test_a_turn_inherits_from_those_directly_beside_it(self) -> None:
        made = ground(self.ROWS)
        own = np.array([8.0, 0.0, 0.0, 4.0, 1.0])
        assert signals.spread(made, own, before=0.5, after=0.25).tolist() == [8.0, 4.0, 1.0, 4.0, 1.0]

    def test_neighbours_across_a_gap_come_from_the_database(self) -> None:
        rows = (turn(1, 0), turn(2, 7))
        own = np.array([8.0, 0.0])
        assert signals.spread(ground(rows), own, before=0.5, after=0.0).tolist() == [8.0, 0.0]
        joined = ground(rows, neighbours={2: (1, None)})
        assert signals.spread(joined, own, before=0.5, after=0.0).tolist() == [8.0, 4.0]
        assert joined.after.tolist() == [1, -1]

    def test_a_statement_has_no_neighbours(self) -> None:
        own = np.array([8.0, 1.0])
        assert signals.spread(ground([row(1), row(2)]), own, before=0.5, after=0.5).tolist() == [8.0, 1.0]

    def test_the_rank_is_that_of_the_spread_score(self) -> None:
        # Turn 2 says little itself and stands between the two best; the statement scores higher alone.
        rows = [turn(1, 0), turn(2, 1), turn(3, 2), row(9)]
        made = ground(rows, dense=[1.0, 0.0, 1.0, 0.4])
        wide = replace(HALVES, spread_before=0.9, spread_after=0.9)
        narrow = replace(HALVES, spread_before=0.0, spread_after=0.0)
        spread_rank = columns(made, profile=wide)["spread_rank"]
        own_rank = columns(made, profile=narrow)["spread_rank"]
        assert spread_rank[1] > own_rank[1] == pytest.approx(-math.log(4))
        assert sorted(own_rank, reverse=True) == pytest.approx([-math.log(rank) for rank in (1, 2, 3, 4)])


class TestConversations:
    def test_the_turn_before_the_one_before_counts(self) -> None:
        made = ground([turn(1, 0), turn(2, 1), turn(3, 2)], dense=[1.0, 0.0, 0.0])
        own = signals.fused(made, HALVES.weights)
        assert columns(made)["second_before"] == pytest.approx([0.0, 0.0, own[0]])

    def test_the_best_of_a_conversation_is_shared_and_a_statement_stands_for_itself(self) -> None:
        made = ground([turn(1, 0), turn(2, 5), turn(3, 0, OTHER), row(4)], dense=[1.0, 0.0, 0.25, 0.5])
        own = signals.fused(made, HALVES.weights)
        assert columns(made)["conversation"] == pytest.approx([own[0], own[0], own[2], own[3]])

    def test_words_count_where_they_stand_beside_and_in_the_conversation(self) -> None:
        # Words of the question by bit: 1 weighs a half, 2 and 4 a quarter each.
        rows = [turn(1, 0), turn(2, 1), turn(3, 2), turn(4, 9), row(5)]
        made = ground(rows, words={1: 0b001, 3: 0b010, 4: 0b100, 5: 0b011}, weights=[2.0, 1.0, 1.0])
        found = columns(made)
        assert found["window"] == pytest.approx([0.5, 0.75, 0.25, 0.25, 0.75])
        assert found["subject"] == pytest.approx([1.0, 1.0, 1.0, 1.0, 0.75])

    def test_a_question_without_known_words_covers_nothing(self) -> None:
        found = columns(ground([turn(1, 0), row(2)]))
        assert found["window"] == found["subject"] == [0.0, 0.0]


class TestFlags:
    def test_a_question_and_what_follows_it(self) -> None:
        found = columns(ground([turn(1, 0, is_question=True), turn(2, 1), turn(3, 2), row(4)]))
        assert found["question"] == [1.0, 0.0, 0.0, 0.0]
        assert found["answers"] == [0.0, 1.0, 0.0, 0.0]

    def test_a_statement_counts_like_a_turn_of_usual_length(self) -> None:
        found = columns(ground([turn(1, 0, token_count=3), turn(2, 5, token_count=40), row(3, token_count=2)]))
        usual = math.log1p(signals.STATEMENT_WORDS)
        assert found["length"] == pytest.approx([math.log1p(3), math.log1p(40), usual])

    def test_times_and_numbers_count_when_they_are_asked_for(self) -> None:
        made = ground([row(1, has_time=True), row(2, has_number=True), row(3)])
        assert [columns(made)[name] for name in ("time", "number")] == [[0.0] * 3, [0.0] * 3]
        assert columns(made, asking(asks_when=True))["time"] == [1.0, 0.0, 0.0]
        for asked in ("asks_how_many", "asks_how_long"):
            assert columns(made, asking(**{asked: True}))["number"] == [0.0, 1.0, 0.0]

    def test_a_time_that_fits(self) -> None:
        known = ground([row(1), row(2)], timely={2: 0.7}, weights=[1.0])
        assert columns(known)["timely"] == [0.0, 0.7]
        assert columns(ground([row(1), row(2)], timely={2: 0.7}))["timely"] == [0.0, 0.7 * signals.TIME_ALONE]

    def test_another_speaker_counts_only_where_the_one_named_speaks(self) -> None:
        rows = [turn(1, 0, is_named=True), turn(2, 1), row(3)]
        assert columns(ground(rows))["other_speaker"] == [0.0, 1.0, 0.0]
        assert columns(ground(rows[1:]))["other_speaker"] == [0.0, 0.0]


class TestLateInteraction:
    def test_what_has_no_tokens_is_taken_for_average(self) -> None:
        made = ground([row(1), row(2), row(3)])
        nearest = {
            UUID(int=1): np.array([0.9, 0.1], dtype=np.float32),
            UUID(int=3): np.array([0.1, 0.9], dtype=np.float32),
        }
        found = signals.late_signals(made, nearest, np.array([0.75, 0.25]))
        assert found["late"].tolist() == pytest.approx([1.0, 0.0, -1.0])
        assert found["late_window"].tolist() == pytest.approx([0.0, 0.0, 0.0], abs=1e-6)

    def test_a_token_may_be_found_in_the_turns_beside(self) -> None:
        made = ground([turn(1, 0), turn(2, 1), turn(3, 9)])
        nearest = {
            UUID(int=number): np.array(cosines, dtype=np.float32)
            for number, cosines in ((1, [1.0, 0.0]), (2, [0.0, 1.0]), (3, [0.5, 0.5]))
        }
        found = signals.late_signals(made, nearest, np.array([0.5, 0.5]))
        assert found["late"].tolist() == pytest.approx([0.0, 0.0, 0.0])
        assert found["late_window"].tolist() == pytest.approx([math.sqrt(0.5), math.sqrt(0.5), -math.sqrt(2)])

    def test_without_any_there_are_no_signals(self) -> None:
        assert signals.late_signals(ground([row(1)]), {}, np.array([1.0])) == {}


class TestWeights:
    def test_they_are_few_rounded_and_each_says_what_it_is(self) -> None:
        assert len(WEIGHTS) <= 20
        assert len({weight.signal for weight in WEIGHTS}) == len(WEIGHTS)
        for weight in WEIGHTS:
            assert weight.value == round(weight.value, 1) != 0
            assert weight.meaning.endswith(".")

    def test_every_weight_belongs_to_a_signal_and_every_signal_to_a_weight(self) -> None:
        made = ground([turn(1, 0), row(2)])
        late = signals.late_signals(made, {UUID(int=1): np.array([0.5], dtype=np.float32)}, np.array([1.0]))
        walked = signals.graph_signals(made, {UUID(int=1): 0.5})
        computed = {*signals.signals(made, query(), shipped("default")), *late, *walked}
        assert computed == {weight.signal for weight in WEIGHTS}

    def test_the_logit_is_the_weighted_sum_and_its_terms_add_up_to_it(self) -> None:
        made = {"one": np.array([1.0, 2.0]), "two": np.array([0.0, -1.0])}
        weights = (Weight("one", 0.5, "One."), Weight("two", 2.0, "Two."), Weight("missing", 9.0, "Missing."))
        assert evidence.logit(made, weights).tolist() == [0.5, -1.0]
        assert evidence.terms(made, 0, weights) == {"one": 0.5}
        assert evidence.terms(made, 1, weights) == {"one": 1.0, "two": -2.0}


class TestGraph:
    def test_the_nearest_comes_first_and_what_is_not_reached_shares_the_last_place(self) -> None:
        made = ground([turn(1, 0), row(2), row(3), row(4)])
        found = signals.graph_signals(made, {UUID(int=1): 0.1, UUID(int=3): 0.4})["graph"]
        assert found.tolist() == pytest.approx([-math.log(2), -math.log(3), 0.0, -math.log(3)])

    def test_there_is_no_signal_where_nothing_is_reached(self) -> None:
        made = ground([turn(1, 0)])
        assert signals.graph_signals(made, {}) == {}
        assert signals.graph_signals(made, {UUID(int=1): 0.0}) == {}
