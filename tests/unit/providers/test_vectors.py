"""The check that every embedder's answer passes through."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import EmbedderUnavailable
from memory.providers.vectors import checked


def test_rows_are_brought_to_length_one_in_single_precision() -> None:
    vectors = checked([[3, 4], [0, -2]], 2, 2)
    assert vectors.dtype == np.float32
    assert vectors == pytest.approx(np.array([[0.6, 0.8], [0, -1]]))


def test_an_empty_answer_to_no_text_has_the_known_width() -> None:
    assert checked([], 0, 7).shape == (0, 7)
    assert checked([], 0, None).shape == (0, 0)


@pytest.mark.parametrize(
    ("answer", "count", "dimension", "reason"),
    [
        ([[1.0, 0.0]], 2, 2, "1 vectors for 2 texts"),
        ([[1.0, 0.0]] * 3, 2, 2, "3 vectors for 2 texts"),
        ([[1.0, 0.0, 0.0]], 1, 2, "width 3; its width is 2"),
        ([[1.0], [1.0, 2.0]], 2, None, "unequal width"),
        ([[]], 1, None, "outside 1"),
        ([[float("nan"), 1.0]], 1, 2, "not a finite number"),
        ([[float("inf"), 1.0]], 1, 2, "not a finite number"),
        ([[0.0, 0.0]], 1, 2, "zero vector"),
        ([[1e-300, 0.0]], 1, 2, "zero vector"),
        ([["1", "2"]], 1, 2, "rows of numbers"),
        ([[None, 2.0]], 1, 2, "rows of numbers"),
        ([[True, False]], 1, 2, "rows of numbers"),
        ([[10**400, 1]], 1, 2, "rows of numbers"),
        ([[10**400, 1.5]], 1, 2, "rows of numbers"),
        ([[1.0, 2.0], ["1", "2"]], 2, 2, "rows of numbers"),
        ([[1.0, [2.0]]], 1, 2, "rows of numbers"),
        ([[1.0] * 16_001], 1, None, "outside 1 to 16000"),
        ([1.0, 2.0], 2, 2, "rows of numbers"),
        ({"a": 1}, 1, 2, "rows of numbers"),
        (None, 1, 2, "rows of numbers"),
        (np.ones((1, 16_001)), 1, None, "outside 1 to 16000"),
    ],
)
def test_an_unusable_answer_is_refused_with_its_reason(
    answer: Any, count: int, dimension: int | None, reason: str
) -> None:
    with pytest.raises(EmbedderUnavailable, match=reason):
        checked(answer, count, dimension)


def test_a_long_text_among_many_numbers_costs_no_memory() -> None:
    tracemalloc.start()
    try:
        with pytest.raises(EmbedderUnavailable, match="rows of numbers"):
            checked([["x" * 10_000, *([1] * 5_000)]], 1, None)
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@given(
    st.lists(
        st.lists(st.floats(-1e300, 1e300).filter(lambda x: abs(x) > 1e-6), min_size=3, max_size=3),
        min_size=1,
        max_size=5,
    )
)
def test_any_usable_rows_get_length_one_and_keep_their_direction(rows: list[list[float]]) -> None:
    vectors = checked(rows, len(rows), 3)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-5)
    for vector, row in zip(vectors, rows, strict=True):
        assert vector == pytest.approx([value / math.hypot(*row) for value in row], abs=1e-6)
