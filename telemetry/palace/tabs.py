"""The pages of telemetry, as their tabs list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab: what it is called, the name of its page, and of further pages that belong to it.

    Args:
        label: what the tab is called.
        page: the name of the page's address.
        further: names of other pages that are reached from it.
    """

    label: str
    page: str
    further: frozenset[str] = frozenset()


TABS: Final[tuple[Tab, ...]] = (
    Tab("Coverage", "telemetry:coverage", frozenset({"telemetry:requests", "telemetry:test-mode"})),
    Tab(
        "Recall",
        "telemetry:recall",
        frozenset({"telemetry:explain-recall", "telemetry:feedback", "telemetry:start-experiment"}),
    ),
    Tab("Costs", "telemetry:costs", frozenset({"telemetry:save-budget"})),
    Tab("Health", "telemetry:health"),
)
