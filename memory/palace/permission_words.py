"""What permissions and scopes allow, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.models import AgentGroup
from memory.services.actors import Permission
from memory.services.legible import UNREADABLE, legible

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


@dataclass(frozen=True, slots=True)
class Words:
    """A permission in one or two words, and what it allows."""

    name: StrOrPromise
    meaning: StrOrPromise


PERMISSIONS: Final[Mapping[str, Words]] = {
    Permission.READ: Words(lazy("read"), lazy("Recall and look at memories that it may see.")),
    Permission.WRITE: Words(lazy("write"), lazy("Store and correct memories, and report conversations.")),
    Permission.DELETE: Words(lazy("delete"), lazy("Archive memories and have them erased.")),
    Permission.SETTINGS: Words(lazy("settings"), lazy("Change your settings and budgets.")),
    Permission.TRANSFER: Words(lazy("export and import"), lazy("Take everything that it may read out, and put it in.")),
    Permission.AGENTS: Words(lazy("agents"), lazy("Make, pause and change agents, and give them keys like its own.")),
    Permission.REVIEW: Words(lazy("review"), lazy("Decide doubts in your place.")),
    Permission.PRIVACY: Words(lazy("privacy"), lazy("See who did what, hear of all changes, and purge.")),
    Permission.FILES_READ: Words(lazy("read files"), lazy("Read its files and those of all agents.")),
    Permission.FILES_WRITE: Words(lazy("write files"), lazy("Change its files; its own rules may stand in them.")),
    Permission.TELEMETRY_READ: Words(lazy("read telemetry"), lazy("See what your agents were asked and what it cost.")),
    Permission.TELEMETRY_WRITE: Words(lazy("write telemetry"), lazy("Report what it was asked.")),
}


def permission_name(scope: str) -> str:
    """Name a permission in a word or two."""
    return str(PERMISSIONS[scope].name) if scope in PERMISSIONS else scope


def group_name(group: AgentGroup) -> str:
    """Name a project or squad with its kind."""
    name = legible(group, "name") or _(UNREADABLE)
    return _("project %(name)s") % {"name": name} if group.kind == "project" else _("squad %(name)s") % {"name": name}


def scope_name(visibility: str, group: str | None) -> str:
    """Say who may read what goes to a scope."""
    if visibility == "owner":
        return _("all your agents")
    if visibility == "agent":
        return _("this agent only")
    return group or _("a group that is gone")
