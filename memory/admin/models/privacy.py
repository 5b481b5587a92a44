"""The audit, purges, and what was sent to providers."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import DateFieldListFilter, register
from django.utils.translation import gettext_lazy as _

from memory.admin.models import parts
from memory.admin.rows import Column, FreeAdmin, RowsAdmin
from memory.admin.site import site
from memory.models import AuditEvent, AuditSeal, OutboundRequest, Purge, RetiredAuditEvent, RetiredAuditSeal
from memory.palace.numbers import whole
from memory.palace.presenters import object_word

PRIVACY = _("Privacy")
EVENT = (
    parts.word(_("What"), "verb"),
    Column(_("Of"), lambda row, extras: object_word(row.object_kind)),
    parts.codes(_("By"), "actor"),
    parts.reason(),
    parts.number(_("How many"), "count"),
    parts.moment(_("When"), "created_at"),
)
SEAL = (
    parts.number(_("Number"), "number"),
    parts.number(_("Acts"), "acts"),
    parts.number(_("Reads"), "reads"),
    parts.moment(_("Sealed"), "sealed_at"),
)


@register(AuditEvent, site=site)
class AuditEventAdmin(RowsAdmin):
    """What was done."""

    area, label, labels = PRIVACY, _("act"), _("audit")
    meaning = _("Who did what, without content.")
    columns = EVENT
    ordering = ("-created_at", "-id")
    list_filter = (("created_at", DateFieldListFilter),)
    id_columns = ("pk", "object_id")
    search_help = _("An id of an act or of what it was done to.")
    read_as = "access_log"


@register(AuditSeal, site=site)
class AuditSealAdmin(RowsAdmin):
    """Links of the chain."""

    area, label, labels = PRIVACY, _("seal"), _("seals of the audit")
    meaning = _("The signed links of the audit's chain.")
    columns = SEAL
    ordering = ("-number", "-id")


@register(RetiredAuditEvent, site=site)
class RetiredAuditEventAdmin(FreeAdmin):
    """What was done to those who are gone."""

    area, label, labels = PRIVACY, _("act of one who is gone"), _("audit of those who are gone")
    meaning = _("What was done to owners who were purged, under pseudonyms.")
    columns = (parts.codes(_("Pseudonym"), "pseudonym"), *EVENT)
    ordering = ("-id",)
    list_filter = (("created_at", DateFieldListFilter),)
    id_columns = ("pk", "pseudonym", "object_id")
    search_help = _("An id of an act or its object, or a pseudonym.")


@register(RetiredAuditSeal, site=site)
class RetiredAuditSealAdmin(FreeAdmin):
    """Links of chains of those who are gone."""

    area, label, labels = PRIVACY, _("seal of one who is gone"), _("seals of those who are gone")
    meaning = _("The links of the chains of owners who were purged.")
    columns = (parts.codes(_("Pseudonym"), "pseudonym"), *SEAL)
    ordering = ("-id",)
    id_columns = ("pk", "pseudonym")


@register(OutboundRequest, site=site)
class OutboundRequestAdmin(RowsAdmin):
    """Requests to providers."""

    area, label, labels = PRIVACY, _("request to a provider"), _("requests to providers")
    meaning = _("What was sent to models on the owner's behalf, by size and digest.")
    columns = (
        parts.word(_("Kind"), "kind"),
        parts.word(_("For"), "component"),
        parts.codes(_("Host"), "host"),
        parts.number(_("Bytes"), "size"),
        parts.word(_("Outcome"), "outcome"),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-created_at", "-id")
    list_filter = (("created_at", DateFieldListFilter),)


@register(Purge, site=site)
class PurgeAdmin(FreeAdmin):
    """Purges."""

    area, label, labels = PRIVACY, _("purge"), _("purges")
    meaning = _("What was and is being erased for good, and its receipts.")
    columns = (
        parts.word(_("Of"), "subject"),
        parts.word(_("State"), "state"),
        parts.word(_("Stage"), "stage"),
        Column(_("Erased"), lambda row, extras: whole(sum(row.erased.values())), number=True),
        parts.codes(_("Owner"), "of_owner"),
        parts.codes(_("Pseudonym"), "pseudonym"),
        parts.moment(_("Asked for"), "requested_at"),
        parts.moment(_("Done"), "finished_at"),
    )
    ordering = ("-requested_at", "-id")
    list_filter = ("state", "subject", ("requested_at", DateFieldListFilter))
    id_columns = ("pk", "of_owner", "pseudonym")
    search_help = _("An id of a purge or an owner, or a pseudonym.")
    hidden_fields = frozenset({"token_digest", "samples", "proof", "target", "position"})

    def own_rows(self, rows: Any, user: Any, owner_id: Any) -> Any:
        """Give the purges of the own owner."""
        return rows.filter(of_owner=owner_id)
