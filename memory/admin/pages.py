"""Pages and panels that apps add to the admin, in their `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from memory.services.actors import Actor


@dataclass(frozen=True, slots=True)
class AdminPage:
    """A page of the admin.

    Args:
        label: what the front page calls it.
        page: the name of its address.
        meaning: what it shows, in one sentence.
    """

    label: Any
    page: str
    meaning: Any


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of the front page: a few numbers about the owner that was chosen, and where there is more.

    Args:
        label: its heading.
        read: gives names and values; nothing that anybody has said.
        page: the name of the address that shows more.
        part: the name of an address whose answer stands below the numbers, asked for once the page is there.
    """

    label: Any
    read: Callable[[Actor], Sequence[tuple[Any, Any]]]
    page: str
    part: str = ""


_pages: Final[list[AdminPage]] = []
_panels: Final[list[Panel]] = []


def add_page(page: AdminPage) -> None:
    """Add a page after those that are there."""
    # By their addresses: labels are looked up in a catalogue when compared, and there is none before the apps are.
    if all(page.page != known.page for known in _pages):
        _pages.append(page)


def pages() -> tuple[AdminPage, ...]:
    """Give all pages in their order."""
    return tuple(_pages)


def add_panel(panel: Panel) -> None:
    """Add a part to the front page after those that are there."""
    if all(panel.page != known.page for known in _panels):
        _panels.append(panel)


def panels() -> tuple[Panel, ...]:
    """Give all parts of the front page in their order."""
    return tuple(_panels)
