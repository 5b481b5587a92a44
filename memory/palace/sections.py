"""The sections of the palace, which its navigation lists; apps add theirs in their `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from memory.services.actors import Actor
from memory.services.reviews import count_waiting

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

WAITING: Final = _("waiting")


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the palace and the pages that belong to it.

    Args:
        label: what the navigation calls it.
        page: the name of the address that the navigation leads to.
        namespace: a namespace of addresses that belong to it as a whole.
        group: the part of the navigation in which it stands, one of `GROUPS`.
        further: names of further addresses that belong to it.
        count: counts what waits there for the person; it costs every page, so one statement at most.
        counted: what is said of the number to those who hear it.
    """

    label: StrOrPromise
    page: str
    namespace: str = ""
    group: str = "memories"
    further: frozenset[str] = frozenset()
    count: Callable[[Actor], int] | None = None
    counted: StrOrPromise = WAITING

    def holds(self, page: str, namespace: str) -> bool:
        """Tell whether a page belongs to this section."""
        return page == self.page or page in self.further or bool(namespace and namespace == self.namespace)


GROUPS: Final = ("memories", "care", "agents", "yours")
"""The parts of the navigation: the memories, what looks after them, the agents, what is the person's own."""

GROUP_LABELS: Final = {"memories": _("Memories"), "care": _("Care"), "agents": _("Agents"), "yours": _("Yours")}

_sections: Final[list[Section]] = [
    Section(_("Recall"), "palace:recall", further=frozenset({"palace:suggest"})),
    Section(_("Remember"), "palace:remember", further=frozenset({"palace:preview"})),
    Section(_("Conversations"), "palace:conversations", further=frozenset({"palace:conversation"})),
    Section(_("Graph"), "palace:graph", further=frozenset({"palace:communities", "palace:entity"})),
    Section(
        _("Review"),
        "palace:review",
        group="care",
        further=frozenset({"palace:review-batch", "palace:review-item", "palace:review-edit", "palace:review-reveal"}),
        count=lambda actor: count_waiting(actor=actor),
    ),
    Section(
        _("Consolidation"),
        "palace:consolidation",
        group="care",
        further=frozenset(
            {
                "palace:concluded",
                "palace:consolidation-settings",
                "palace:consolidation-runs",
                "palace:consolidation-run",
                "palace:extraction-failures",
            }
        ),
    ),
    Section(
        _("Files"),
        "palace:files",
        group="agents",
        further=frozenset({"palace:new-file", "palace:file", "palace:file-history"}),
    ),
    Section(_("What the agent sees"), "palace:sees", group="agents"),
    Section(
        _("Archive"),
        "palace:archive",
        group="care",
        further=frozenset({"palace:archive-many", "palace:growth", "palace:transfer"}),
    ),
    Section(
        _("Agents and keys"),
        "palace:agents",
        group="agents",
        further=frozenset({"palace:agent", "palace:agent-groups", "palace:agent-key", "palace:new-key"}),
    ),
    Section(_("Settings"), "palace:settings", group="yours", further=frozenset({"palace:change-settings"})),
    Section(
        _("Privacy"),
        "palace:privacy",
        group="yours",
        further=frozenset({"palace:access-log", "palace:outbound", "palace:snapshot", "palace:purge"}),
    ),
    Section(_("Your login"), "palace:account", group="yours", further=frozenset({"palace:password"})),
    Section(_("API docs"), "api:docs", group="yours"),
]


@dataclass(frozen=True, slots=True)
class Entry:
    """A section as the navigation shows it: `count` is None where nothing is counted."""

    label: str
    page: str
    address: str
    current: bool
    count: int | None
    counted: str


@dataclass(frozen=True, slots=True)
class Group:
    """A part of the navigation with its sections."""

    name: str
    label: str
    entries: tuple[Entry, ...]


def add_section(section: Section) -> None:
    """Add a section after those that are there."""
    # By their pages: a label is looked up in a catalogue when it is compared, and there is none before the apps are.
    if all(section.page != known.page for known in _sections):
        _sections.append(section)


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Give the sections to every template, in their groups; a context processor. Nothing is counted: this runs for
    pages of errors too, where the database may be what failed.
    """
    return _described(request, None)


def counted_navigation(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """Give the sections with what waits in each for a person."""
    return _described(request, actor)


def _described(request: HttpRequest, actor: Actor | None) -> dict[str, Any]:
    found = request.resolver_match
    page, namespace = (found.view_name, found.namespace) if found else ("", "")
    groups = []
    for name in GROUPS:
        entries = tuple(
            Entry(
                label=str(section.label),
                page=section.page,
                address=reverse(section.page),
                current=section.holds(page, namespace),
                count=section.count(actor) if section.count and actor else None,
                counted=str(section.counted),
            )
            for section in _sections
            if section.group == name
        )
        if entries:
            groups.append(Group(name, str(GROUP_LABELS[name]), entries))
    here = next((entry.label for group in groups for entry in group.entries if entry.current), "")
    return {"navigation": tuple(groups), "section_here": here}
