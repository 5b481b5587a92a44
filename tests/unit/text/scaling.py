"""How the cost of a function grows with its input, for tests against hostile texts."""

from __future__ import annotations

import time
from collections.abc import Callable

SMALL = 16 * 1024
FACTOR = 16
# Below this a measurement says nothing; seconds of processor time.
FLOOR = 0.003
ATTEMPTS = 6


def assert_linear(function: Callable[[str], object], unit: str) -> None:
    """Fail when a text of 256 KiB of one repeated unit costs much more than 16 times one of 16 KiB.

    Quadratic cost would be 256 times as much, so a factor of four is left for noise; processor time is compared with
    processor time of the same run, never with a clock.
    """
    ratios = []
    for _ in range(ATTEMPTS):
        # Side by side, since a busy machine can be slower at one moment than a second before.
        before = _cost(function, unit, SMALL)
        large = _cost(function, unit, SMALL * FACTOR)
        small = max(before, _cost(function, unit, SMALL), FLOOR)
        ratios.append(large / small)
        if ratios[-1] < 4 * FACTOR:
            return
    raise AssertionError(f"{unit!r} repeated grows {ratios} times at {FACTOR} times the size")


def _cost(function: Callable[[str], object], unit: str, size: int) -> float:
    text = (unit * (size // len(unit) + 1))[:size]
    start = time.process_time()
    function(text)
    return time.process_time() - start
