"""What is remembered of reports: once for all who ask, no more than so much, and nothing of who is forgotten."""

from __future__ import annotations

import threading
from dataclasses import replace
from uuid import uuid4

import pytest

from telemetry.services.coverage import cache
from telemetry.services.coverage.cache import Made, ReportCache

MADE = Made(version=1, space_id=None, degraded="", enabled=True)
ALICE, MALLORY = uuid4(), uuid4()


def take(found: ReportCache, name: str, *, owner: object = ALICE, made: Made = MADE, size: int = 1) -> object:
    return found.take(owner, name, made, lambda: (object(), size))  # type: ignore[arg-type]


def test_an_entry_is_made_once_while_its_events_are_the_same() -> None:
    found = ReportCache()
    first = take(found, "a")
    assert take(found, "a") is first
    assert take(found, "b") is not first
    assert take(found, "a", owner=MALLORY) is not first
    assert take(found, "a", made=replace(MADE, version=2)) is not first
    assert found.last(ALICE, "b") is None


def test_those_who_ask_at_the_same_time_get_one() -> None:
    found, together = ReportCache(), threading.Barrier(8)
    made, taken = [], []

    def make() -> tuple[object, int]:
        made.append(threading.get_ident())
        threading.Event().wait(0.2)
        return object(), 1

    def ask() -> None:
        together.wait()
        taken.append(found.take(ALICE, "a", MADE, make))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(taken), len(set(map(id, taken)))) == (1, 8, 1)
    assert found._flights == {}


def test_a_making_that_fails_keeps_nobody_waiting() -> None:
    found = ReportCache()
    with pytest.raises(ZeroDivisionError):
        found.take(ALICE, "a", MADE, lambda: (1 // 0, 1))
    assert take(found, "a") is not None


def test_what_was_not_used_for_longest_makes_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_BYTES", 10)
    found = ReportCache()
    first, second = take(found, "a", size=4), take(found, "b", size=4)
    assert take(found, "a") is first
    take(found, "c", owner=MALLORY, size=4)
    assert take(found, "a") is first
    assert take(found, "b", size=4) is not second
    huge = take(found, "d", size=100)
    assert take(found, "d") is huge
    assert found.last(ALICE, "a") is None


def test_what_is_being_made_of_a_forgotten_owner_is_not_kept() -> None:
    found = ReportCache()

    def make() -> tuple[str, int]:
        found.forget(ALICE)
        return "secret", 1

    assert found.take(ALICE, "a", MADE, make) == "secret"
    assert found.last(ALICE, "a") is None


def test_what_is_older_takes_no_place_of_what_is_newer() -> None:
    found, newer = ReportCache(), replace(MADE, version=2)

    def make() -> tuple[str, int]:
        take(found, "a", made=newer)
        return "older", 1

    kept = found.take(ALICE, "b", MADE, make)
    assert kept == "older"
    assert found.last(ALICE, "b") is None
    assert found.last(ALICE, "a") is not None
