"""A reranker behind a `/rerank` address, as Cohere, Jina, Voyage, vLLM, llama.cpp and TEI offer it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable
from memory.ports.outbound import RERANK
from memory.providers.endpoints import checked_address, checked_key, is_loopback
from memory.providers.json_over_http import Answer, JsonOverHttp, Limits, Unreachable
from memory.providers.metering import note_sent, tokens_read
from memory.providers.outbound.policy import OutboundPolicy
from memory.providers.rerankers.scores import refuse_too_many, scores_by_index
from memory.providers.wellformed import well_formed

PATH: Final = "/rerank"
MOST_TEXTS: Final = 100
# Rerankers read a few hundred tokens; what is longer is cut here, not refused there.
LONGEST_TEXT: Final = 4_000
LONGEST_QUERY: Final = 2_000
LARGEST_ANSWER_BYTES: Final = 4 * 1024 * 1024
UNAUTHORISED, FORBIDDEN, NOT_FOUND = 401, 403, 404
# Statuses by which a server says that it does not know the form of the request.
OTHER_FORM: Final = frozenset({400, 422})
ROWS: Final = ("results", "data")
SCORES: Final = ("relevance_score", "score")


class HttpReranker:
    """Scores texts through one request; may be used by several threads at once.

    Two forms of request are known: `documents` with `top_n` and the model's name, and `texts` (TEI). The first is
    tried first; a server that asks for `texts` gets the other one and is remembered.
    """

    provider = "http"
    prompts = False
    most_texts = MOST_TEXTS

    def __init__(
        self,
        *,
        url: str,
        model: str = "",
        api_key: str = "",
        limits: Limits | None = None,
        policy: OutboundPolicy | None = None,
    ) -> None:
        """Prepare without connecting.

        Args:
            url: the address of the reranker; `/rerank` is added where its path does not end so.
            model: the name that the server knows the model by; left out of the request when empty.
            api_key: sent in the Authorization header only.
            limits: bounds of time and size of one request with its retries.
            policy: where requests may go; the address's own host when left out.

        Raises:
            ProviderMisconfigured: an unusable address or key, or a host that is not allowed.
        """
        address = checked_address(url, setting="RERANKER_URL")
        self._address = address if address.endswith(PATH) else address + PATH
        self._model = model.strip()
        key = checked_key(api_key, setting="RERANKER_API_KEY")
        self._http = JsonOverHttp(
            self._address,
            kind=RERANK,
            setting="RERANKER_URL",
            key=key,
            limits=limits or Limits(response_bytes=LARGEST_ANSWER_BYTES),
            policy=policy,
        )
        self._wants_texts = False

    def __repr__(self) -> str:
        return f"HttpReranker(model={self._model!r})"

    @property
    def model(self) -> str:
        """Give the name that the server knows the model by."""
        return self._model

    @property
    def local(self) -> bool:
        """Tell whether texts stay on this machine."""
        return is_loopback(self._address)

    def close(self) -> None:
        """Close kept connections."""
        self._http.close()

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Score texts, in order, with one request.

        Raises:
            RerankerUnavailable: no connection, time-out, error status, or an answer that cannot be used.
            ValueError: more than 100 texts.
        """
        refuse_too_many(texts, self.most_texts)
        if not texts:
            return np.empty(0, dtype=np.float32)
        asked = well_formed(query, LONGEST_QUERY)
        sent = [well_formed(text, LONGEST_TEXT) for text in texts]
        try:
            return scores_by_index(_rows(self._ask(asked, sent)), len(texts), names=SCORES)
        except Unreachable as failure:
            raise RerankerUnavailable(f"The reranking server {failure}.") from None

    def _ask(self, query: str, texts: list[str]) -> Any:
        answer = self._http.post(self._address, self._payload(query, texts))
        if not self._wants_texts and answer.status in OTHER_FORM and answer.says("texts"):
            self._wants_texts = True
            answer = self._http.post(self._address, self._payload(query, texts))
        value = _usable(answer)
        note_sent([query, *texts], counted=tokens_read(value))
        return value

    def _payload(self, query: str, texts: list[str]) -> dict[str, Any]:
        named = {"model": self._model} if self._model else {}
        if self._wants_texts:
            return {**named, "query": query, "texts": texts, "truncate": True}
        return {**named, "query": query, "documents": texts, "top_n": len(texts)}


def _usable(answer: Answer) -> Any:
    if answer.ok:
        return answer.value()
    if answer.status in (UNAUTHORISED, FORBIDDEN):
        raise RerankerUnavailable(f"The reranking server refuses the key (status {answer.status}).")
    if answer.status == NOT_FOUND:
        raise RerankerUnavailable(
            "The reranking server knows no such address or model (status 404). Check RERANKER_URL and RERANKER_MODEL."
        )
    raise RerankerUnavailable(f"The reranking server refuses the request (status {answer.status}).")


def _rows(value: Any) -> Any:
    """Find the rows of an answer: the answer itself, or what it calls results or data."""
    if isinstance(value, dict):
        return next((value[name] for name in ROWS if name in value), None)
    return value
