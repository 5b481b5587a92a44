"""`/telemetry/experiments`: two recall profiles compared on an owner's agents."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from telemetry.api.serializers.recall_quality import (
    ExperimentDraftSerializer,
    ExperimentPageSerializer,
    ExperimentResultsSerializer,
    ExperimentSerializer,
)
from telemetry.services.recalls.experiment_results import experiment_results
from telemetry.services.recalls.experiments import ExperimentDraft, end_experiment, list_experiments, start_experiment


class ExperimentsView(LociView):
    """All experiments."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="list_experiments",
            permission=Permission.TELEMETRY_READ,
            query=PageQuery,
            answers={200: ExperimentPageSerializer},
        ),
        "POST": Action(
            id="start_experiment",
            permission=Permission.SETTINGS,
            rate="write",
            body=ExperimentDraftSerializer,
            answers={201: ExperimentSerializer},
            problems=(404, 409),
        ),
    }

    def get(self, request: Request) -> Response:
        """List experiments, newest first."""
        rows, following = KeysetPagination().page(
            "experiments",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list(list_experiments(actor=self.actor, after=after, size=size)),
            position=lambda row: (row.started_at, row.pk),
        )
        return Response({"items": ExperimentSerializer(rows, many=True).data, "next": following})

    @idempotent
    def post(self, request: Request) -> Response:
        """Begin to compare two profiles. Agents that name no profile are answered by one of them from now on; one
        experiment runs at a time.
        """
        made = start_experiment(actor=self.actor, draft=ExperimentDraft(**self.body()))
        return Response(ExperimentSerializer(made).data, status=201)


class ExperimentView(LociView):
    """One experiment."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="get_experiment", permission=Permission.TELEMETRY_READ, answers={200: ExperimentResultsSerializer}
        )
    }

    def get(self, request: Request, experiment_id: str) -> Response:
        """Give an experiment with its results so far, from the recalls of the last 30 days."""
        found = experiment_results(actor=self.actor, experiment_id=path_id(experiment_id))
        return Response(ExperimentResultsSerializer(found).data)


class EndExperimentView(LociView):
    """The end of an experiment."""

    needs_memory = False
    actions = {
        "POST": Action(
            id="end_experiment", permission=Permission.SETTINGS, rate="write", answers={200: ExperimentSerializer}
        )
    }

    @idempotent
    def post(self, request: Request, experiment_id: str) -> Response:
        """End an experiment: its agents are answered by the owner's own profile again. Its results stay."""
        found = end_experiment(actor=self.actor, experiment_id=path_id(experiment_id))
        return Response(ExperimentSerializer(found).data)
