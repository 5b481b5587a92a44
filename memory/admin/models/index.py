"""What memories are found by: embedding spaces, and the counts of words."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import register
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from memory.admin.models import parts
from memory.admin.rows import Column, FreeAdmin, RowsAdmin
from memory.admin.site import site
from memory.models import EmbeddingSpace, LexStats

INDEX = _("Search")


@register(EmbeddingSpace, site=site)
class EmbeddingSpaceAdmin(FreeAdmin):
    """Embedding spaces; each has a page of its own beside its row."""

    area, label, labels = INDEX, _("embedding space"), _("embedding spaces")
    meaning = _("The models whose vectors memories are found by.")
    columns = (
        Column(
            _("Model"),
            lambda row, extras: format_html(
                '<a href="{}">{}</a>', reverse("loci-admin:space", args=[row.pk]), row.model
            ),
        ),
        parts.word(_("Provider"), "provider"),
        parts.number(_("Width"), "dimension"),
        parts.word(_("State"), "state"),
        parts.moment(_("Opened"), "created_at"),
    )
    ordering = ("-id",)
    list_filter = ("state",)
    id_columns = ()
    search = None

    def own_rows(self, rows: Any, user: Any, owner_id: Any) -> Any:
        """Show all spaces: they name models and no person."""
        return rows


@register(LexStats, site=site)
class LexStatsAdmin(RowsAdmin):
    """Counts of the words."""

    area, label, labels = INDEX, _("count of words"), _("count of words")
    meaning = _("How many memories stand in the index of words, and how long they are.")
    columns = (parts.number(_("Memories"), "n"), parts.number(_("Words"), "total"))
    id_columns = ("owner_id",)
    hidden_fields = frozenset()
