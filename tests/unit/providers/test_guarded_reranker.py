"""The guard of a reranker pauses a dead provider, lets one call try, and tells its state."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from memory.errors import RerankerUnavailable
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.rerankers.guarded import GuardedReranker
from memory.providers.rerankers.stub import StubReranker

START = datetime(2026, 1, 1, tzinfo=UTC)


class HandClock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class Provider(StubReranker):
    """A stub that fails while told to, and counts how often it was asked."""

    def __init__(self) -> None:
        self.failure: RerankerUnavailable | None = None
        self.asked = 0
        self.gate: threading.Event | None = None

    def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += 1
        if self.gate:
            self.gate.wait(10)
        if self.failure:
            raise self.failure
        return super().rerank(query, texts)


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def guard(provider: Provider, clock: HandClock) -> GuardedReranker:
    return GuardedReranker(provider, clock=clock, failures=3, pause_seconds=30)


def fail(guard: GuardedReranker, times: int = 1) -> RerankerUnavailable:
    for _ in range(times):
        with pytest.raises(RerankerUnavailable) as caught:
            guard.rerank("a", ["a"])
    return caught.value


def test_a_sound_provider_is_passed_through(guard: GuardedReranker, provider: Provider) -> None:
    assert guard.rerank("a b", ["a", "c"]).tolist() == [0.5, 0]
    assert (guard.provider, guard.model, guard.most_texts, guard.inner) == ("stub", "shared-words", 100, provider)
    assert (guard.state().status, guard.state().last_success) == ("ok", START)


def test_after_the_third_failure_nobody_is_asked_during_the_pause(
    guard: GuardedReranker, provider: Provider, clock: HandClock
) -> None:
    provider.failure = RerankerUnavailable("The provider is gone.")
    assert fail(guard, 3).machine_code == "reranker.unavailable"
    clock.pass_by(29)
    error = fail(guard, 5)
    assert error.machine_code == "reranker.paused"
    assert "The provider is gone." in error.message
    assert provider.asked == 3
    state = guard.state()
    assert (state.status, state.failures, state.paused_until) == ("failing", 3, START + timedelta(seconds=30))


def test_after_the_pause_one_call_tries(guard: GuardedReranker, provider: Provider, clock: HandClock) -> None:
    provider.failure = RerankerUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(30)
    assert fail(guard).machine_code == "reranker.unavailable"
    assert fail(guard).machine_code == "reranker.paused"
    clock.pass_by(31)
    provider.failure = None
    assert guard.rerank("a", ["a"]).tolist() == [1]
    assert (guard.state().status, guard.state().failures, guard.state().reason) == ("ok", 0, None)


def test_only_one_caller_tries_while_the_others_are_refused_at_once(
    guard: GuardedReranker, provider: Provider, clock: HandClock
) -> None:
    provider.failure = RerankerUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(31)
    provider.failure, provider.gate = None, threading.Event()
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(guard.rerank, "a", ["a"])
        while provider.asked < 4:
            threading.Event().wait(0.001)
        assert fail(guard, 3).machine_code == "reranker.paused"
        provider.gate.set()
        assert trial.result().tolist() == [1]
    assert provider.asked == 4


def test_an_unforeseen_error_is_passed_on_and_does_not_lock_the_guard(
    guard: GuardedReranker, provider: Provider, clock: HandClock
) -> None:
    provider.failure = RerankerUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(31)
    provider.failure = None
    with pytest.raises(AttributeError):
        guard.rerank("a", [3])  # type: ignore[list-item]
    assert guard.rerank("a", ["a"]).tolist() == [1]


def test_a_clock_that_is_set_back_does_not_prolong_the_pause(
    guard: GuardedReranker, provider: Provider, clock: HandClock
) -> None:
    provider.failure = RerankerUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(-3_600)
    assert fail(guard).machine_code == "reranker.unavailable"


@pytest.mark.parametrize("scores", [[1.0], [1.0, float("nan")], [[1.0, 2.0]], ["a", "b"]])
def test_an_answer_that_the_provider_did_not_check_is_checked(scores: list[object]) -> None:
    class Careless(StubReranker):
        def rerank(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
            return scores  # type: ignore[return-value]

    guard = GuardedReranker(Careless())
    with pytest.raises(RerankerUnavailable):
        guard.rerank("a", ["a", "b"])
    assert guard.state().failures == 1


@pytest.mark.parametrize(("failures", "pause"), [(0, 30.0), (3, 0.0)])
def test_useless_bounds_are_refused(failures: int, pause: float) -> None:
    with pytest.raises(ProviderMisconfigured):
        GuardedReranker(StubReranker(), failures=failures, pause_seconds=pause)
