"""Columns that many lists have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django.utils.translation import gettext_lazy as _

from memory.admin import columns
from memory.admin.rows import Column, Related, RowsAdmin, link, related
from memory.models import Agent, Memory
from memory.palace.presenters import label
from memory.privacy.masking import masked_value
from memory.services.legible import UNREADABLE, legible

LIGHT = ("id", "owner_id", "visibility", "agent_id", "text", "speaker", "pii_kinds", "pii_tier")


def text(head: Any, field: str) -> Column:
    """Make a column of an encrypted text, masked."""
    return Column(head, lambda row, extras: columns.masked_text(row, field))


def word(head: Any, field: str) -> Column:
    """Make a column of a word of a vocabulary."""
    return Column(head, lambda row, extras: label(str(getattr(row, field) or columns.NOTHING)))


def reason() -> Column:
    """Make a column of why something was done: our words as words, codes as codes."""
    return Column(_("Why"), lambda row, extras: columns.reason(row.reason))


def moment(head: Any, field: str) -> Column:
    """Make a column of moments."""
    return Column(head, lambda row, extras: columns.when(getattr(row, field)))


def share(head: Any, field: str) -> Column:
    """Make a column of numbers from 0 to 1."""
    return Column(head, lambda row, extras: columns.share(getattr(row, field)), number=True)


def number(head: Any, field: str) -> Column:
    """Make a column of numbers."""
    return Column(head, lambda row, extras: columns.amount(getattr(row, field)), number=True)


def flag(head: Any, field: str) -> Column:
    """Make a column that says whether something is so."""
    return Column(head, lambda row, extras: columns.plain(bool(getattr(row, field))))


def codes(head: Any, field: str) -> Column:
    """Make a column of an id or a word for programs."""
    return Column(head, lambda row, extras: columns.code(columns.plain(getattr(row, field))))


def memory(head: Any, field: str = "memory_id") -> Column:
    """Make a column of memories, by what `memories_of` has read for the page."""
    return Column(head, lambda row, extras: extras.get(getattr(row, field), columns.NOTHING))


AGENT = Column(_("Agent"), lambda row, extras: extras["agents"].get(row.agent_id, columns.NOTHING))


def memory_link(row: Memory) -> Any:
    """Write the masked beginning of a memory as a link to its page."""
    return link(Memory, row.pk, columns.memory_text(row))


def memories_of(ids: Iterable[UUID | None]) -> dict[UUID | None, Any]:
    """Write links to memories, read in one statement."""
    wanted = {one for one in ids if one is not None}
    rows = Memory.objects.filter(pk__in=wanted).only(*LIGHT) if wanted else ()
    return {row.pk: memory_link(row) for row in rows}


def agents_of(rows: Sequence[Any]) -> dict[UUID, Any]:
    """Write links to the agents of rows, read in one statement."""
    wanted = {row.agent_id for row in rows if row.agent_id is not None}
    found = Agent.objects.filter(pk__in=wanted).only("id", "owner_id", "name") if wanted else ()
    names = {row.pk: masked_value(legible(row, "name") or str(_(UNREADABLE))) for row in found}
    return {pk: link(Agent, pk, columns.stored(name)) for pk, name in names.items()}


def memory_rows(title: Any, rows: Iterable[Memory]) -> Related:
    """List memories that hang on a row."""
    return related(
        title,
        (_("Text"), _("Status"), _("Stored")),
        rows,
        lambda row: (memory_link(row), label(row.status), columns.when(row.created_at)),
    )


class HoldsText(RowsAdmin):
    """Pages of rows that hold texts of a memory, which are masked as that memory is and stand in no list."""

    texts: ClassVar[frozenset[str]] = frozenset({"text"})

    def value_of(self, row: Any, column: Any) -> Any:
        """Write a text of the memory by what is known of the memory."""
        if column.name not in self.texts:
            return super().value_of(row, column)
        kinds = Memory.objects.filter(pk=row.memory_id).values_list("pii_kinds", flat=True).first()
        return columns.text_of(row, column.name, kinds or ())
