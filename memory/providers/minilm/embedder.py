"""The embedder that works out of the box: no download, no service, no key."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from memory.ports import Tokens, Vectors
from memory.providers.minilm.build import NAME, ensure_built
from memory.providers.minilm.reduction import Reduction, load_projection
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.per_process import PerProcess
from memory.providers.vectors import checked
from memory.providers.wellformed import well_formed

if TYPE_CHECKING:
    from memory.providers.minilm.engine import Engine

DIMENSION = 384
# 256 tokens of ordinary text are about 1,200 characters. The cut only keeps the tokenizer from reading a book.
LONGEST_TEXT = 16_384
MOST_THREADS = 64
# Half of the processors, at most two: what stores a text needs the others. Measured on two: with one thread a bulk of
# turns is stored as fast as with two, and a single question takes 8 ms instead of 5.
CHOSEN_THREADS = 2


class MiniLmEmbedder:
    """Embeds with all-MiniLM-L6-v2 in this process; the model is loaded at first use and shared by all threads."""

    provider = "local"
    model = NAME
    dimension = DIMENSION

    def __init__(self, *, threads: int = 0, directory: Path | None = None) -> None:
        """Prepare without loading anything.

        Args:
            threads: threads for one batch, 1 to 64; 0 chooses half of the processors, 1 or 2.
            directory: folder of the built model; one in the cache directory when left out.

        Raises:
            ProviderMisconfigured: threads out of range.
        """
        if not 0 <= threads <= MOST_THREADS:
            raise ProviderMisconfigured(f"The local embedder can use 1 to {MOST_THREADS} threads, or 0 to choose.")
        self._threads = threads or max(1, min(CHOSEN_THREADS, (os.cpu_count() or 1) // 2))
        self._directory = directory
        self._engine = PerProcess(self._load)

    def __repr__(self) -> str:
        return f"MiniLmEmbedder(threads={self._threads})"

    def warm(self) -> None:
        """Load the model now, building it when it was never built; raises EmbedderUnavailable when that fails."""
        self._engine.get()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, in order.

        Args:
            texts: any strings; beyond 256 tokens (at most 16,384 characters are read) a text is cut.

        Returns:
            float32 array of shape (len(texts), 384), every row of length 1; a row does not depend on its neighbours
            beyond rounding.

        Raises:
            EmbedderUnavailable: the model is not installed, is not the published one, or cannot be built or run.
        """
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32)
        safe = [well_formed(text, LONGEST_TEXT) for text in texts]
        return checked(self._engine.get().embed(safe, DIMENSION), len(texts), DIMENSION)

    @property
    def reduction(self) -> bytes:
        """Name how token vectors are made; raises EmbedderUnavailable when the projection cannot be read."""
        return self._projection[1]

    def understands(self, text: str) -> bool:
        """Tell whether the model knows any token of a text; raises EmbedderUnavailable as `embed` does."""
        return self._engine.get().knows_any(well_formed(text, LONGEST_TEXT))

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
        """Embed as `embed` does, with the reduced vectors of each text's first 96 tokens that are not punctuation.

        Costs a hundredth more than `embed` alone.

        Returns:
            The vectors, and the tokens of each text, rows of 48 bytes.

        Raises:
            EmbedderUnavailable: as for `embed`, or the projection cannot be read.
        """
        if not texts:
            return np.empty((0, DIMENSION), dtype=np.float32), []
        safe = [well_formed(text, LONGEST_TEXT) for text in texts]
        vectors, tokens = self._engine.get().embed_with_states(safe, DIMENSION, self._reduction)
        return checked(vectors, len(texts), DIMENSION), tokens

    @cached_property
    def _projection(self) -> tuple[NDArray[np.float16], bytes]:
        return load_projection()

    @cached_property
    def _reduction(self) -> Reduction:
        return Reduction(self._projection[0], self._engine.get().vocabulary)

    def _load(self) -> Engine:
        # Imported late: a process that never embeds does not pay for the runtime.
        from memory.providers.minilm.engine import Engine

        return Engine(ensure_built(self._directory), self._threads)
