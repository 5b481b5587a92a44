"""A circuit around a provider: a dead one costs one time-out in a while, not one per call."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeVar

from memory.errors import BudgetExceeded, ProviderUnavailable
from memory.ports import Clock
from memory.providers.misconfigured import ProviderMisconfigured

T = TypeVar("T")

# Refusals of a server that is there and answers at once: asking it again costs nothing, and it may be mended soon.
QUICK: Final = frozenset({"embedder.model_missing"})


@dataclass(frozen=True, slots=True)
class CircuitState:
    """What a health page shows.

    `status` is `ok` until a call fails and again after one succeeds; `since` is when that began, or when the circuit
    was made; `reason` says why it fails; `paused_until` is set while calls are refused without asking the provider.
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


class Circuit:
    """Passes calls on; after several failures in a row it refuses at once for a while, then lets one call try.

    The state belongs to this process. It may be used by several threads at once. A text that the provider refuses by
    itself (`input_refused` in the error's details) counts as a failure in the state, but does not pause the others, and
    neither does a model that the server does not have.
    """

    def __init__(
        self,
        refusal: Callable[[int, str], ProviderUnavailable],
        *,
        clock: Clock | None = None,
        failures: int = 3,
        pause_seconds: float = 30.0,
    ) -> None:
        """Make a closed circuit.

        Args:
            refusal: makes the error of a call that is refused during a pause, from the number of failures and the
                reason of the last one.
            clock: tells the time; the machine's when left out.
            failures: how many in a row begin a pause, at least 1.
            pause_seconds: how long calls are refused at once, above 0.

        Raises:
            ProviderMisconfigured: a number out of range.
        """
        if failures < 1 or pause_seconds <= 0:
            raise ProviderMisconfigured("A provider's guard needs at least one failure and a pause above zero.")
        self._refusal = refusal
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

    def run(self, call: Callable[[], T]) -> T:
        """Run a call and count how it ends.

        Errors other than ProviderUnavailable are passed on uncounted, and so is BudgetExceeded, which says nothing of
        the provider.

        Raises:
            ProviderUnavailable: what the call raised, or the refusal during a pause.
        """
        trial = self._enter()
        try:
            result = call()
        except BudgetExceeded:
            raise
        except ProviderUnavailable as error:
            self._failed(error)
            raise
        else:
            self._succeeded()
            return result
        finally:
            if trial:
                with self._lock:
                    self._trying = False

    def state(self) -> CircuitState:
        """Give the state for health pages; asks nobody."""
        with self._lock:
            until = self._paused_until(self._clock.now())
            return CircuitState(self._status, self._since, self._reason, self._last_success, self._failures, until)

    def _enter(self) -> bool:
        """Refuse during a pause; after it, let one caller through as the trial and tell it so."""
        with self._lock:
            if self._paused_at is None:
                return False
            if self._trying or self._paused_until(self._clock.now()) is not None:
                raise self._refusal(self._failures, self._reason or "")
            self._trying = True
            return True

    def _paused_until(self, now: datetime) -> datetime | None:
        if self._paused_at is None:
            return None
        # A clock that was set back must not prolong the pause.
        return self._paused_at + self._pause if self._paused_at <= now < self._paused_at + self._pause else None

    def _failed(self, error: ProviderUnavailable) -> None:
        with self._lock:
            now = self._clock.now()
            if self._status == "ok":
                self._status, self._since = "failing", now
            self._reason = error.message
            if error.details.get("input_refused") or error.machine_code in QUICK:
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


class Circuits:
    """A circuit for each place that is asked, made when it is first asked; a forked process begins with new ones."""

    def __init__(self, refusal: Callable[[int, str], ProviderUnavailable], *, clock: Clock | None = None) -> None:
        """Take what each circuit is made with."""
        self._refusal, self._clock = refusal, clock
        self.begin_anew()
        if hasattr(os, "register_at_fork"):
            reference = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _forget_parent(reference))

    def begin_anew(self) -> None:
        """Know no place, with a fresh lock: a thread of the parent may have held the old one at the fork."""
        self._lock = threading.Lock()
        self._made: dict[Hashable, Circuit] = {}

    def of(self, place: Hashable) -> Circuit:
        """Give the circuit of a place, one of those that the configuration names."""
        with self._lock:
            if place not in self._made:
                self._made[place] = Circuit(self._refusal, clock=self._clock)
            return self._made[place]


def _forget_parent(reference: weakref.ref[Circuits]) -> None:
    circuits = reference()
    if circuits is not None:
        circuits.begin_anew()
