"""`/consolidation`: how it stands, runs by hand and their reports, and extractions that failed."""

from __future__ import annotations

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery
from memory.api.serializers.consolidation import (
    ConsolidationSerializer,
    FailurePageSerializer,
    FailureSerializer,
    RunBodySerializer,
    RunPageSerializer,
    RunSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.models import ConsolidationRun
from memory.services.actors import Permission
from memory.services.consolidation.failures import list_failures, retry_failure
from memory.services.consolidation.runs import ask_for_run, consolidation_status, described, get_run, list_runs


class ConsolidationView(LociView):
    """Consolidation."""

    actions = {
        "GET": Action(id="get_consolidation", permission=Permission.READ, answers={200: ConsolidationSerializer})
    }

    def get(self, request: Request) -> Response:
        """Tell how consolidation stands: its settings, the backlog, the next run, the one at work and the last one."""
        return Response(ConsolidationSerializer(consolidation_status(actor=self.actor)).data)


class RunsView(LociView):
    """Runs of consolidation."""

    actions = {
        "GET": Action(
            id="list_consolidation_runs",
            permission=Permission.READ,
            query=PageQuery,
            answers={200: RunPageSerializer},
        )
    }

    def get(self, request: Request) -> Response:
        """List the runs of the last thirty days, the newest first."""
        rows, following = KeysetPagination().page(
            "consolidation-runs",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list_runs(actor=self.actor, after=after, size=size),
            position=lambda row: (row.started_at, row.pk),
        )
        full = self.actor.readable is None
        items = [RunSerializer(described(row, full=full)).data for row in rows]
        return Response({"items": items, "next": following})


class RunView(LociView):
    """One run of consolidation."""

    actions = {"GET": Action(id="get_consolidation_run", permission=Permission.READ, answers={200: RunSerializer})}

    def get(self, request: Request, run_id: str) -> Response:
        """Give one run, also while it works or waits."""
        return _answer(self, get_run(actor=self.actor, run_id=path_id(run_id)))


class AskView(LociView):
    """A run by hand."""

    actions = {
        "POST": Action(
            id="run_consolidation",
            permission=Permission.WRITE,
            rate="write",
            body=RunBodySerializer,
            answers={200: RunSerializer, 202: RunSerializer},
            locates=True,
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Ask for a run of all groups that are switched on, or of some: 202 while it waits for a worker, which does it
        also after a restart; 200 with its report when it was waited for. 409 `consolidation.disabled` where it is off.
        """
        run = ask_for_run(actor=self.actor, **self.body())
        response = _answer(self, run)
        response.status_code = 202 if run.finished_at is None else 200
        response["Location"] = reverse("api:consolidation-run", args=[run.pk])
        return response


class FailuresView(LociView):
    """Extractions that failed."""

    actions = {
        "GET": Action(
            id="list_extraction_failures",
            permission=Permission.READ,
            query=PageQuery,
            answers={200: FailurePageSerializer},
        )
    }

    def get(self, request: Request) -> Response:
        """List the memories from which nothing could be drawn yet, the newest failure first."""
        rows, following = KeysetPagination().page(
            "extraction-failures",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list_failures(actor=self.actor, after=after, size=size),
            position=lambda row: (row.failed_at, row.memory_id),
        )
        return Response({"items": FailureSerializer(rows, many=True).data, "next": following})


class RetryView(LociView):
    """Another attempt."""

    actions = {
        "POST": Action(
            id="retry_extraction", permission=Permission.WRITE, rate="write", answers={202: FailureSerializer}
        )
    }

    @idempotent
    def post(self, request: Request, memory_id: str) -> Response:
        """Let the next run draw from a memory once more, and call for it."""
        row = retry_failure(actor=self.actor, memory_id=path_id(memory_id))
        return Response(FailureSerializer(row).data, status=202)


def _answer(view: LociView, run: ConsolidationRun) -> Response:
    return Response(RunSerializer(described(run, full=view.actor.readable is None)).data)
