"""The stopwatch of a recall: each stage's own time, summed up, and nothing outside."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memory.ports.tracing import Value, install_tracer
from memory.recall import stopwatch
from memory.recall.stopwatch import current_stage, part, stage, timed


@pytest.fixture(autouse=True)
def a_second_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every look at the clock find it a second later."""
    seconds = itertools.count()
    monkeypatch.setattr(stopwatch, "perf_counter", lambda: float(next(seconds)))


def test_stages_have_their_own_time_only() -> None:
    with timed() as watch:
        with stage("outer"):
            with stage("inner"):
                pass
            assert current_stage() == "outer"
        assert watch.seconds == 5
    # Of the three seconds from its beginning to its end, one was spent within.
    assert watch.stages == {"outer": 2, "inner": 1}


def test_a_stage_that_runs_twice_is_summed_up() -> None:
    with timed() as watch:
        for _ in range(2):
            with stage("open"):
                pass
    assert watch.stages == {"open": 2}


def test_a_stage_that_fails_is_timed_and_left() -> None:
    with timed() as watch:
        with pytest.raises(ValueError, match="wrong"), stage("open"):
            raise ValueError("wrong")
        assert current_stage() == ""
    assert set(watch.stages) == {"open"}


def test_outside_a_recall_nothing_is_kept() -> None:
    with stage("open"):
        assert current_stage() == ""


def test_arms_are_named_as_such() -> None:
    assert [part(name) for name in ("dense", "lexical", "graph", "time", "phrases")] == [
        "arm.dense",
        "arm.lexical",
        "arm.graph",
        "arm.time",
        "phrases",
    ]


def test_stages_are_spans() -> None:
    seen: list[str] = []

    @contextmanager
    def tracer(name: str, attributes: dict[str, Value]) -> Iterator[None]:
        seen.append(f"+{name}")
        yield
        seen.append(f"-{name}")

    install_tracer(tracer)
    try:
        with timed(), stage("search"), stage("arm.dense"):
            pass
    finally:
        install_tracer(None)
    inner = ["+recall.search", "+recall.arm.dense", "-recall.arm.dense", "-recall.search"]
    assert seen == ["+recall", *inner, "-recall"]
