"""Fit the projection that makes the local model's token vectors small, on texts of this product's own data set."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.providers.minilm.build import ensure_built
from memory.providers.minilm.embedder import DIMENSION
from memory.providers.minilm.engine import Engine, States
from memory.providers.minilm.reduction import PROJECTION, kept_tokens

PERSONAS = Path(__file__).with_name("personas")
# With it a turn of 20 words takes about 1.2 kB. Measured over widths in docs/decisions/0012-token-vectors.md.
WIDTH = 48
WORDS = 12_000


@dataclass(frozen=True, slots=True)
class Fitted:
    """A projection that was fitted: from how many texts and tokens, and the share of squared length it keeps."""

    projection: NDArray[np.float16]
    texts: int
    tokens: int
    kept: float


def fit_projection(paths: Sequence[Path] = (), *, width: int = WIDTH, target: Path | None = PROJECTION) -> Fitted:
    """Fit the projection on files of personas and write it where the model reads it.

    Stored token vectors were made with the former one; they are made again in the background.

    Args:
        paths: files of personas; those of the data set when left out.
        width: how many numbers each token keeps, 1 to 384.
        target: the file to write; None writes nothing.

    Raises:
        ValueError: a file is not in the form of a persona, or holds fewer tokens than numbers are kept.
        EmbedderUnavailable: the local model cannot be used.
    """
    if not 1 <= width <= DIMENSION:
        raise ValueError(f"A projection keeps 1 to {DIMENSION} numbers.")
    texts = [text for path in paths or sorted(PERSONAS.glob("*.json")) for text in persona_texts(path)]
    fitted = fit(texts, width=width)
    if target is not None:
        np.save(target, fitted.projection, allow_pickle=False)
    return fitted


def fit(texts: Sequence[str], *, width: int) -> Fitted:
    """Find the directions that keep most of the tokens' unit vectors: their first singular ones, not centred.

    Every kind of token counts equally, however often it stands in the texts: else function words and the names of the
    few speakers take most directions. Half the weight have the model's own words, each alone, since a few people speak
    of little. Both were measured to find more than plain sums do.
    """
    engine = Engine(ensure_built(), threads=1)
    spoken = _Products(kept_tokens(engine.vocabulary))
    engine.embed_with_states(texts, DIMENSION, spoken.count)
    engine.embed_with_states(texts, DIMENSION, spoken.add)
    alone = _Products(spoken.kept)
    engine.embed_with_states(_words(engine.vocabulary), DIMENSION, alone.add)
    if spoken.tokens < width:
        raise ValueError("The texts hold fewer tokens than numbers are kept of each.")
    values, directions = np.linalg.eigh(spoken.share() + alone.share())
    chosen = directions[:, ::-1][:, :width]
    # A direction and its opposite serve equally; one of them is chosen, so that two fits agree up to rounding.
    chosen = chosen * np.sign(chosen[np.abs(chosen).argmax(axis=0), np.arange(width)])
    share = float(values[::-1][:width].sum() / values.sum())
    return Fitted(chosen.astype(np.float16), len(texts), spoken.tokens, share)


class _Products:
    """The summed products of tokens' unit vectors, each kind of token weighed by how often it was counted before."""

    def __init__(self, kept: NDArray[np.bool_]) -> None:
        self.kept = kept
        self.tokens = 0
        self._counts = np.zeros(len(kept))
        self._sum = np.zeros((DIMENSION, DIMENSION))

    def count(self, states: States) -> None:
        np.add.at(self._counts, states.ids, 1)

    def add(self, states: States) -> None:
        chosen = self.kept[states.ids]
        rows = states.rows[chosen].astype(np.float64)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        weights = 1 / np.maximum(self._counts[states.ids[chosen]], 1)
        self._sum += (rows * weights[:, np.newaxis]).T @ rows
        self.tokens += len(rows)

    def share(self) -> NDArray[np.float64]:
        scaled: NDArray[np.float64] = self._sum / np.trace(self._sum)
        return scaled


def _words(vocabulary: Mapping[str, int]) -> list[str]:
    """List the commonest whole words of the model in the order of their numbers, which is that of their frequency."""
    numbered = sorted(vocabulary, key=lambda word: vocabulary[word])
    return [word for word in numbered if word.isascii() and word.isalpha() and len(word) > 2][:WORDS]


def persona_texts(path: Path) -> Iterator[str]:
    """Give what a persona's memories and questions are embedded as; raises ValueError for a file of another form."""
    try:
        persona: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        for session in persona["sessions"]:
            yield from (f"{turn['speaker']}: {turn['text']}" for turn in session["turns"])
        yield from (str(fact["text"]) for fact in persona["facts"])
        yield from (str(question["text"]) for question in persona["questions"])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path.name} is not a persona: {error.__class__.__name__}") from error
