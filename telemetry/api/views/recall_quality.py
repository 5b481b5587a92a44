"""`/telemetry/recall`: how recalls go in use, the slow ones among them, and what the tuner has changed."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from telemetry.api.serializers.recall_quality import (
    ExplainedRecallSerializer,
    QualityQuery,
    RecallReportSerializer,
    SlowQuery,
    SlowRecallsSerializer,
    TunerChangePageSerializer,
    TunerChangeSerializer,
    TunerStatusSerializer,
)
from telemetry.services.recalls.explaining import explain_recall
from telemetry.services.recalls.report import SLOW, QualityRequest, RecallReport, recall_report, slow_recalls
from telemetry.services.recalls.tuning import list_tuner_changes, tuner_status, undo_tuner_change


def report_values(report: RecallReport) -> dict[str, Any]:
    """Give a report as plain values."""
    tables = {
        "profiles": [{"profile": name, "summary": found} for name, found in report.profiles.items()],
        "agents": [{"agent": agent, "summary": found} for agent, found in report.agents.items()],
    }
    shown = {name: getattr(report, name) for name in report.__dataclass_fields__}
    values = {**shown, **tables, "enabled": settings.TELEMETRY_ENABLED}
    return dict(RecallReportSerializer(values).data)


class RecallQualityView(LociView):
    """The report."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="report_recalls",
            permission=Permission.TELEMETRY_READ,
            query=QualityQuery,
            answers={200: RecallReportSerializer},
            problems=(404,),
        )
    }

    def get(self, request: Request) -> Response:
        """Report how recalls went: what they found and whether that helped, how long they took and where, whether
        their scores drift, and which profiles and agents they came from.
        """
        return Response(report_values(recall_report(actor=self.actor, request=QualityRequest(**self.query))))


class SlowRecallsView(LociView):
    """The slowest recalls."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="list_slow_recalls",
            permission=Permission.TELEMETRY_READ,
            query=SlowQuery,
            answers={200: SlowRecallsSerializer},
            problems=(404,),
        )
    }

    def get(self, request: Request) -> Response:
        """List the recalls that took longest, by stage and without their questions."""
        query = dict(self.query)
        top = query.pop("top", SLOW)
        found = slow_recalls(actor=self.actor, request=QualityRequest(**query), top=top)
        return Response(SlowRecallsSerializer({"items": found}).data)


class ExplainRecallView(LociView):
    """The plans of a recall."""

    actions = {
        "POST": Action(
            id="explain_recall",
            permission=Permission.TELEMETRY_READ,
            rate="recall",
            answers={200: ExplainedRecallSerializer},
        )
    }

    def post(self, request: Request, recall_id: str) -> Response:
        """Do a recall of the last seven days once more and give the database's plans for its statements, without the
        values of the question: for whoever made it, or a person.
        """
        found = explain_recall(actor=self.actor, recall_id=path_id(recall_id))
        return Response(ExplainedRecallSerializer(found).data)


class TunerChangesView(LociView):
    """What the tuner has changed."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="list_tuner_changes",
            permission=Permission.TELEMETRY_READ,
            query=PageQuery,
            answers={200: TunerChangePageSerializer},
        )
    }

    def get(self, request: Request) -> Response:
        """Tell where the tuner stands, and list what it has changed, newest first."""
        rows, following = KeysetPagination().page(
            "tuner_changes",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list(list_tuner_changes(actor=self.actor, after=after, size=size)),
            position=lambda row: (row.created_at, row.pk),
        )
        status = TunerStatusSerializer(tuner_status(actor=self.actor)).data
        return Response({"status": status, "items": TunerChangeSerializer(rows, many=True).data, "next": following})


class UndoTunerChangeView(LociView):
    """Undoing a change of the tuner."""

    needs_memory = False
    actions = {
        "POST": Action(
            id="undo_tuner_change",
            permission=Permission.SETTINGS,
            rate="write",
            answers={200: TunerChangeSerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request, change_id: str) -> Response:
        """Give the threshold back the value from before a change, unless it was changed since."""
        found = undo_tuner_change(actor=self.actor, change_id=path_id(change_id))
        return Response(TunerChangeSerializer(found).data)
