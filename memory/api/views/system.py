"""`/stats`, `/health`, and the answer for addresses that do not exist."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.serializers.system import HealthSerializer, StatsSerializer
from memory.api.views.base import LociView
from memory.errors import NotFound
from memory.services.actors import Permission
from memory.services.health import recent_health
from memory.services.stats import statistics


class StatsView(LociView):
    """Counts."""

    actions = {"GET": Action(id="get_stats", permission=Permission.READ, answers={200: StatsSerializer})}

    def get(self, request: Request) -> Response:
        """Count the memories that the caller may read."""
        return Response(statistics(actor=self.actor))


class HealthView(LociView):
    """Health."""

    needs_memory = False
    authentication_classes = ()
    actions = {"GET": Action(id="get_health", public=True, answers={200: HealthSerializer, 503: HealthSerializer})}

    def get(self, request: Request) -> Response:
        """Tell how the installation is. A degraded one answers 200, a failing one 503."""
        state = recent_health()
        return Response(state, status=503 if state["status"] == "failing" else 200)


class UnknownAddressView(LociView):
    """Every address under the prefix that is no endpoint."""

    needs_memory = False
    authentication_classes = ()
    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Answer 404 in the form of every other error, whatever the method."""
        raise NotFound("There is no such endpoint. See /api/v1/docs for those that there are.", code="route.unknown")
