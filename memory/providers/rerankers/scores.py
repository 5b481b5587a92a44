"""The one place that decides whether a reranker's scores may be used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable


def refuse_too_many(texts: Sequence[str], most: int) -> None:
    """Refuse more texts than a reranker takes at once.

    Raises:
        ValueError: there are more.
    """
    if len(texts) > most:
        raise ValueError(f"This reranker takes at most {most} texts at once.")


def checked_scores(scores: Any, count: int) -> NDArray[np.float32]:
    """Check one score per text, given in the order of the texts.

    Raises:
        RerankerUnavailable: a wrong count, or a value that is no finite number of single precision.
    """
    try:
        with np.errstate(over="ignore"):
            values = np.asarray(scores, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        # Without the cause: its message may quote the answer.
        raise RerankerUnavailable("The reranker answered with something else than numbers.") from None
    if values.shape != (count,):
        raise RerankerUnavailable(f"The reranker answered with scores of shape {values.shape} for {count} texts.")
    if not np.isfinite(values).all():
        raise RerankerUnavailable("The reranker answered with a score that is not a finite number.")
    return values


def scores_by_index(rows: Any, count: int, *, names: Sequence[str]) -> NDArray[np.float32]:
    """Read rows of `index` and a score, in any order, into one score per text.

    Args:
        rows: a list of objects.
        count: the number of texts that were sent.
        names: what the field of the score may be called; the first that a row has counts.

    Raises:
        RerankerUnavailable: another form, a wrong count, an index that is out of range or comes twice, or a score
            that is no finite number.
    """
    if not isinstance(rows, list) or len(rows) != count:
        found = f"{len(rows)} scores" if isinstance(rows, list) else "something else than a list"
        raise RerankerUnavailable(f"The reranker answered with {found} for {count} texts.")
    placed: dict[int, float] = {}
    for row in rows:
        if not isinstance(row, dict):
            raise RerankerUnavailable("The reranker answered in another form than agreed.")
        index = row.get("index")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < count or index in placed:
            raise RerankerUnavailable("The reranker answered with an index that is not one of the texts, or twice.")
        score = next((row[name] for name in names if name in row), None)
        if isinstance(score, bool) or not isinstance(score, int | float) or not _finite(score):
            raise RerankerUnavailable("The reranker answered with a score that is not a finite number.")
        placed[index] = float(score)
    return checked_scores([placed[index] for index in range(count)], count)


def _finite(score: float) -> bool:
    try:
        return math.isfinite(score)
    except OverflowError:
        return False
