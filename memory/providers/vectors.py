"""The one place that decides whether an embedder's answer may be used, and brings it to unit length."""

from __future__ import annotations

from typing import Any

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.ports import Vectors

# The widest row that a half-precision vector column can store.
WIDEST = 16_000
# Below this a length is rounding noise: dividing by it would give a direction that means nothing.
SHORTEST_NORM = 1e-12
NUMBERS = frozenset({int, float})
NO_NUMBERS = "The embedder answered with something else than rows of numbers."


def checked(vectors: Any, count: int, dimension: int | None) -> Vectors:
    """Check an embedder's answer and bring every row to length 1.

    Args:
        vectors: a list of rows or an array, one row per text.
        count: the number of texts that were sent.
        dimension: the width that the embedder is known to have; None before its first answer, then any width passes.

    Returns:
        float32 array of shape (count, width), contiguous, every row finite and of length 1.

    Raises:
        EmbedderUnavailable: a wrong count, another width, a value that is no finite number, or a zero vector.
    """
    if count == 0:
        return np.empty((0, dimension or 0), dtype=np.float32)
    if isinstance(vectors, list | np.ndarray) and len(vectors) != count:
        raise EmbedderUnavailable(f"The embedder answered with {len(vectors)} vectors for {count} texts.")
    table = _table(vectors)
    width = table.shape[1]
    if dimension is not None and width != dimension:
        raise EmbedderUnavailable(
            f"The embedder answered with vectors of width {width}; its width is {dimension}. Have its server use the "
            "former model again, or move to the other one in a space of its own (`manage.py spaces`).",
            code="embedder.width_changed",
        )
    if not 0 < width <= WIDEST:
        raise _outside(width)
    exact = table.astype(np.float64)
    if not np.isfinite(exact).all():
        raise EmbedderUnavailable("The embedder answered with a value that is not a finite number.")
    # Scaling by the largest value first keeps the squares of very large and very small rows within range.
    largest = np.abs(exact).max(axis=1, keepdims=True)
    if (largest < SHORTEST_NORM).any():
        raise EmbedderUnavailable("The embedder answered with a zero vector.")
    exact /= largest
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    return np.ascontiguousarray(exact, dtype=np.float32)


def _table(vectors: Any) -> np.ndarray[tuple[int, int], np.dtype[Any]]:
    if isinstance(vectors, list):
        # Before numpy sees them, which would make every value as large as the longest text among them.
        for row in vectors:
            _check_row(row)
    try:
        table = np.asarray(vectors if isinstance(vectors, list | np.ndarray) else None)
    except (ValueError, TypeError):
        # Without the cause: its message may quote the answer.
        raise EmbedderUnavailable("The embedder answered with rows of unequal width.") from None
    except OverflowError:
        raise EmbedderUnavailable(NO_NUMBERS) from None
    if table.ndim != 2 or table.dtype.kind not in "fiu":
        raise EmbedderUnavailable(NO_NUMBERS)
    return table


def _check_row(row: Any) -> None:
    if isinstance(row, np.ndarray):
        return
    if not isinstance(row, list):
        raise EmbedderUnavailable(NO_NUMBERS)
    if len(row) > WIDEST:
        raise _outside(len(row))
    if not {type(value) for value in row} <= NUMBERS:
        raise EmbedderUnavailable(NO_NUMBERS)


def _outside(width: int) -> EmbedderUnavailable:
    return EmbedderUnavailable(f"The embedder answered with vectors of width {width}, outside 1 to {WIDEST}.")
