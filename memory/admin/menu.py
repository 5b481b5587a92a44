"""The navigation of the admin: what apps add, the operations, and the models by area."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from django.contrib.admin import AdminSite
from django.http import HttpRequest
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from memory.admin.pages import AdminPage, pages

OVERVIEW: Final = (
    AdminPage(_("Dashboard"), "admin:index", _("How this installation is.")),
    AdminPage(_("Review"), "loci-admin:review", _("What is in doubt, of the owner that was chosen.")),
)
OPERATIONS: Final = (
    AdminPage(_("Owners and logins"), "loci-admin:logins", _("Make owners, let logins in and shut them out.")),
    AdminPage(_("Storage"), "loci-admin:storage", _("How many rows each owner has, and about how many bytes.")),
    AdminPage(_("Embedding spaces"), "loci-admin:spaces", _("The models by whose vectors memories are found.")),
    AdminPage(_("Consolidation"), "loci-admin:consolidation", _("How consolidation stands, and a run at once.")),
    AdminPage(_("Schedules and jobs"), "loci-admin:jobs", _("What runs when, what waits, and what has failed.")),
    AdminPage(_("Text keys"), "loci-admin:keys", _("The ages of an owner's text keys, and their rotation.")),
    AdminPage(_("Erase an owner"), "loci-admin:purge", _("Erase everything of an owner for good.")),
    AdminPage(_("Settings"), "loci-admin:settings", _("How this installation is set up; no secret is shown.")),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the navigation."""

    label: Any
    address: str
    current: bool
    meaning: Any


@dataclass(frozen=True, slots=True)
class Area:
    """A group of lines, open where the present page is among them."""

    label: Any
    pages: list[Entry]
    open: bool


def areas(request: HttpRequest, site: AdminSite) -> list[Area]:
    """Give the navigation as it is drawn on a page."""
    groups: dict[str, list[AdminPage]] = {
        str(_("Overview")): [*OVERVIEW, *pages()],
        str(_("Operations")): list(OPERATIONS),
    }
    for model, admin in site._registry.items():
        area = str(getattr(admin, "area", model._meta.app_label))
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        groups.setdefault(area, []).append(AdminPage(admin.labels, name, admin.meaning))  # type: ignore[attr-defined]
    return [_area(request, label, found) for label, found in groups.items()]


def _area(request: HttpRequest, label: str, found: list[AdminPage]) -> Area:
    entries = []
    for page in found:
        address = reverse(page.page)
        here = request.path == address or (address != reverse("admin:index") and request.path.startswith(address))
        entries.append(Entry(str(page.label)[:1].upper() + str(page.label)[1:], address, here, page.meaning))
    return Area(label, entries, any(entry.current for entry in entries))
