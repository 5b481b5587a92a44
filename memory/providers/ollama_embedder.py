"""Embeddings from Ollama, in whichever of its three dialects the server answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from memory.errors import EmbedderUnavailable
from memory.providers.endpoints import joined
from memory.providers.http_embedder import HttpEmbedder, ordered_rows
from memory.providers.json_over_http import Answer
from memory.providers.openai_embedder import PATH as OPENAI_PATH

CURRENT_PATH = "/api/embed"
LEGACY_PATH = "/api/embeddings"
NO_SUCH_PATH = frozenset({404, 405, 501})
MODEL_MISSING = (
    "Ollama does not have the model that it is to embed with. "
    "Fetch it: `manage.py ollama --fetch`, or `ollama pull` on its machine."
)


class _NotSpoken(Exception):
    """The server has no such path."""


class OllamaEmbedder(HttpEmbedder):
    """Embeds through `/api/embed`, else `/api/embeddings`, else `/v1/embeddings`, and remembers which one answered."""

    provider = "ollama"
    _spoken: str | None = None

    def _ask(self, batch: Sequence[str]) -> list[Any]:
        dialects: dict[str, Callable[[Sequence[str]], list[Any]]] = {
            CURRENT_PATH: self._current,
            LEGACY_PATH: self._legacy,
            OPENAI_PATH: self._openai,
        }
        # The remembered one first; a server that was exchanged meanwhile may speak another.
        for path in sorted(dialects, key=lambda path: path != self._spoken):
            try:
                rows = dialects[path](batch)
            except _NotSpoken:
                continue
            self._spoken = path
            return rows
        raise EmbedderUnavailable(
            f"The embedding server has none of {CURRENT_PATH}, {LEGACY_PATH} and {OPENAI_PATH} "
            "(status 404, 405 or 501). Check OLLAMA_BASE_URL."
        )

    def _current(self, batch: Sequence[str]) -> list[Any]:
        rows = self._post(CURRENT_PATH, {"input": list(batch), "truncate": True}, batch)["embeddings"]
        if not isinstance(rows, list):
            raise TypeError
        return rows

    def _legacy(self, batch: Sequence[str]) -> list[Any]:
        return [self._post(LEGACY_PATH, {"prompt": text}, [text])["embedding"] for text in batch]

    def _openai(self, batch: Sequence[str]) -> list[Any]:
        return ordered_rows(self._post(OPENAI_PATH, {"input": list(batch)}, batch))

    def _post(self, path: str, payload: dict[str, Any], texts: Sequence[str]) -> Any:
        answer = self._http.post(joined(self._address, path), {"model": self._model, **payload})
        if answer.status in NO_SUCH_PATH:
            if _lacks_model(answer):
                raise EmbedderUnavailable(MODEL_MISSING, code="embedder.model_missing")
            raise _NotSpoken
        return self._usable(answer, texts)


def _lacks_model(answer: Answer) -> bool:
    """Tell a missing model (a JSON error that speaks of it) from a missing path (plain text), both status 404."""
    return answer.body.lstrip().startswith(b"{") and answer.says("model") and answer.says("not found", "pull")
