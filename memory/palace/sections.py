"""The sections of the palace, which its navigation lists; apps add theirs in their `AppConfig.ready`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the palace and the pages that belong to it.

    Args:
        label: what the navigation calls it.
        page: the name of the address that the navigation leads to.
        namespace: a namespace of addresses that belong to it as a whole.
        group: the part of the navigation in which it stands, one of `GROUPS`.
        further: names of further addresses that belong to it.
    """

    label: str
    page: str
    namespace: str = ""
    group: str = "memories"
    further: frozenset[str] = frozenset()


GROUPS: Final = ("memories", "care", "agents", "yours")
"""The parts of the navigation: the memories, what looks after them, the agents, what is the person's own."""

_sections: Final[list[Section]] = [
    Section("Recall", "palace:recall"),
    Section("Remember", "palace:remember"),
    Section("Archive", "palace:archive", group="care"),
    Section("Privacy", "palace:privacy", group="yours"),
]


def add_section(section: Section) -> None:
    """Add a section after those that are there."""
    if section not in _sections:
        _sections.append(section)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Give the sections to every template, in their order; a context processor."""
    return {"sections": tuple(_sections)}
