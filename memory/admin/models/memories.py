"""Memories, their earlier versions and sources, conversations, and what is waiting for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.admin import DateFieldListFilter, register
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import pgettext_lazy

from memory.admin import columns
from memory.admin.access import actor_of
from memory.admin.lists import AgentFilter, by_label, by_words, presence_filter, uuid_in, word_filter
from memory.admin.models import parts
from memory.admin.owner_choice import require_same
from memory.admin.row_actions import RowAction
from memory.admin.rows import Column, Related, RowsAdmin, Shown, link, related
from memory.admin.site import site
from memory.errors import LociError
from memory.models import (
    Agent,
    EmbeddingSpace,
    Entity,
    EntityMention,
    ExtractionFailure,
    LexPosting,
    Memory,
    MemoryAccess,
    MemoryClaim,
    MemoryEdge,
    MemoryLabel,
    MemoryRead,
    MemorySource,
    MemoryVector,
    MemoryVersion,
    MentionedTime,
    Session,
    Status,
    TokenVectors,
)
from memory.palace.errors import problem_of
from memory.palace.presenters import CATEGORY_CHOICES, label
from memory.services.consolidation.failures import retry_failure
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from memory.services.revealing import ASKED, REASONS, reveal
from memory.services.sessions import close_session

MEMORIES = _("Memories")
GONE = (Status.ARCHIVED, Status.SUPERSEDED, Status.ERASING)


@register(Memory, site=site)
class MemoryAdmin(RowsAdmin):
    """Memories: masked, found by id, content hash and whole words, revealed one at a time and for a reason."""

    area, label, labels = MEMORIES, _("memory"), _("memories")
    meaning = _("Everything that is remembered: turns, facts, notes, summaries.")
    columns = (
        Column(_("Text"), lambda row, extras: columns.memory_text(row)),
        parts.word(_("Status"), "status"),
        parts.word(_("Tier"), "tier"),
        parts.word(_("Kind"), "kind"),
        parts.word(_("Category"), "category"),
        parts.word(_("Who reads it"), "visibility"),
        parts.AGENT,
        parts.share(_("Importance"), "importance"),
        parts.moment(_("Stored"), "created_at"),
    )
    ordering = ("-created_at", "-id")
    list_filter = (
        "status",
        "tier",
        "kind",
        word_filter("category", _("category"), CATEGORY_CHOICES),
        "visibility",
        AgentFilter,
        ("created_at", DateFieldListFilter),
    )
    id_columns = ("pk", "session_id", "agent_id")
    digest_column = "content_hash"
    search = staticmethod(by_words)
    search_help = _(
        "An id of a memory, conversation or agent, a content hash, or whole words of live memories, masked ones too. "
        "When you look at another owner, each search stands in that owner's access log."
    )
    read_as = "memory"
    row_actions = (
        RowAction(
            "archive",
            pgettext_lazy("act", "Archive"),
            lambda actor, one: archive_memory(actor=actor, memory_id=one),
            fits=lambda row: row.status == Status.LIVE,
        ),
        RowAction(
            "restore",
            _("Restore"),
            lambda actor, one: restore_memory(actor=actor, memory_id=one),
            fits=lambda row: row.status in GONE,
        ),
        RowAction(
            "forget",
            _("Forget"),
            lambda actor, one: delete_memory(actor=actor, memory_id=one),
            meant=_("They are erased for good in ten seconds, with what was drawn from nothing else."),
        ),
        RowAction(
            "retry",
            _("Extract again"),
            lambda actor, one: retry_failure(actor=actor, memory_id=one),
            fits=lambda row: row.extracted_at is None,
        ),
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        """Give the rows without the large columns that no list shows."""
        rows = super().get_queryset(request)
        if request.resolver_match and str(request.resolver_match.url_name).endswith("_changelist"):
            return rows.defer("metadata", "tags", "topics", "source", "speaker_hashes", "name_hashes")
        return rows

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the agents' names."""
        return {"agents": parts.agents_of(rows)}

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        """Show a memory; reveal its text when a person says why, which the audit keeps."""
        actor = actor_of(request)
        reasons: dict[str, Any] = {"reasons": REASONS if actor.staff_id else (), "revealable": True}
        if request.method != "POST" or request.POST.get("action") != "reveal":
            return super().change_view(request, object_id, form_url, reasons)
        require_same(request, actor)
        one = uuid_in(object_id)
        if one is None:
            raise self._unknown()
        status = 200
        try:
            row = reveal(actor=actor, memory_id=one, reason=request.POST.get("reason", "") if actor.staff_id else ASKED)
            reasons["revealed"] = {"speaker": row.speaker or "", "text": row.text}
        except LociError as error:
            problem = problem_of(error)
            reasons["refused"], status = problem.message, problem.status
        return self._page(request, actor, object_id, reasons, status)

    def describe(self, row: Memory) -> Shown:
        """List what hangs on a memory."""
        return Shown([one for one in _related(row) if one.lines])


def _related(row: Memory) -> Sequence[Related]:
    mine = {"memory_id": row.pk}
    mentions = list(EntityMention.objects.filter(**mine)[:21])
    entities = {one.pk: one for one in Entity.objects.filter(pk__in=[mention.entity_id for mention in mentions])}
    edges = list(MemoryEdge.objects.filter(source_id=row.pk).order_by("-weight", "pk")[:21])
    edges += list(MemoryEdge.objects.filter(target_id=row.pk).order_by("-weight", "pk")[: 21 - min(21, len(edges))])
    others = parts.memories_of({one for edge in edges for one in (edge.source_id, edge.target_id)})
    spaces = EmbeddingSpace.objects.in_bulk()
    vectors = MemoryVector.objects.filter(**mine).values_list("space_id", "live", "scope")
    return [
        related(
            _("Earlier versions"),
            (_("Number"), _("Why"), _("By"), _("When")),
            MemoryVersion.objects.filter(**mine).order_by("-number")[:21],
            lambda one: (
                link(MemoryVersion, one.pk, one.number),
                columns.reason(one.reason),
                one.actor,
                columns.when(one.created_at),
            ),
        ),
        related(
            _("Sources"),
            (_("Source"), _("Agent"), _("Turn"), _("When")),
            MemorySource.objects.filter(**mine).order_by("-created_at", "-pk")[:21],
            lambda one: (
                columns.masked_text(one, "source"),
                link(Agent, one.agent_id),
                link(Memory, one.turn_id),
                columns.when(one.created_at),
            ),
        ),
        related(
            _("Links to other memories"),
            (_("Kind"), _("From"), _("To"), _("Weight")),
            edges,
            lambda one: (
                link(MemoryEdge, one.pk, label(one.kind)),
                others.get(one.source_id),
                others.get(one.target_id),
                columns.share(one.weight),
            ),
        ),
        related(
            _("People and things in it"),
            (_("Name"), _("Type")),
            entities.values(),
            lambda one: (link(Entity, one.pk, columns.masked_text(one, "name")), label(one.type)),
        ),
        related(
            _("Vectors"),
            (_("Space"), _("Live")),
            vectors,
            lambda one: (link(EmbeddingSpace, one[0], spaces.get(one[0], one[0])), columns.plain(one[1])),
        ),
        related(
            _("Entries by which it is found"),
            (_("Sort"), _("How many")),
            [
                (_("keyed words"), LexPosting.objects.filter(**mine).count()),
                (_("keyed labels"), MemoryLabel.objects.filter(**mine).count()),
                (_("token vectors"), TokenVectors.objects.filter(**mine).count()),
                (_("claims"), MemoryClaim.objects.filter(**mine).count()),
                (_("times that it speaks of"), MentionedTime.objects.filter(**mine).count()),
            ],
            lambda one: (one[0], str(one[1])),
        ),
        related(
            _("Use and reads"),
            (_("By"), _("Times"), _("First"), _("Last")),
            [
                *(
                    (_("recalled"), one.access_count, None, one.last_accessed)
                    for one in MemoryAccess.objects.filter(**mine)
                ),
                *(
                    (str(one.reader), one.reads, one.first_at, one.last_at)
                    for one in MemoryRead.objects.filter(**mine).order_by("-last_at")[:20]
                ),
            ],
            lambda one: (one[0], str(one[1]), columns.when(one[2]), columns.when(one[3])),
        ),
        related(
            _("Failed extractions"),
            (_("Code"), _("Attempts"), _("Next try")),
            ExtractionFailure.objects.filter(**mine),
            lambda one: (columns.code(one.code), str(one.attempts), columns.when(one.next_at)),
        ),
    ]


class _OfMemory(parts.HoldsText):
    """Rows of memories, with the memory of each."""

    area = MEMORIES
    id_columns: ClassVar[tuple[str, ...]] = ("pk", "memory_id")
    search_help = _("An id of the row or of its memory.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the memories."""
        return parts.memories_of(row.memory_id for row in rows)


@register(MemoryVersion, site=site)
class MemoryVersionAdmin(_OfMemory):
    """What memories said before."""

    texts = frozenset({"text", "changes"})
    label, labels = _("earlier version"), _("earlier versions")
    meaning = _("What memories said before they were changed.")
    columns = (
        parts.memory(_("Memory")),
        parts.number(_("Number"), "number"),
        parts.reason(),
        parts.codes(_("By"), "actor"),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-id",)
    list_filter = (("created_at", DateFieldListFilter),)


@register(MemorySource, site=site)
class MemorySourceAdmin(_OfMemory):
    """Where memories come from."""

    texts = frozenset({"source"})
    label, labels = _("source"), _("sources")
    meaning = _("Every time that a memory was stated: by whom and from where.")
    columns = (
        parts.memory(_("Memory")),
        parts.text(_("Source"), "source"),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-id",)
    id_columns = ("pk", "memory_id", "turn_id", "agent_id")
    list_filter = (AgentFilter, ("created_at", DateFieldListFilter))


@register(MemoryLabel, site=site)
class MemoryLabelAdmin(_OfMemory):
    """Keyed hashes of labels."""

    label, labels = _("keyed label"), _("keyed labels")
    meaning = _("Keyed hashes of tags, topics, names and sources, by which memories are filtered.")
    columns = (
        parts.memory(_("Memory")),
        parts.word(_("Sort"), "kind"),
        parts.codes(_("Keyed hash"), "label"),
    )
    ordering = ("-id",)
    list_filter = ("kind",)


@register(Session, site=site)
class SessionAdmin(RowsAdmin):
    """Conversations."""

    area, label, labels = MEMORIES, _("conversation"), _("conversations")
    meaning = _("Conversations of agents, with their turns.")
    columns = (
        parts.text(_("Label"), "label"),
        parts.AGENT,
        parts.number(_("Turns"), "turn_count"),
        parts.moment(_("Began"), "started_at"),
        parts.moment(_("Last turn"), "last_turn_at"),
        parts.moment(_("Closed"), "closed_at"),
    )
    ordering = ("-id",)
    list_filter = (
        AgentFilter,
        presence_filter("closed_at", _("state"), there=_("closed"), missing=_("open")),
        ("started_at", DateFieldListFilter),
    )
    id_columns = ("pk", "agent_id")
    search = staticmethod(by_label)
    search_help = _("An id of a conversation or agent, or the whole label.")
    read_as = "session"
    row_actions = (
        RowAction(
            "close",
            _("Close"),
            lambda actor, one: close_session(actor=actor, session_id=one),
            fits=lambda row: row.closed_at is None,
        ),
    )

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the agents' names."""
        return {"agents": parts.agents_of(rows)}

    def describe(self, row: Session) -> Shown:
        """List the newest turns."""
        turns = Memory.objects.filter(session_id=row.pk).order_by("-position")[:21]
        return Shown([parts.memory_rows(_("Newest turns"), turns)])
