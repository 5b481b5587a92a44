"""Token states become unit vectors of bytes; ends and punctuation are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.errors import EmbedderUnavailable
from memory.ports import TOKEN_SCALE
from memory.providers.minilm.engine import States
from memory.providers.minilm.reduction import MOST_TOKENS, PROJECTION, Reduction, load_projection, rounded

VOCABULARY = {"[PAD]": 0, "[CLS]": 1, "[SEP]": 2, "lake": 3, "##s": 4, ",": 5, "##-": 6, "...": 7, "$": 8, "##": 9}


def states(ids: list[int], seed: int = 1) -> States:
    rows = np.random.default_rng(seed).standard_normal((len(ids), 384)).astype(np.float32)
    spans = np.array([(place, place + 1) for place in range(len(ids))], dtype=np.int32)
    return States(np.array(ids), spans, rows)


@pytest.fixture
def reduction() -> Reduction:
    return Reduction(load_projection()[0], VOCABULARY)


def test_ends_and_punctuation_are_left_out_and_signs_kept(reduction: Reduction) -> None:
    tokens = reduction(states([1, 3, 4, 5, 6, 7, 8, 9, 2]))
    assert tokens.spans[:, 0].tolist() == [1, 2, 6]
    assert tokens.matrix.shape == (3, reduction.width)


def test_rows_are_projected_directions_of_one_length(reduction: Reduction) -> None:
    given = states([3, 4, 8])
    tokens = reduction(given)
    projected = given.rows.astype(np.float64) @ load_projection()[0].astype(np.float64)
    expected = projected / np.linalg.norm(projected, axis=1, keepdims=True)
    assert tokens.matrix.dtype == np.int8
    assert np.abs(tokens.matrix / TOKEN_SCALE - expected).max() <= 0.51 / TOKEN_SCALE


def test_a_long_text_keeps_its_first_tokens(reduction: Reduction) -> None:
    tokens = reduction(states([1, *([3, 5] * 200), 2]))
    assert len(tokens.matrix) == MOST_TOKENS
    assert tokens.spans[-1, 0] == 2 * MOST_TOKENS - 1


def test_a_text_without_words_has_no_rows(reduction: Reduction) -> None:
    tokens = reduction(states([1, 5, 7, 2]))
    assert tokens.matrix.shape == (0, reduction.width)
    assert tokens.spans.shape == (0, 2)


def test_the_extremes_fit_a_byte_and_zero_stays_zero() -> None:
    assert rounded(np.array([[3.0, 0.0], [-2.0, 0.0], [0.0, 0.0]], dtype=np.float32)).tolist() == [
        [127, 0],
        [-127, 0],
        [0, 0],
    ]


def test_the_shipped_projection_is_small_and_its_directions_are_orthonormal() -> None:
    projection, mark = load_projection()
    assert projection.shape == (384, 48)
    assert PROJECTION.stat().st_size < 40_000
    assert len(mark) == 4
    directions = projection.astype(np.float64)
    assert np.abs(directions.T @ directions - np.eye(48)).max() < 1e-2


def test_another_projection_has_another_mark(tmp_path: Path) -> None:
    projection, mark = load_projection()
    np.save(tmp_path / "other.npy", projection[:, ::-1])
    assert load_projection(tmp_path / "other.npy")[1] != mark


@pytest.mark.parametrize(
    "content",
    [None, b"", b"not an array", "float32", "flat", "nan"],
    ids=["missing", "empty", "text", "f4", "1d", "nan"],
)
def test_a_damaged_projection_is_refused(tmp_path: Path, content: bytes | str | None) -> None:
    path = tmp_path / "projection.npy"
    arrays: dict[str, NDArray[Any]] = {
        "float32": np.zeros((384, 48), dtype=np.float32),
        "flat": np.zeros(384, dtype=np.float16),
        "nan": np.full((384, 48), np.nan, dtype=np.float16),
    }
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif content is not None:
        np.save(path, arrays[content])
    with pytest.raises(EmbedderUnavailable) as caught:
        load_projection(path)
    assert str(tmp_path) not in str(caught.value)
