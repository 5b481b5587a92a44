"""`/memories/compress` and `/compressions`: older memories summed up and archived, and what undoes that."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery
from memory.api.serializers.compression import (
    CompressedSerializer,
    CompressionPageSerializer,
    CompressionRowSerializer,
    CompressSerializer,
    UndoneSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from memory.services.compression import CompressRequest, compress_memories, list_compressions, undo_compression


class CompressView(LociView):
    """Compressing."""

    actions = {
        "POST": Action(
            id="compress_memories",
            permission=Permission.DELETE,
            rate="write",
            body=CompressSerializer,
            answers={200: CompressedSerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Sum up older memories, scope by scope, and archive them. The key needs `memory:write` too. Each summary can
        be undone.
        """
        values = self.body()
        values["session_id"] = values.pop("session", None)
        found = compress_memories(actor=self.actor, request=CompressRequest(**values))
        return Response(CompressedSerializer(found).data)


class CompressionsView(LociView):
    """All compressions."""

    actions = {
        "GET": Action(
            id="list_compressions",
            permission=Permission.READ,
            query=PageQuery,
            answers={200: CompressionPageSerializer},
        )
    }

    def get(self, request: Request) -> Response:
        """List the summaries that archived memories were compressed into, the newest first."""
        rows, following = KeysetPagination().page(
            "compressions",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list_compressions(actor=self.actor, after=after, size=size),
            position=lambda one: (one[0].created_at, one[0].pk),
        )
        items = [
            {"id": row.pk, "text": row.text, "memory": row, "memories": count, "created_at": row.created_at}
            for row, count in rows
        ]
        return Response({"items": CompressionRowSerializer(items, many=True).data, "next": following})


class UndoCompressionView(LociView):
    """Undoing one compression."""

    actions = {
        "POST": Action(
            id="undo_compression", permission=Permission.DELETE, rate="write", answers={200: UndoneSerializer}
        )
    }

    @idempotent
    def post(self, request: Request, summary_id: str) -> Response:
        """Bring back all memories that a summary stands for, and archive it. The key needs `memory:write` too."""
        return Response(UndoneSerializer(undo_compression(actor=self.actor, summary_id=path_id(summary_id))).data)
