"""The pages of telemetry, as their tabs list them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext_lazy as _

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class Tab:
    """A tab: what it is called, the name of its page, and of further pages that belong to it.

    Args:
        label: what the tab is called.
        page: the name of the page's address.
        further: names of other pages that are reached from it.
    """

    label: StrOrPromise
    page: str
    further: frozenset[str] = frozenset()


TABS: Final[tuple[Tab, ...]] = (
    Tab(_("Coverage"), "telemetry:coverage", frozenset({"telemetry:requests", "telemetry:test-mode"})),
    Tab(
        _("Recall"),
        "telemetry:recall",
        frozenset({"telemetry:explain-recall", "telemetry:feedback", "telemetry:start-experiment"}),
    ),
    Tab(_("Costs"), "telemetry:costs", frozenset({"telemetry:save-budget"})),
    Tab(_("Health"), "telemetry:health"),
)
