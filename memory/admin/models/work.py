"""Consolidation, what is in doubt, what waits, and what is kept of requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.admin import DateFieldListFilter, register
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext_lazy as _

from memory.admin import columns
from memory.admin.models import parts
from memory.admin.row_actions import RowAction
from memory.admin.rows import Column, FreeAdmin, RowsAdmin, Shown, related
from memory.admin.site import site
from memory.models import (
    ConsolidationLease,
    ConsolidationRun,
    DueWork,
    IdempotencyRecord,
    OwnerActivity,
    PendingVector,
    ProfileOverride,
    RecallRecord,
    ReviewEvidence,
    ReviewItem,
    ReviewState,
)
from memory.palace import consolidation_words as words
from memory.services.bringing_back import restore_whole_run
from memory.services.review_decisions import approve, reject, undo

WORK = _("Work")


@register(ConsolidationRun, site=site)
class ConsolidationRunAdmin(RowsAdmin):
    """Runs of consolidation."""

    area, label, labels = WORK, _("run of consolidation"), _("runs of consolidation")
    meaning = _("What each run of consolidation did.")
    columns = (
        parts.word(_("State"), "state"),
        parts.word(_("Begun by"), "trigger"),
        parts.word(_("Stage"), "stage"),
        parts.number(_("Rows"), "rows_seen"),
        parts.number(_("Left"), "backlog_rows"),
        parts.number(_("Model calls"), "llm_calls"),
        parts.codes(_("Error"), "error_code"),
        parts.moment(_("Began"), "started_at"),
    )
    ordering = ("-started_at", "-id")
    list_filter = ("state", "trigger", "risk_class", ("started_at", DateFieldListFilter))
    row_actions = (
        RowAction(
            "restore",
            _("Bring back what it archived"),
            lambda actor, one: restore_whole_run(actor=actor, run_id=one),
            fits=lambda row: row.finished_at is not None,
        ),
    )
    hidden_fields = frozenset({"owner", "stages"})

    def describe(self, row: ConsolidationRun) -> Shown:
        """List its stages."""
        return Shown(
            [
                related(
                    _("Stages"),
                    (_("Stage"), _("State"), _("Counts"), _("Skipped because")),
                    row.stages,
                    lambda one: (
                        words.stage(str(one.get("name"))),
                        str(words.STAGE_STATES.get(one.get("state"), one.get("state"))),
                        columns.code(columns.plain(one.get("counts"))),
                        columns.code(columns.plain(one.get("skipped_reason"))),
                    ),
                    most=50,
                )
            ]
        )


@register(ConsolidationLease, site=site)
class ConsolidationLeaseAdmin(RowsAdmin):
    """Which run works now."""

    area, label, labels = WORK, _("lease of consolidation"), _("lease of consolidation")
    meaning = _("Which run works for the owner now.")
    columns = (parts.codes(_("Run"), "run_id"), parts.moment(_("Last sign of life"), "heartbeat_at"))
    id_columns = ("owner_id", "run_id")
    hidden_fields = frozenset()


@register(ReviewItem, site=site)
class ReviewItemAdmin(RowsAdmin):
    """What is in doubt; the queue has a page of its own."""

    area, label, labels = WORK, _("doubt"), _("doubts, in every state")
    meaning = _("What is and was in doubt; the review page shows what waits.")
    columns = (
        parts.word(_("Kind"), "kind"),
        parts.word(_("State"), "state"),
        parts.reason(),
        parts.share(_("Confidence"), "confidence"),
        parts.moment(_("Since"), "created_at"),
        parts.moment(_("Decided"), "decided_at"),
    )
    ordering = ("-created_at", "-id")
    list_filter = ("kind", "state", ("created_at", DateFieldListFilter))
    id_columns = ("pk", "run_id")
    digest_column = "payload_hash"
    search_help = _("An id of a doubt or a run, or a content hash.")
    read_as = "review"
    # The page of the review shows them, masked by what they were drawn from.
    hidden_fields = frozenset({"owner", "payload", "outcome"})
    row_actions = (
        RowAction(
            "approve",
            _("Approve"),
            lambda actor, one: approve(actor=actor, item_id=one),
            fits=lambda row: row.state in (ReviewState.OPEN, ReviewState.SNOOZED),
        ),
        RowAction(
            "reject",
            _("Reject"),
            lambda actor, one: reject(actor=actor, item_id=one),
            fits=lambda row: row.state in (ReviewState.OPEN, ReviewState.SNOOZED),
        ),
        RowAction(
            "undo",
            _("Take the decision back"),
            lambda actor, one: undo(actor=actor, item_id=one),
            fits=lambda row: row.state != ReviewState.OPEN,
        ),
    )

    def describe(self, row: ReviewItem) -> Shown:
        """List its evidence."""
        read = list(ReviewEvidence.objects.filter(item_id=row.pk)[:21])
        memories = parts.memories_of(one.memory_id for one in read)
        return Shown(
            [
                related(
                    _("Evidence"),
                    (_("Memory"),),
                    read,
                    lambda one: (memories.get(one.memory_id, columns.NOTHING),),
                )
            ],
            [
                format_html(
                    '<a href="{}">{}</a>',
                    reverse("loci-admin:review-item", args=[row.pk]),
                    _("What is in doubt, beside what it was drawn from"),
                )
            ],
        )


class _OfMemory(parts.HoldsText):
    area = WORK
    id_columns: ClassVar[tuple[str, ...]] = ("pk", "memory_id")
    search_help = _("An id of the row or of its memory.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the memories."""
        return parts.memories_of(row.memory_id for row in rows)


@register(ReviewEvidence, site=site)
class ReviewEvidenceAdmin(_OfMemory):
    """Evidence of doubts."""

    label, labels = _("evidence of a doubt"), _("evidence of doubts")
    meaning = _("Which memories a doubt was drawn from.")
    columns = (parts.memory(_("Memory")), parts.codes(_("Doubt"), "item_id"))
    ordering = ("-id",)
    id_columns = ("pk", "memory_id", "item_id")


@register(PendingVector, site=site)
class PendingVectorAdmin(_OfMemory):
    """Memories that wait for a vector."""

    label, labels = _("waiting vector"), _("waiting vectors")
    meaning = _("Memories whose vector is still to be made.")
    columns = (
        parts.memory(_("Memory")),
        parts.number(_("Attempts"), "attempts"),
        parts.moment(_("Next try"), "next_at"),
        parts.moment(_("Since"), "created_at"),
    )
    ordering = ("-id",)


@register(OwnerActivity, site=site)
class OwnerActivityAdmin(RowsAdmin):
    """Counters of an owner."""

    area, label, labels = WORK, _("activity"), _("activity of the owner")
    meaning = _("When the owner's background work was last done.")
    columns = (
        parts.number(_("Turns since consolidation"), "turns_since_consolidation"),
        parts.moment(_("Consolidated"), "last_consolidated_at"),
        parts.moment(_("Slept"), "last_slept_at"),
        parts.moment(_("Forgot"), "last_forgotten_at"),
        parts.number(_("Errors in a row"), "consolidation_errors"),
    )


@register(RecallRecord, site=site)
class RecallRecordAdmin(RowsAdmin):
    """Explanations of recalls, which hold what was asked and are for their caller only."""

    area, label, labels = WORK, _("explanation of a recall"), _("explanations of recalls")
    meaning = _("That recalls were explained; what was asked is for the caller only.")
    columns = (
        parts.codes(_("Recall"), "id"),
        parts.codes(_("Caller"), "caller"),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-created_at", "-id")
    id_columns = ("pk", "caller")
    search_help = _("An id of a recall or of its caller.")
    hidden_fields = frozenset({"owner", "explanation"})


@register(IdempotencyRecord, site=site)
class IdempotencyRecordAdmin(RowsAdmin):
    """Answers kept for repeated requests, whose bodies are for their caller only."""

    area, label, labels = WORK, _("kept answer"), _("kept answers")
    meaning = _("Requests whose answer is kept for a repetition; the answer is for the caller only.")
    columns = (
        parts.codes(_("Caller"), "caller"),
        parts.number(_("Status"), "status"),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-created_at", "-id")
    id_columns = ("pk", "caller")
    hidden_fields = frozenset({"owner", "body", "key_digest", "request_digest"})


@register(ProfileOverride, site=site)
class ProfileOverrideAdmin(RowsAdmin):
    """Changed recall profiles."""

    area, label, labels = WORK, _("changed profile"), _("changed profiles")
    meaning = _("The owner's changes to recall profiles.")
    columns = (
        parts.word(_("Profile"), "profile"),
        parts.number(_("Version"), "version"),
        Column(_("Values"), lambda row, extras: columns.shortened(columns.plain(row.values))),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-id",)


@register(DueWork, site=site)
class DueWorkAdmin(FreeAdmin):
    """What waits for whom."""

    area, label, labels = WORK, _("due work"), _("due work")
    meaning = _("Which work waits for which owner; ids and times only.")
    columns = (
        parts.word(_("Work"), "job"),
        parts.codes(_("Owner"), "owner_id"),
        parts.moment(_("Due"), "due_at"),
    )
    ordering = ("due_at", "id")
    list_filter = (("due_at", DateFieldListFilter),)
    id_columns = ("owner_id",)
    search_help = _("The id of an owner.")
    hidden_fields = frozenset()

    def own_rows(self, rows: Any, user: Any, owner_id: Any) -> Any:
        """Give the work of the own owner."""
        return rows.filter(owner_id=owner_id)

    def value_of(self, row: Any, column: Any) -> Any:
        """Write an owner by the id alone."""
        return columns.code(str(row.owner_id)) if column.name == "owner" else super().value_of(row, column)
