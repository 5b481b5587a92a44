"""A deterministic reranker without a model, for tests and for trying things out: it counts shared words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memory.providers.rerankers.scores import refuse_too_many

_WORD = re.compile(r"\w+")


class StubReranker:
    """Scores a text by the share of the query's words that stand in it, 0 to 1."""

    provider = "stub"
    model = "shared-words"
    local = True
    prompts = False
    most_texts = 100

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts, in order, without cost; raises ValueError for more than 100."""
        refuse_too_many(texts, self.most_texts)
        asked = set(_WORD.findall(query.casefold()))
        shares = [len(asked & set(_WORD.findall(text.casefold()))) / max(1, len(asked)) for text in texts]
        return np.array(shares, dtype=np.float32)
