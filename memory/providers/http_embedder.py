"""What every embedder behind HTTP shares: batches, the width learnt from the first answer, checks and reasons."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar
from urllib.parse import urlsplit

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.ports import Vectors
from memory.ports.outbound import EMBEDDING
from memory.providers.endpoints import checked_address, checked_key, is_loopback
from memory.providers.json_over_http import Answer, JsonOverHttp, Limits, Unreachable
from memory.providers.metering import note_sent, tokens_read
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.policy import OutboundPolicy
from memory.providers.vectors import checked
from memory.providers.wellformed import well_formed

# One short text whose vector tells the width before anything is stored.
PROBE = "width"
ADDRESS = "The address of the embedding server"
UNAUTHORISED, FORBIDDEN, NOT_FOUND = 401, 403, 404
# Statuses by which servers refuse the texts themselves: malformed, too large, not processable.
INPUT_REFUSED = frozenset({400, 413, 422})
# A text that a server finds too long is sent by its beginning, down to this many characters.
SHORTEST_CUT = 400


class _TooLarge(Exception):
    """The server refuses a batch for its size; `error` is what is raised where it cannot be made smaller."""

    def __init__(self, error: EmbedderUnavailable) -> None:
        super().__init__(error.message)
        self.error = error


@dataclass(frozen=True, slots=True)
class Batching:
    """How texts are cut and grouped: `most_texts` and `most_characters` of a request, `longest_text` of one text.

    The default length stays below the 8,192 tokens of common models even for scripts with a token per character.
    """

    most_texts: int = 64
    most_characters: int = 100_000
    longest_text: int = 6_000

    def __post_init__(self) -> None:
        """Refuse bounds that would let nothing through."""
        if min(self.most_texts, self.most_characters, self.longest_text) < 1:
            raise ProviderMisconfigured("The batch limits of an embedder must be at least 1.")

    def split(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Make texts safe to send and group them in order."""
        batch: list[str] = []
        characters = 0
        for text in texts:
            safe = well_formed(text, self.longest_text)
            full = len(batch) == self.most_texts or characters + len(safe) > self.most_characters
            if batch and full:
                yield batch
                batch, characters = [], 0
            batch.append(safe)
            characters += len(safe)
        if batch:
            yield batch


class HttpEmbedder(ABC):
    """Base of embedders behind HTTP; subclasses know the dialect. May be used by several threads at once."""

    provider: ClassVar[str]

    def __init__(
        self,
        *,
        base_url: str,
        model: str,
        api_key: str = "",
        dimension: int | None = None,
        limits: Limits | None = None,
        batching: Batching | None = None,
        policy: OutboundPolicy | None = None,
    ) -> None:
        """Prepare without connecting.

        Args:
            base_url: address of the server, with or without `/v1`.
            model: the name that the server knows the model by.
            api_key: sent in the Authorization header only.
            dimension: the width, when it is known from stored vectors; else the first answer tells it.
            limits: bounds of time and size of one request with its retries.
            batching: bounds of one request's content.
            policy: where requests may go; the address's own host when left out.

        Raises:
            ProviderMisconfigured: an unusable address, key, model name or limit, or a host that is not allowed.
        """
        if not model.strip():
            raise ProviderMisconfigured("EMBEDDING_MODEL must name the model.")
        self._address = checked_address(base_url, setting=ADDRESS)
        key = checked_key(api_key, setting="EMBEDDING_API_KEY")
        self._model = model.strip()
        self._dimension = dimension
        self._dimension_lock = threading.Lock()
        self._batching = batching or Batching()
        self._most_texts = self._batching.most_texts
        self._http = JsonOverHttp(self._address, kind=EMBEDDING, setting=ADDRESS, key=key, limits=limits, policy=policy)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(model={self._model!r}, dimension={self._dimension})"

    @property
    def model(self) -> str:
        """Give the name that the server knows the model by."""
        return self._model

    @property
    def host(self) -> str:
        """Name the server's host, with its port where the address has one."""
        return urlsplit(self._address).netloc.rpartition("@")[2]

    @property
    def loopback(self) -> bool:
        """Tell whether texts stay on this machine."""
        return is_loopback(self._address)

    @property
    def known_dimension(self) -> int | None:
        """Give the width where it is known; asks nobody."""
        return self._dimension

    @property
    def dimension(self) -> int:
        """Give the width; asks the server once when no answer has told it yet; raises EmbedderUnavailable."""
        if self._dimension is None:
            self.embed([PROBE])
        if self._dimension is None:
            raise EmbedderUnavailable("The embedding server did not tell the width of its vectors.")
        return self._dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, in order, one request per batch.

        A batch that the server finds too large is halved, and a text that it finds too long by itself is sent by its
        first half; how many texts it takes at once is remembered.

        Args:
            texts: any strings, none blank; longer ones are cut to the batching's `longest_text`.

        Returns:
            float32 array of shape (len(texts), dimension), every row of length 1.

        Raises:
            EmbedderUnavailable: any failure, for all texts. `details["input_refused"]` is true when the server refused
                the texts themselves, so that trying fewer at a time may find the one it cannot take.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        batching = replace(self._batching, most_texts=self._most_texts)
        parts = [self._fitting(batch)[0] for batch in batching.split(texts)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def close(self) -> None:
        """Close kept connections."""
        self._http.close()

    @abstractmethod
    def _ask(self, batch: Sequence[str]) -> list[Any]:
        """Ask the server for the vectors of one batch, in order, unchecked; raises Unreachable or KeyError."""

    def _fitting(self, batch: Sequence[str]) -> tuple[Vectors, bool]:
        """Embed a batch, in parts where the server finds it too large; tell whether it went through at once."""
        try:
            return self._embed_batch(batch), True
        except _TooLarge as refused:
            if len(batch) == 1 and len(batch[0]) < 2 * SHORTEST_CUT:
                raise refused.error from None
        if len(batch) == 1:
            return self._fitting([batch[0][: len(batch[0]) // 2]])[0], False
        middle = (len(batch) + 1) // 2
        (first, whole), (second, also) = self._fitting(batch[:middle]), self._fitting(batch[middle:])
        if whole and also:
            # Only then it is their number that was too much, and not one text among them.
            self._most_texts = min(self._most_texts, middle)
        return np.concatenate([first, second]), False

    def _embed_batch(self, batch: Sequence[str]) -> Vectors:
        try:
            rows = self._ask(batch)
        except Unreachable as failure:
            raise EmbedderUnavailable(f"The embedding server {failure}.") from None
        except (KeyError, TypeError, IndexError, AttributeError):
            raise EmbedderUnavailable("The embedding server answered in another form than agreed.") from None
        vectors = checked(rows, len(batch), self._dimension)
        with self._dimension_lock:
            if self._dimension is None:
                self._dimension = vectors.shape[1]
            known = self._dimension
        # Two first answers may arrive together; the later one has to agree with the earlier.
        return checked(vectors, len(batch), known)

    def _usable(self, answer: Answer, texts: Sequence[str]) -> Any:
        """Parse a success and note its tokens; raise for any other status with a reason that says what to do."""
        if answer.ok:
            value = answer.value()
            note_sent(texts, counted=tokens_read(value))
            return value
        if answer.status in (UNAUTHORISED, FORBIDDEN):
            raise EmbedderUnavailable(f"The embedding server refuses the key (status {answer.status}).")
        if answer.status == NOT_FOUND:
            raise EmbedderUnavailable(
                "The embedding server knows no such address or model (status 404). "
                "Check EMBEDDING_MODEL and the server's address; a local server may have to fetch the model first."
            )
        error = EmbedderUnavailable(
            f"The embedding server refuses the request (status {answer.status}).",
            input_refused=answer.status in INPUT_REFUSED or answer.too_large,
        )
        raise _TooLarge(error) if answer.too_large else error


def ordered_rows(value: Any) -> list[Any]:
    """Read the vectors of an OpenAI-style answer in the order of the texts.

    Rows carry an `index`; where no row has one, they count as ordered.

    Raises:
        KeyError, TypeError: another form, or indexes that are not 0 to n-1, each once.
    """
    data = value["data"]
    if not isinstance(data, list):
        raise TypeError
    if not any("index" in row for row in data):
        return [row["embedding"] for row in data]
    placed = {row["index"]: row["embedding"] for row in data}
    if len(placed) != len(data):
        raise KeyError
    return [placed[index] for index in range(len(data))]
