"""`/memories/purge`, `/memories/restore` and `/retention-policies`: forgetting on purpose, and its rules."""

from __future__ import annotations

from dataclasses import asdict

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.serializers.forgetting import (
    MOST_PURGED,
    BroughtBackSerializer,
    PoliciesSerializer,
    PurgedSerializer,
    PurgeSerializer,
    RestoreSerializer,
)
from memory.api.views.base import LociView
from memory.errors import InvalidInput
from memory.services.actors import Permission
from memory.services.bringing_back import restore_memories, restore_run
from memory.services.forgetting import PurgeRequest, purge
from memory.services.retention_policies import list_policies


class PurgeView(LociView):
    """Forgetting what has expired, what has faded, and whatever came from a source."""

    actions = {
        "POST": Action(
            id="purge_memories",
            permission=Permission.DELETE,
            rate="write",
            body=PurgeSerializer,
            answers={200: PurgedSerializer},
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Archive what the body names, or erase it for good where a person asks for that. With `dry_run` it is counted
        only.
        """
        found = purge(actor=self.actor, request=PurgeRequest(**self.body(), most=MOST_PURGED))
        return Response(PurgedSerializer(found).data)


class RestoreMemoriesView(LociView):
    """Bringing archived memories back together."""

    actions = {
        "POST": Action(
            id="restore_memories",
            permission=Permission.WRITE,
            rate="write",
            body=RestoreSerializer,
            answers={200: BroughtBackSerializer},
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Bring back some archived memories, or up to 500 of what one run of consolidation or purge has archived, the
        next ones `after` the last. One that cannot come back is listed and does not keep the others from it.
        """
        values = self.body()
        if ("run" in values) == ("ids" in values) or {"ids", "after"} <= set(values):
            raise InvalidInput("Name either `ids` or `run`, with which `after` goes.", code="restore.empty")
        if "run" in values:
            found = restore_run(actor=self.actor, run_id=values["run"], after=values.get("after"))
        else:
            found = restore_memories(actor=self.actor, memory_ids=values["ids"])
        return Response(asdict(found))


class PoliciesView(LociView):
    """The retention policies."""

    actions = {
        "GET": Action(id="list_retention_policies", permission=Permission.READ, answers={200: PoliciesSerializer})
    }

    def get(self, request: Request) -> Response:
        """Describe every retention policy with its numbers, and name the one that holds."""
        return Response(list_policies(actor=self.actor))
