"""`/access-log` and `/memories/{memory_id}/reads`: who has done and read what."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.pagination import KeysetPagination
from memory.api.serializers.access_log import (
    LoggedEventSerializer,
    LogPageSerializer,
    LogQuery,
    ReaderSerializer,
    ReadersSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from memory.services.audit.access_log import LogRequest, access_log, who_read


class AccessLogView(LociView):
    """The owner's audit."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="get_access_log", permission=Permission.PRIVACY, query=LogQuery, answers={200: LogPageSerializer}
        )
    }

    def get(self, request: Request) -> Response:
        """List what was done to the owner's memories, by whom and when, newest first: reads by agents, exports,
        erasures, logins and the rest. Events hold ids and counts, never content.
        """
        query = self.query
        wanted = LogRequest(
            verb=query.get("verb"),
            actor=query.get("actor"),
            object_kind=query.get("kind"),
            object_id=query.get("object"),
            since=query.get("since"),
            until=query.get("until"),
        )
        rows, following = KeysetPagination().page(
            "access-log",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: access_log(actor=self.actor, request=wanted, after=after, size=size),
            position=lambda row: (row.event.created_at, row.event.pk),
        )
        return Response({"items": LoggedEventSerializer(rows, many=True).data, "next": following})


class ReadsView(LociView):
    """Readers of one memory."""

    actions = {"GET": Action(id="get_memory_reads", permission=Permission.PRIVACY, answers={200: ReadersSerializer})}

    def get(self, request: Request, memory_id: str) -> Response:
        """Give who has read a memory, how often, first and last. Each agent counts, and so does the owner where
        something masked was revealed.
        """
        rows = who_read(actor=self.actor, memory_id=path_id(memory_id))
        return Response({"items": ReaderSerializer(rows, many=True).data})
