"""What stands in where no provider is configured: it always refuses, and says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from memory.errors import EmbedderUnavailable, LanguageModelUnavailable
from memory.ports import ChatMessage, Completion, Vectors

NO_EMBEDDER = "Embeddings are switched off (EMBEDDING_PROVIDER=none). Recall works by words alone."
NO_LANGUAGE_MODEL = "No language model is configured. Set LLM_BASE_URL and LLM_MODEL; until then rules do the work."


class NoEmbedder:
    """Refuses to embed: recall works by words alone."""

    provider = "none"
    model = "none"

    def __init__(self, reason: str = NO_EMBEDDER) -> None:
        """Take the sentence that every refusal carries."""
        self._reason = reason

    @property
    def dimension(self) -> int:
        """Refuse: without a provider there is no width."""
        self._refuse()

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Refuse; raises EmbedderUnavailable for any input, also for none."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise EmbedderUnavailable(self._reason, code="embedder.none")


class NoLanguageModel:
    """Refuses to answer: deterministic rules do the work of a language model."""

    def __init__(self, reason: str = NO_LANGUAGE_MODEL) -> None:
        """Take the sentence that every refusal carries."""
        self._reason = reason

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        component: str,
        json_schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> Completion:
        """Refuse; raises LanguageModelUnavailable for any prompt."""
        raise LanguageModelUnavailable(self._reason, code="llm.none")
