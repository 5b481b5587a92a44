"""A circuit guard around an embedder: a dead provider costs one time-out in a while, not one per recall."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from threading import Lock, Thread
from typing import Final, TypeVar

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.ports import Clock, Embedder, TokenEmbedder, Tokens, Vectors, gives_tokens
from memory.ports.outbound import EMBEDDING
from memory.providers.circuit import Circuit, CircuitState
from memory.providers.http_embedder import PROBE, HttpEmbedder
from memory.providers.metering import NOBODY, Asked, allowed, metered
from memory.providers.ollama_embedder import MODEL_MISSING
from memory.providers.vectors import checked

T = TypeVar("T")
logger = logging.getLogger(__name__)

LOOK_SECONDS: Final = 5.0


class GuardedEmbedder:
    """Passes calls on; after several failures in a row it refuses at once for a while, then lets one call try.

    What counts as a failure stands with `Circuit`. Each call is counted, and none is made that a budget forbids.
    """

    def __init__(
        self, embedder: Embedder, *, clock: Clock | None = None, failures: int = 3, pause_seconds: float = 30.0
    ) -> None:
        """Wrap an embedder; the numbers are those of `Circuit`.

        Raises:
            ProviderMisconfigured: a number out of range.
        """
        self._embedder = embedder
        self._circuit = Circuit(_paused, clock=clock, failures=failures, pause_seconds=pause_seconds)
        self._width: int | None = None
        self._looking = Lock()
        self._looked_at = -LOOK_SECONDS

    def __repr__(self) -> str:
        return f"GuardedEmbedder({self._embedder!r})"

    @property
    def provider(self) -> str:
        """Name the kind of provider."""
        return self._embedder.provider

    @property
    def model(self) -> str:
        """Name the model."""
        return self._embedder.model

    @property
    def inner(self) -> Embedder:
        """Give the guarded embedder, for what only its kind can do (`warm`, `fetch`, `close`)."""
        return self._embedder

    @property
    def dimension(self) -> int:
        """Give the width; once known, without asking the provider; raises EmbedderUnavailable."""
        if self._width is None:
            self._width = self._circuit.run(self._learnt_width)
        return self._width

    @property
    def known_dimension(self) -> int | None:
        """Give the width, whether the provider is paused or not; None where it is not known yet. Asks no server."""
        inner = self._embedder
        if isinstance(inner, HttpEmbedder):
            return self._width or inner.known_dimension
        try:
            return self.dimension
        except EmbedderUnavailable:
            return None

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as the guarded embedder does, and check the answer once more.

        Raises:
            EmbedderUnavailable: the provider failed, or has failed so often that it is not asked now
                (code `embedder.paused`), or the owner's budget is used up (`budget.exceeded`).
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._asked(texts, lambda: checked(self._embedder.embed(texts), len(texts), self._width))

    def state(self) -> CircuitState:
        """Give the state for health pages; asks nobody."""
        return self._circuit.state()

    def _asked(self, texts: Sequence[str], call: Callable[[], T]) -> T:
        """Make a call for which there is a budget, and count it; a refusal during a pause is no call."""
        if self.provider == NOBODY:
            return self._circuit.run(call)
        asked = self._who()
        allowed(asked)
        return self._circuit.run(lambda: metered(asked, call, texts=texts))

    def _learnt_width(self) -> int:
        inner = self._embedder
        if isinstance(inner, HttpEmbedder) and inner.known_dimension is None:
            asked = self._who()
            allowed(asked)
            return metered(asked, lambda: inner.dimension, texts=[PROBE])
        return inner.dimension

    @property
    def untried(self) -> bool:
        """Tell whether the embedder is a server that this process has not asked yet."""
        state = self.state()
        return isinstance(self._embedder, HttpEmbedder) and state.status == "ok" and state.last_success is None

    def look(self, *, seconds: float) -> None:
        """Ask a server that was not asked yet, or failed, for one vector, at most every five seconds.

        Args:
            seconds: how long to wait for the answer; a later one is noted all the same.
        """
        known = not self.untried and self.state().status == "ok"
        if known or not isinstance(self._embedder, HttpEmbedder):
            return
        with self._looking:
            if time.monotonic() - self._looked_at < LOOK_SECONDS:
                return
            self._looked_at = time.monotonic()
        asking = Thread(target=self._look, name="embedder-look", daemon=True)
        asking.start()
        asking.join(seconds)

    def _look(self) -> None:
        try:
            self.embed([PROBE])
        except EmbedderUnavailable as error:
            logger.info("the embedder was looked at: %s", error.machine_code)

    @property
    def lacks_model(self) -> bool:
        """Tell whether the embedder's last use failed since its server does not have the model."""
        return self.state().reason == MODEL_MISSING

    @property
    def host(self) -> str:
        """Name the host that texts are sent to; empty where they are embedded in this process."""
        return self._embedder.host if isinstance(self._embedder, HttpEmbedder) else ""

    @property
    def local(self) -> bool:
        """Tell whether texts stay on this machine when they are embedded."""
        inner = self._embedder
        return not isinstance(inner, HttpEmbedder) or inner.loopback

    def _who(self) -> Asked:
        return Asked(kind=EMBEDDING, provider=self.provider, model=self.model, local=self.local)


class GuardedTokenEmbedder(GuardedEmbedder):
    """The guard of an embedder that gives token vectors, too."""

    _embedder: TokenEmbedder

    @property
    def reduction(self) -> bytes:
        """Name how token vectors are made; raises EmbedderUnavailable."""
        return self._circuit.run(lambda: self._embedder.reduction)

    def understands(self, text: str) -> bool:
        """Tell whether the guarded embedder knows any token of a text; raises EmbedderUnavailable."""
        return self._circuit.run(lambda: self._embedder.understands(text))

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
        """Embed texts with their tokens as the guarded embedder does, and check the answer once more.

        Raises:
            EmbedderUnavailable: as for `embed`.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32), []
        return self._asked(texts, lambda: self._checked_with_tokens(texts))

    def _checked_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
        vectors, tokens = self._embedder.embed_with_tokens(texts)
        if len(tokens) != len(texts):
            raise EmbedderUnavailable(f"The embedder answered with tokens of {len(tokens)} texts for {len(texts)}.")
        return checked(vectors, len(texts), self._width), tokens


def guarded(embedder: Embedder) -> GuardedEmbedder:
    """Wrap an embedder in the guard that passes on all it can do."""
    return GuardedTokenEmbedder(embedder) if gives_tokens(embedder) else GuardedEmbedder(embedder)


def _paused(failures: int, reason: str) -> EmbedderUnavailable:
    return EmbedderUnavailable(
        f"The embedder failed {failures} times in a row and is not asked for a while. {reason}".strip(),
        code="embedder.paused",
    )
