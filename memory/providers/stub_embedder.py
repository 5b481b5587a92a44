"""A deterministic embedder without a model, for tests and for trying things out: it knows letters, not meaning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

import numpy as np

from memory.ports import Vectors
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.vectors import checked

DIMENSION: Final = 64
WIDEST: Final = 4_000
# The published formula divides by the largest code of one byte, whatever the alphabet.
DIVISOR = 255.0
NAME: Final = re.compile(r"characters-(\d{1,4})")


class StubEmbedder:
    """Places the code of each of the first characters, 64 by default, at its own position and scales to length 1.

    The formula is CortexPrism's stub embedder: `v[i] += code(i) / 255`, L2-normalised. An empty text, or one of NULs
    alone, would give a zero vector; it gets the first unit vector instead.
    """

    provider = "stub"
    model = f"characters-{DIMENSION}"
    dimension = DIMENSION

    def __init__(self, dimension: int = DIMENSION) -> None:
        """Build it; `dimension` is the width of its vectors, 1 to 4,000."""
        self.dimension = dimension
        self.model = f"characters-{dimension}"

    @classmethod
    def named(cls, model: str) -> StubEmbedder:
        """Build the one of a name like `characters-768`, that of the usual width where the name is blank.

        Raises:
            ProviderMisconfigured: another name, or a width that no index takes.
        """
        if not model:
            return cls()
        found = NAME.fullmatch(model)
        if found is None or not 1 <= int(found[1]) <= WIDEST:
            raise ProviderMisconfigured(f"The model of the embedder `stub` is characters-1 to characters-{WIDEST}.")
        return cls(int(found[1]))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, in order, without cost; never fails."""
        width = self.dimension
        table = np.zeros((len(texts), width), dtype=np.float64)
        for row, text in enumerate(texts):
            codes = [ord(character) for character in text[:width]]
            table[row, : len(codes)] = np.array(codes, dtype=np.float64) / DIVISOR
            if not table[row].any():
                table[row, 0] = 1.0
        return checked(table, len(texts), width)
