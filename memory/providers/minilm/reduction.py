"""Make the model's token states small enough to keep: projected, brought to unit length, rounded to whole numbers.

The projection is fitted by `bench.projection` and lies beside this module. Token vectors made by two projections cannot
be compared, so whatever changes their making changes the mark, too.

Reference: Khattab and Zaharia, ColBERT (2020), for comparing reduced token vectors of question and text.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from memory.errors import EmbedderUnavailable
from memory.ports import REDUCTION_BYTES, TOKEN_SCALE, TokenMatrix, Tokens, Vectors

if TYPE_CHECKING:
    from memory.providers.minilm.engine import States

PROJECTION: Final = Path(__file__).with_name("projection.npy")
# Of an ordinary turn nothing is cut (the longest hundredth has more than about 80). Longer texts are compared by their
# beginning: one row of a long note must not cost as much as a hundred turns.
MOST_TOKENS: Final = 96
# Raise it when tokens are chosen, scaled or rounded in another way than before.
RULES: Final = 1
ENDS: Final = ("[CLS]", "[SEP]", "[PAD]")


class Reduction:
    """A projection, and the tokens that are left out: the ends of a text, and tokens of punctuation alone.

    Every text has full stops and commas, and they look like one another; with them MaxSim finds less.
    """

    def __init__(self, projection: NDArray[np.float16], vocabulary: Mapping[str, int]) -> None:
        """Take the projection, of shape (width of the model, kept width), and the model's tokens by number."""
        self._projection = projection.astype(np.float32)
        self._kept = kept_tokens(vocabulary)

    @property
    def width(self) -> int:
        """Give the width of a reduced token vector."""
        return int(self._projection.shape[1])

    def __call__(self, states: States) -> Tokens:
        """Reduce the tokens of one text to at most 96 rows of bytes."""
        chosen = np.flatnonzero(self._kept[states.ids])[:MOST_TOKENS]
        return Tokens(rounded(states.rows[chosen] @ self._projection), states.spans[chosen])


def rounded(vectors: Vectors) -> TokenMatrix:
    """Bring rows to unit length and round them to bytes; a zero row stays zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    matrix: TokenMatrix = np.rint(units * TOKEN_SCALE).astype(np.int8)
    return matrix


def kept_tokens(vocabulary: Mapping[str, int]) -> NDArray[np.bool_]:
    """Tell for each token's number whether its vector is kept."""
    kept = np.ones(max(vocabulary.values()) + 1, dtype=np.bool_)
    for token, number in vocabulary.items():
        kept[number] = token not in ENDS and not _is_punctuation(token)
    return kept


def _is_punctuation(token: str) -> bool:
    # `##` before a character continues a word; alone it is two characters like any other.
    shown = token.removeprefix("##") or token
    return all(unicodedata.category(character).startswith("P") for character in shown)


def load_projection(path: Path = PROJECTION) -> tuple[NDArray[np.float16], bytes]:
    """Read the projection, with the mark of what it makes.

    Raises:
        EmbedderUnavailable: the file is missing or damaged; the installation must be repaired.
    """
    try:
        content = path.read_bytes()
        with path.open("rb") as file:
            projection = np.load(file, allow_pickle=False)
    except (OSError, EOFError, ValueError) as error:
        raise EmbedderUnavailable(
            f"The projection of the local embedding model cannot be read ({error.__class__.__name__})."
        ) from error
    if projection.ndim != 2 or projection.dtype != np.float16 or not np.isfinite(projection).all():
        raise EmbedderUnavailable("The projection of the local embedding model is damaged.")
    rules = f"{RULES}/{TOKEN_SCALE}/{MOST_TOKENS}/".encode()
    return projection, hashlib.sha256(rules + content).digest()[:REDUCTION_BYTES]
