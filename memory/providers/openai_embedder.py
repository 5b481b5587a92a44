"""Embeddings from any server that speaks OpenAI's `/v1/embeddings`: OpenAI, vLLM, LM Studio and others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memory.providers.endpoints import joined
from memory.providers.http_embedder import HttpEmbedder, ordered_rows

PATH = "/v1/embeddings"


class OpenAiEmbedder(HttpEmbedder):
    """Embeds through `/v1/embeddings`."""

    provider = "openai"

    def _ask(self, batch: Sequence[str]) -> list[Any]:
        answer = self._http.post(joined(self._address, PATH), {"model": self._model, "input": list(batch)})
        return ordered_rows(self._usable(answer, batch))
