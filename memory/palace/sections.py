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
    """

    label: str
    page: str
    namespace: str = ""


_sections: Final[list[Section]] = [
    Section("Recall", "palace:recall"),
    Section("Remember", "palace:remember"),
    Section("Archive", "palace:archive"),
    Section("Privacy", "palace:privacy"),
]


def add_section(section: Section) -> None:
    """Add a section after those that are there."""
    if section not in _sections:
        _sections.append(section)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Give the sections to every template, in their order; a context processor."""
    return {"sections": tuple(_sections)}
