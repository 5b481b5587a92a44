"""The guard around a reranker: the circuit, and a second look at every answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable
from memory.ports import Clock, Reranker
from memory.ports.outbound import RERANK
from memory.providers.circuit import Circuit, CircuitState
from memory.providers.metering import NOBODY, Asked, allowed, metered
from memory.providers.rerankers.scores import checked_scores, refuse_too_many


class GuardedReranker:
    """Passes calls on; after several failures in a row it refuses at once for a while, then lets one call try.

    Each call is counted, and none is made that a budget forbids; those of a language model are its own.
    """

    def __init__(
        self, reranker: Reranker, *, clock: Clock | None = None, failures: int = 3, pause_seconds: float = 30.0
    ) -> None:
        """Wrap a reranker; the numbers are those of `Circuit`.

        Raises:
            ProviderMisconfigured: a number out of range.
        """
        self._reranker = reranker
        self._circuit = Circuit(_paused, clock=clock, failures=failures, pause_seconds=pause_seconds)

    def __repr__(self) -> str:
        return f"GuardedReranker({self._reranker!r})"

    @property
    def provider(self) -> str:
        """Name the kind of provider."""
        return self._reranker.provider

    @property
    def model(self) -> str:
        """Name the model."""
        return self._reranker.model

    @property
    def local(self) -> bool:
        """Tell whether texts stay on this machine."""
        return self._reranker.local

    @property
    def prompts(self) -> bool:
        """Tell whether texts become part of a prompt."""
        return self._reranker.prompts

    @property
    def most_texts(self) -> int:
        """Give the largest number of texts of one call."""
        return self._reranker.most_texts

    @property
    def inner(self) -> Reranker:
        """Give the guarded reranker, for what only its kind can do (`warm`, `close`)."""
        return self._reranker

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts as the guarded reranker does, and check the answer once more.

        Raises:
            RerankerUnavailable: the provider failed, or has failed so often that it is not asked now
                (code `reranker.paused`), or the owner's budget is used up (`budget.exceeded`).
            ValueError: more than `most_texts` texts.
        """
        refuse_too_many(texts, self.most_texts)
        if not texts:
            return np.empty(0, dtype=np.float32)
        return self._asked([query, *texts], lambda: checked_scores(self._reranker.rerank(query, texts), len(texts)))

    def _asked(self, texts: Sequence[str], call: Callable[[], NDArray[np.float32]]) -> NDArray[np.float32]:
        if self.prompts or self.provider == NOBODY:
            return self._circuit.run(call)
        asked = Asked(kind=RERANK, provider=self.provider, model=self.model, local=self.local)
        allowed(asked)
        return self._circuit.run(lambda: metered(asked, call, texts=texts))

    def state(self) -> CircuitState:
        """Give the state for health pages; asks nobody."""
        return self._circuit.state()


def _paused(failures: int, reason: str) -> RerankerUnavailable:
    return RerankerUnavailable(
        f"The reranker failed {failures} times in a row and is not asked for a while. {reason}".strip(),
        code="reranker.paused",
    )
