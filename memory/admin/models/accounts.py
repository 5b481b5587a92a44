"""Owners, their logins and settings."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import register
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from memory.admin import columns
from memory.admin.models import parts
from memory.admin.rows import Column, FreeAdmin, RowsAdmin
from memory.admin.site import site
from memory.models import Owner, OwnerSettings, User

ACCOUNTS = _("Owners")


def _by_login(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    return rows.filter(username__istartswith=text)


def _by_owners_login(rows: QuerySet[Any], text: str) -> QuerySet[Any]:
    return rows.filter(user__username__istartswith=text)


@register(Owner, site=site)
class OwnerAdmin(FreeAdmin):
    """Owners."""

    area, label, labels = ACCOUNTS, _("owner"), _("owners")
    meaning = _("Whose memories there are; the page of logins makes and looks after them.")
    columns = (
        Column(_("Login"), lambda row, extras: row.user.username if row.user else columns.NOTHING),
        parts.codes(_("Owner"), "id"),
        parts.moment(_("Made"), "created_at"),
        parts.moment(_("Being erased since"), "purging_at"),
    )
    ordering = ("created_at", "id")
    list_select_related = ("user",)
    id_columns = ("pk", "user_id", "pseudonym")
    search = staticmethod(_by_owners_login)
    search_help = _("An id, a pseudonym, or the beginning of a login's name.")
    hidden_fields = frozenset()

    def own_rows(self, rows: Any, user: Any, owner_id: Any) -> Any:
        """Give the own owner."""
        return rows.filter(pk=owner_id)


@register(User, site=site)
class UserAdmin(FreeAdmin):
    """Logins."""

    area, label, labels = ACCOUNTS, _("login"), _("logins")
    meaning = _("Logins of people; the page of logins changes them.")
    columns = (
        Column(_("Name"), lambda row, extras: row.username),
        parts.flag(_("Staff"), "is_staff"),
        parts.flag(_("Looks after all"), "is_superuser"),
        parts.flag(_("May log in"), "is_active"),
        parts.moment(_("Last login"), "last_login"),
        parts.moment(_("Made"), "date_joined"),
    )
    ordering = ("date_joined", "id")
    list_filter = ("is_staff", "is_active")
    search = staticmethod(_by_login)
    search_help = _("An id, or the beginning of a name.")
    hidden_fields = frozenset({"password", "first_name", "last_name", "email"})

    def own_rows(self, rows: Any, user: Any, owner_id: Any) -> Any:
        """Give the own login."""
        return rows.filter(pk=user.pk)


@register(OwnerSettings, site=site)
class OwnerSettingsAdmin(RowsAdmin):
    """Choices of the owner."""

    area, label, labels = ACCOUNTS, _("choice"), _("choices of the owner")
    meaning = _("What the owner has chosen in the settings.")
    columns = (
        Column(_("Values"), lambda row, extras: columns.code(columns.shortened(columns.plain(row.values)))),
        parts.number(_("Version"), "version"),
        parts.moment(_("Changed"), "updated_at"),
    )
