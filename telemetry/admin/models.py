"""The pages of telemetry's models in the admin; importing it registers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from django.contrib.admin import DateFieldListFilter, register
from django.db.models import QuerySet
from django.utils.translation import gettext_lazy as _

from memory.admin import columns
from memory.admin.lists import AgentFilter, by_name, presence_filter
from memory.admin.models import parts
from memory.admin.row_actions import RowAction
from memory.admin.rows import Column, RowsAdmin, Shown, link, related
from memory.admin.site import site
from memory.palace.numbers import local
from memory.palace.presenters import label
from memory.palace.setting_words import LABELS
from telemetry.models import (
    Budget,
    ModelUsage,
    RecallExperiment,
    RecallFeedback,
    RecallObservation,
    RequestVector,
    Spoke,
    TelemetryState,
    TunerChange,
    TunerState,
    TurnEvent,
)
from telemetry.services.recalls.experiments import end_experiment
from telemetry.services.recalls.tuning import undo_tuner_change

TELEMETRY = _("Telemetry")


class _Rows(RowsAdmin):
    area = TELEMETRY


class _OfAgents(_Rows):
    list_filter: ClassVar[Any] = (AgentFilter,)

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the agents' names."""
        return {"agents": parts.agents_of(rows)}


@register(TurnEvent, site=site)
class TurnEventAdmin(_OfAgents):
    """What agents were asked."""

    label, labels = _("turn of an agent"), _("turns of agents")
    meaning = _("What agents were asked, which part of them took it, and how it ended.")
    columns = (
        parts.text(_("Request"), "request"),
        parts.AGENT,
        Column(_("Part"), lambda row, extras: link(Spoke, row.spoke_id, columns.masked_text(row.spoke, "name"))),
        parts.word(_("Outcome"), "outcome"),
        parts.word(_("Stream"), "stream"),
        parts.number(_("Milliseconds"), "duration_ms"),
        parts.moment(_("When"), "occurred_at"),
    )
    ordering = ("-occurred_at", "-id")
    list_select_related = ("spoke",)
    list_filter = ("stream", "outcome", AgentFilter, ("occurred_at", DateFieldListFilter))
    id_columns = ("pk", "agent_id", "spoke_id")
    search_help = _("An id of a turn, an agent or a part.")
    read_as = "turn_events"
    hidden_fields = frozenset({"owner", "event_key", "request_hash"})


@register(Spoke, site=site)
class SpokeAdmin(_Rows):
    """Parts of agents."""

    label, labels = _("part of an agent"), _("parts of agents")
    meaning = _("Parts of agents to which requests are handed.")
    columns = (parts.text(_("Name"), "name"), parts.flag(_("Stands for nothing fitted"), "is_fallback"))
    ordering = ("-id",)
    list_filter = ("is_fallback",)
    search = staticmethod(by_name)
    search_help = _("An id, or the whole name.")

    def describe(self, row: Spoke) -> Shown:
        """List the newest turns."""
        turns = TurnEvent.objects.filter(spoke_id=row.pk).order_by("-id")[:21]
        return Shown(
            [
                related(
                    _("Newest turns"),
                    (_("Request"), _("Outcome"), _("When")),
                    turns,
                    lambda one: (
                        link(TurnEvent, one.pk, columns.masked_text(one, "request")),
                        label(one.outcome),
                        columns.when(one.occurred_at),
                    ),
                )
            ]
        )


@register(RecallObservation, site=site)
class RecallObservationAdmin(_OfAgents):
    """Recalls, without their questions."""

    label, labels = _("recall"), _("recalls")
    meaning = _("How recalls went, without their questions.")
    columns = (
        parts.AGENT,
        parts.word(_("Sort"), "sort"),
        parts.word(_("Profile"), "profile"),
        parts.number(_("Hits"), "hits"),
        Column(_("Milliseconds"), lambda row, extras: local(f"{row.duration_us / 1000:.1f}"), number=True),
        parts.flag(_("By words only"), "fallback"),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-created_at", "-id")
    list_filter = (AgentFilter, "fallback", ("created_at", DateFieldListFilter))
    id_columns = ("pk", "agent_id", "experiment_id")
    search_help = _("An id of a recall, an agent or an experiment.")


@register(RecallFeedback, site=site)
class RecallFeedbackAdmin(_Rows):
    """Whether recalls helped."""

    label, labels = _("feedback"), _("feedback on recalls")
    meaning = _("Whether recalls, and single hits of them, helped.")
    columns = (
        parts.codes(_("Recall"), "recall_id"),
        parts.memory(_("Memory")),
        parts.number(_("Place"), "rank"),
        parts.flag(_("Helped"), "helpful"),
        parts.moment(_("When"), "created_at"),
    )
    ordering = ("-created_at", "-id")
    list_filter = ("helpful", ("created_at", DateFieldListFilter))
    id_columns = ("pk", "recall_id", "memory_id")
    search_help = _("An id of a recall or a memory.")

    def extras(self, rows: Sequence[Any]) -> Any:
        """Read the memories."""
        return parts.memories_of(row.memory_id for row in rows)


@register(RecallExperiment, site=site)
class RecallExperimentAdmin(_Rows):
    """Experiments: ended."""

    label, labels = _("experiment"), _("experiments")
    meaning = _("Two profiles of recall compared.")
    columns = (
        parts.text(_("Label"), "label"),
        parts.word(_("Control"), "control"),
        parts.word(_("Variant"), "variant"),
        parts.share(_("Share"), "share"),
        parts.moment(_("Began"), "started_at"),
        parts.moment(_("Ended"), "ended_at"),
    )
    ordering = ("-id",)
    list_filter = (presence_filter("ended_at", _("state"), there=_("ended"), missing=_("runs")),)
    row_actions = (
        RowAction(
            "end",
            _("End it"),
            lambda actor, one: end_experiment(actor=actor, experiment_id=one),
            fits=lambda row: row.ended_at is None,
        ),
    )


@register(TunerChange, site=site)
class TunerChangeAdmin(_Rows):
    """Changes of the tuner: taken back."""

    label, labels = _("change by the tuner"), _("changes by the tuner")
    meaning = _("What the tuner changed, and why.")
    columns = (
        Column(_("Setting"), lambda row, extras: str(LABELS.get(row.setting, row.setting))),
        parts.share(_("Before"), "before"),
        parts.share(_("After"), "after"),
        parts.share(_("NDCG"), "ndcg"),
        parts.number(_("Recalls"), "recalls"),
        parts.moment(_("When"), "created_at"),
        parts.moment(_("Undone"), "undone_at"),
    )
    ordering = ("-created_at", "-id")
    list_filter = (presence_filter("undone_at", _("state"), there=_("undone"), missing=_("stands")),)
    row_actions = (
        RowAction(
            "undo",
            _("Take it back"),
            lambda actor, one: undo_tuner_change(actor=actor, change_id=one),
            fits=lambda row: row.undone_at is None,
        ),
    )


@register(TunerState, site=site)
class TunerStateAdmin(_Rows):
    """Where the tuner stands."""

    label, labels = _("state of the tuner"), _("state of the tuner")
    meaning = _("Where the tuner stands with the owner.")
    columns = (
        parts.share(_("NDCG"), "ndcg"),
        parts.number(_("Recalls"), "recalls"),
        parts.share(_("Threshold"), "threshold"),
        parts.moment(_("Looked until"), "looked_until"),
    )


@register(TelemetryState, site=site)
class TelemetryStateAdmin(_Rows):
    """Switches of telemetry."""

    label, labels = _("state of telemetry"), _("state of telemetry")
    meaning = _("Whether test mode is on, and how many turns each stream holds.")
    columns = (
        parts.flag(_("Test mode"), "test_mode"),
        parts.number(_("Turns"), "live_events"),
        parts.number(_("Turns of tests"), "test_events"),
        parts.number(_("Version"), "version"),
    )


@register(RequestVector, site=site)
class RequestVectorAdmin(_Rows):
    """Vectors of requests, which never leave."""

    label, labels = _("vector of a request"), _("vectors of requests")
    meaning = _("That requests have vectors for the coverage report; the vectors are not shown.")
    columns = (parts.codes(_("Keyed hash"), "request_hash"), parts.number(_("Space"), "space_id"))
    ordering = ("-id",)
    hidden_fields = frozenset({"owner", "vec"})

    def get_queryset(self, request: Any) -> QuerySet[Any]:
        """Leave the vectors where they are."""
        return super().get_queryset(request).defer("vec")


@register(ModelUsage, site=site)
class ModelUsageAdmin(_OfAgents):
    """Calls of models."""

    label, labels = _("use of a model"), _("use of models")
    meaning = _("Calls of models by the hour, and what they cost.")
    columns = (
        parts.moment(_("Hour"), "hour"),
        parts.AGENT,
        parts.word(_("Kind"), "kind"),
        parts.word(_("For"), "component"),
        parts.codes(_("Model"), "model"),
        parts.number(_("Calls"), "calls"),
        parts.number(_("Failures"), "failures"),
        Column(_("Cost"), lambda row, extras: local(f"{row.cost:.4f} {row.currency}"), number=True),
    )
    ordering = ("-hour", "-id")
    list_filter = (AgentFilter, ("hour", DateFieldListFilter))
    id_columns = ("pk", "agent_id")
    search_help = _("An id of the row or of an agent.")


@register(Budget, site=site)
class BudgetAdmin(_OfAgents):
    """Budgets."""

    label, labels = _("budget"), _("budgets")
    meaning = _("How much models may cost.")
    columns = (
        parts.AGENT,
        parts.word(_("For a"), "period"),
        parts.number(_("Warn above"), "soft"),
        parts.number(_("Stop above"), "hard"),
        parts.moment(_("Changed"), "updated_at"),
    )
    ordering = ("-id",)
    list_filter = (AgentFilter, "period")
    id_columns = ("pk", "agent_id")
    search_help = _("An id of the budget or of an agent.")
