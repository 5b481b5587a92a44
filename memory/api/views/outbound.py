"""`/outbound`: what left this machine for providers on the owner's behalf."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery
from memory.api.serializers.outbound import SentPageSerializer, SentSerializer
from memory.api.views.base import LociView
from memory.services.actors import Permission
from memory.services.outbound import list_outbound


class OutboundView(LociView):
    """The record of requests to providers."""

    needs_memory = False
    actions = {
        "GET": Action(
            id="list_outbound", permission=Permission.PRIVACY, query=PageQuery, answers={200: SentPageSerializer}
        )
    }

    def get(self, request: Request) -> Response:
        """List the newest 500 requests to embedders, language models and rerankers, newest first: a digest of each
        body, never its content.
        """
        rows, following = KeysetPagination().page(
            "outbound",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list(list_outbound(actor=self.actor, after=after, size=size)),
            position=lambda row: (row.at, row.id),
        )
        return Response({"items": SentSerializer(rows, many=True).data, "next": following})
