"""Pages that apps add to the front page of the admin, in their `AppConfig.ready`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class AdminPage:
    """A page of the admin.

    Args:
        label: what the front page calls it.
        page: the name of its address.
        meaning: what it shows, in one sentence.
    """

    label: str
    page: str
    meaning: str


_pages: Final[list[AdminPage]] = []


def add_page(page: AdminPage) -> None:
    """Add a page after those that are there."""
    if page not in _pages:
        _pages.append(page)


def pages() -> tuple[AdminPage, ...]:
    """Give all pages in their order."""
    return tuple(_pages)
