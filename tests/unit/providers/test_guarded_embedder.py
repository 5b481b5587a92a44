"""The guard pauses a dead provider, lets one call try, and tells its state."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from memory.errors import EmbedderUnavailable
from memory.ports import Vectors
from memory.providers.guarded_embedder import GuardedEmbedder
from memory.providers.http_embedder import HttpEmbedder
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.stub_embedder import StubEmbedder
from memory.providers.unavailable import NoEmbedder

START = datetime(2026, 1, 1, tzinfo=UTC)


class HandClock:
    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        return self.time

    def pass_by(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class Provider(StubEmbedder):
    """A stub that fails while told to, and counts how often it was asked."""

    def __init__(self) -> None:
        self.failure: EmbedderUnavailable | None = None
        self.asked = 0
        self.gate: threading.Event | None = None

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.asked += 1
        if self.gate:
            self.gate.wait(10)
        if self.failure:
            raise self.failure
        return super().embed(texts)


class Server(HttpEmbedder):
    """A server that answers with vectors of three numbers until it is gone."""

    provider = "server"
    gone = False

    def _ask(self, batch: Sequence[str]) -> list[Any]:
        if self.gone:
            raise EmbedderUnavailable("The server is gone.")
        return [[1.0, 0.0, 0.0] for _ in batch]


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def guard(provider: Provider, clock: HandClock) -> GuardedEmbedder:
    return GuardedEmbedder(provider, clock=clock, failures=3, pause_seconds=30)


def fail(guard: GuardedEmbedder, times: int = 1) -> EmbedderUnavailable:
    for _ in range(times):
        with pytest.raises(EmbedderUnavailable) as caught:
            guard.embed(["a"])
    return caught.value


def test_a_sound_provider_is_passed_through(guard: GuardedEmbedder, provider: Provider) -> None:
    assert (guard.embed(["a", "b"]) == StubEmbedder().embed(["a", "b"])).all()
    assert (guard.provider, guard.model, guard.dimension, guard.inner) == ("stub", "characters-64", 64, provider)
    state = guard.state()
    assert (state.status, state.reason, state.last_success, state.failures) == ("ok", None, START, 0)


def test_after_the_third_failure_nobody_is_asked_during_the_pause(
    guard: GuardedEmbedder, provider: Provider, clock: HandClock
) -> None:
    provider.failure = EmbedderUnavailable("The provider is gone.")
    assert fail(guard, 3).machine_code == "embedder.unavailable"
    clock.pass_by(29)
    error = fail(guard, 5)
    assert error.machine_code == "embedder.paused"
    assert "The provider is gone." in error.message
    assert provider.asked == 3


def test_after_the_pause_one_failed_try_begins_the_next_pause(
    guard: GuardedEmbedder, provider: Provider, clock: HandClock
) -> None:
    provider.failure = EmbedderUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(30)
    assert fail(guard).machine_code == "embedder.unavailable"
    assert fail(guard).machine_code == "embedder.paused"
    assert provider.asked == 4


def test_after_the_pause_one_success_ends_it(guard: GuardedEmbedder, provider: Provider, clock: HandClock) -> None:
    provider.failure = EmbedderUnavailable("The provider is gone.")
    fail(guard, 3)
    failing = guard.state()
    assert (failing.status, failing.since, failing.failures) == ("failing", START, 3)
    assert failing.paused_until == START + timedelta(seconds=30)
    provider.failure = None
    clock.pass_by(31)
    assert guard.state().paused_until is None
    guard.embed(["a"])
    state = guard.state()
    assert (state.status, state.since, state.reason, state.failures) == ("ok", clock.now(), None, 0)
    assert state.last_success == clock.now()
    provider.failure = EmbedderUnavailable("Again.")
    assert fail(guard, 2).machine_code == "embedder.unavailable"


def test_only_one_caller_tries_while_the_others_are_refused_at_once(
    guard: GuardedEmbedder, provider: Provider, clock: HandClock
) -> None:
    provider.failure = EmbedderUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(31)
    provider.failure, provider.gate = None, threading.Event()
    with ThreadPoolExecutor(1) as pool:
        trial = pool.submit(guard.embed, ["a"])
        while provider.asked < 4:
            threading.Event().wait(0.001)
        assert fail(guard, 3).machine_code == "embedder.paused"
        provider.gate.set()
        assert trial.result().shape == (1, 64)
    assert provider.asked == 4


def test_a_trial_that_breaks_in_an_unforeseen_way_does_not_lock_the_guard(
    guard: GuardedEmbedder, provider: Provider, clock: HandClock
) -> None:
    provider.failure = EmbedderUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(31)
    provider.failure = None
    with pytest.raises(TypeError):
        guard.embed([3])  # type: ignore[list-item]
    assert guard.embed(["a"]).shape == (1, 64)


def test_refused_texts_show_in_the_state_but_pause_nobody(guard: GuardedEmbedder, provider: Provider) -> None:
    provider.failure = EmbedderUnavailable("This text is refused.", input_refused=True)
    fail(guard, 10)
    assert provider.asked == 10
    assert (guard.state().status, guard.state().reason) == ("failing", "This text is refused.")


def test_a_clock_that_is_set_back_does_not_prolong_the_pause(
    guard: GuardedEmbedder, provider: Provider, clock: HandClock
) -> None:
    provider.failure = EmbedderUnavailable("The provider is gone.")
    fail(guard, 3)
    clock.pass_by(-3_600)
    assert fail(guard).machine_code == "embedder.unavailable"


def test_the_width_is_asked_once_and_then_known_while_the_provider_is_down(clock: HandClock) -> None:
    provider = Provider()
    guard = GuardedEmbedder(provider, clock=clock)
    assert guard.dimension == 64
    provider.failure = EmbedderUnavailable("The provider is gone.")
    fail(guard, 3)
    assert guard.dimension == 64
    assert guard.embed([]).shape == (0, 64)


def test_an_answer_that_the_provider_did_not_check_is_checked(clock: HandClock) -> None:
    class Careless(StubEmbedder):
        def embed(self, texts: Sequence[str]) -> Vectors:
            return np.zeros((len(texts), 64), dtype=np.float32)

    guard = GuardedEmbedder(Careless(), clock=clock)
    assert "zero vector" in fail(guard).message
    assert guard.state().failures == 1


def test_no_embedder_stays_refused_with_its_reason(clock: HandClock) -> None:
    guard = GuardedEmbedder(NoEmbedder(), clock=clock)
    with pytest.raises(EmbedderUnavailable, match="by words alone"):
        _ = guard.dimension
    with pytest.raises(EmbedderUnavailable, match="by words alone"):
        guard.embed(["a"])


@pytest.mark.parametrize(("failures", "pause"), [(0, 30.0), (3, 0.0)])
def test_useless_bounds_are_refused(failures: int, pause: float) -> None:
    with pytest.raises(ProviderMisconfigured):
        GuardedEmbedder(StubEmbedder(), failures=failures, pause_seconds=pause)


def test_a_width_that_an_answer_told_is_known_during_a_pause(clock: HandClock) -> None:
    server = Server(base_url="http://127.0.0.1:1", model="m")
    guard = GuardedEmbedder(server, clock=clock)
    assert guard.known_dimension is None
    guard.embed(["a"])
    server.gone = True
    fail(guard, 3)
    assert fail(guard).machine_code == "embedder.paused"
    assert guard.known_dimension == 3


def test_the_width_of_an_embedder_that_cannot_load_is_not_known(clock: HandClock) -> None:
    guard = GuardedEmbedder(NoEmbedder(), clock=clock)
    assert guard.known_dimension is None
