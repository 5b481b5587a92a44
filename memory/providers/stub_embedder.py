"""A deterministic embedder without a model, for tests and for trying things out: it knows letters, not meaning."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory.ports import Vectors
from memory.providers.vectors import checked

DIMENSION = 64
# The published formula divides by the largest code of one byte, whatever the alphabet.
DIVISOR = 255.0


class StubEmbedder:
    """Places the code of each of the first 64 characters at its own position and scales to length 1.

    The formula is CortexPrism's stub embedder: `v[i] += code(i) / 255`, L2-normalised. An empty text, or one of NULs
    alone, would give a zero vector; it gets the first unit vector instead.
    """

    provider = "stub"
    model = "characters-64"
    dimension = DIMENSION

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, in order, without cost; never fails."""
        table = np.zeros((len(texts), DIMENSION), dtype=np.float64)
        for row, text in enumerate(texts):
            codes = [ord(character) for character in text[:DIMENSION]]
            table[row, : len(codes)] = np.array(codes, dtype=np.float64) / DIVISOR
            if not table[row].any():
                table[row, 0] = 1.0
        return checked(table, len(texts), DIMENSION)
