"""`/telemetry/pipeline-coverage` and `…/clusters/{key}`: the coverage report, and the requests behind it."""

from __future__ import annotations

from typing import Final

from django.http import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import Values
from memory.api.views.base import LociView
from memory.services.actors import Permission
from telemetry.api.csv_answers import CsvRenderer, CsvSchema, csv_answer, wants_csv
from telemetry.api.serializers.coverage import (
    ClusterEventsSerializer,
    ClusterQuery,
    ClusterSerializer,
    CoverageReportSerializer,
    ReportQuery,
)
from telemetry.services.coverage.reporting import ReportRequest, cluster_events, coverage_report

CURSOR: Final = "turn events of a cluster"
PLACE: Final = frozenset({"limit", "cursor", "format"})


class CoverageView(LociView):
    """The coverage report."""

    needs_memory = False
    renderer_classes = [JSONRenderer, CsvRenderer]
    schema = CsvSchema()
    actions = {
        "GET": Action(
            id="get_pipeline_coverage",
            permission=Permission.TELEMETRY_READ,
            query=ReportQuery,
            answers={200: CoverageReportSerializer},
            problems=(404,),
        )
    }

    def get(self, request: Request) -> HttpResponseBase:
        """Report how often nothing fitted, for which requests, and what that says about the next step. Requests whose
        vectors are still to be made are grouped by their spokes, and `pending` says so. `format=csv`, or an Accept
        header, gives the clusters as a table.
        """
        report = coverage_report(actor=self.actor, request=_wanted(self.query))
        if wants_csv(self):
            columns = list(ClusterSerializer().fields)
            rows = ClusterSerializer(report.clusters, many=True).data
            return csv_answer(columns, ([row[name] for name in columns] for row in rows), name="pipeline-coverage.csv")
        # The header may ask for a table and the query for none.
        return Response(CoverageReportSerializer(report).data, content_type=JSONRenderer.media_type)


class ClusterView(LociView):
    """The requests of one cluster."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="list_cluster_events",
            permission=Permission.TELEMETRY_READ,
            query=ClusterQuery,
            answers={200: ClusterEventsSerializer},
        )
    }

    def get(self, request: Request, cluster_key: str) -> Response:
        """List the turn events of a cluster of a report, newest first, with personal data covered. Ask for the same
        window as for the report; 404 `coverage.cluster_unknown` when turns came or went since and it is gone.
        """
        wanted = _wanted(self.query)
        rows, following = KeysetPagination().page(
            CURSOR,
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: cluster_events(
                actor=self.actor, request=wanted, key=cluster_key, after=after, size=size
            ),
            position=lambda row: (row.occurred_at, row.event_id),
        )
        return Response(ClusterEventsSerializer({"items": rows, "next": following}).data)


def _wanted(query: Values) -> ReportRequest:
    return ReportRequest(**{name: value for name, value in query.items() if name not in PLACE})
