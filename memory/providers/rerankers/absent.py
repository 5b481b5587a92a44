"""What stands in where no reranker is configured: it always refuses, and says why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable

NO_RERANKER = "No reranker is configured (RERANKER_PROVIDER=none). Hits keep the order that they had."


class NoReranker:
    """Refuses to score: hits keep their order."""

    provider = "none"
    model = "none"
    local = True
    prompts = False
    most_texts = 100

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Refuse; raises RerankerUnavailable for any input, also for none."""
        raise RerankerUnavailable(NO_RERANKER, code="reranker.none")
