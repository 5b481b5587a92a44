"""A circuit guard around an embedder: a dead provider costs one time-out in a while, not one per recall."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeVar

import numpy as np

from memory.errors import EmbedderUnavailable
from memory.ports import Clock, Embedder, TokenEmbedder, Tokens, Vectors, gives_tokens
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.vectors import checked

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class EmbedderState:
    """What a health page shows.

    `status` is `ok` until a call fails and again after one succeeds; `since` is when that began, or when the guard was
    made; `reason` says why it fails; `paused_until` is set while calls are refused without asking the provider.
    """

    status: Literal["ok", "failing"]
    since: datetime
    reason: str | None
    last_success: datetime | None
    failures: int
    paused_until: datetime | None


class _MachineClock:
    def now(self) -> datetime:
        return datetime.now(UTC)


class GuardedEmbedder:
    """Passes calls on; after several failures in a row it refuses at once for a while, then lets one call try.

    The state belongs to this process. A text that the provider refuses by itself (`input_refused`) counts as a failure
    in the state, but does not pause the others.
    """

    def __init__(
        self, embedder: Embedder, *, clock: Clock | None = None, failures: int = 3, pause_seconds: float = 30.0
    ) -> None:
        """Wrap an embedder.

        Args:
            embedder: the one that does the work.
            clock: tells the time; the machine's when left out.
            failures: how many in a row begin a pause, at least 1.
            pause_seconds: how long calls are refused at once, above 0.

        Raises:
            ProviderMisconfigured: a number out of range.
        """
        if failures < 1 or pause_seconds <= 0:
            raise ProviderMisconfigured("The embedder's guard needs at least one failure and a pause above zero.")
        self._embedder = embedder
        self._clock = clock or _MachineClock()
        self._threshold = failures
        self._pause = timedelta(seconds=pause_seconds)
        self._lock = threading.Lock()
        self._status: Literal["ok", "failing"] = "ok"
        self._since = self._clock.now()
        self._reason: str | None = None
        self._last_success: datetime | None = None
        self._failures = 0
        self._paused_at: datetime | None = None
        self._trying = False
        self._width: int | None = None

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
            self._width = self._guarded(lambda: self._embedder.dimension)
        return self._width

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts as the guarded embedder does, and check the answer once more.

        Raises:
            EmbedderUnavailable: the provider failed, or has failed so often that it is not asked now
                (code `embedder.paused`).
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        return self._guarded(lambda: checked(self._embedder.embed(texts), len(texts), self._width))

    def state(self) -> EmbedderState:
        """Give the state for health pages; asks nobody."""
        with self._lock:
            until = self._paused_until(self._clock.now())
            return EmbedderState(self._status, self._since, self._reason, self._last_success, self._failures, until)

    def _guarded(self, call: Callable[[], T]) -> T:
        trial = self._enter()
        try:
            result = call()
        except EmbedderUnavailable as error:
            self._failed(error)
            raise
        else:
            self._succeeded()
            return result
        finally:
            if trial:
                with self._lock:
                    self._trying = False

    def _enter(self) -> bool:
        """Refuse during a pause; after it, let one caller through as the trial and tell it so."""
        with self._lock:
            if self._paused_at is None:
                return False
            if self._trying or self._paused_until(self._clock.now()) is not None:
                raise EmbedderUnavailable(
                    f"The embedder failed {self._failures} times in a row and is not asked for a while. "
                    f"{self._reason or ''}".strip(),
                    code="embedder.paused",
                )
            self._trying = True
            return True

    def _paused_until(self, now: datetime) -> datetime | None:
        if self._paused_at is None:
            return None
        # A clock that was set back must not prolong the pause.
        return self._paused_at + self._pause if self._paused_at <= now < self._paused_at + self._pause else None

    def _failed(self, error: EmbedderUnavailable) -> None:
        with self._lock:
            now = self._clock.now()
            if self._status == "ok":
                self._status, self._since = "failing", now
            self._reason = error.message
            if error.details.get("input_refused"):
                return
            self._failures += 1
            if self._failures >= self._threshold:
                self._paused_at = now

    def _succeeded(self) -> None:
        with self._lock:
            now = self._clock.now()
            if self._status == "failing":
                self._status, self._since = "ok", now
            self._reason, self._failures, self._paused_at = None, 0, None
            self._last_success = now


class GuardedTokenEmbedder(GuardedEmbedder):
    """The guard of an embedder that gives token vectors, too."""

    _embedder: TokenEmbedder

    @property
    def reduction(self) -> bytes:
        """Name how token vectors are made; raises EmbedderUnavailable."""
        return self._guarded(lambda: self._embedder.reduction)

    def understands(self, text: str) -> bool:
        """Tell whether the guarded embedder knows any token of a text; raises EmbedderUnavailable."""
        return self._guarded(lambda: self._embedder.understands(text))

    def embed_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
        """Embed texts with their tokens as the guarded embedder does, and check the answer once more.

        Raises:
            EmbedderUnavailable: as for `embed`.
        """
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32), []
        return self._guarded(lambda: self._checked_with_tokens(texts))

    def _checked_with_tokens(self, texts: Sequence[str]) -> tuple[Vectors, list[Tokens]]:
        vectors, tokens = self._embedder.embed_with_tokens(texts)
        if len(tokens) != len(texts):
            raise EmbedderUnavailable(f"The embedder answered with tokens of {len(tokens)} texts for {len(texts)}.")
        return checked(vectors, len(texts), self._width), tokens


def guarded(embedder: Embedder) -> GuardedEmbedder:
    """Wrap an embedder in the guard that passes on all it can do."""
    return GuardedTokenEmbedder(embedder) if gives_tokens(embedder) else GuardedEmbedder(embedder)
