"""`/export` and `/import`: all memories as one document."""

from __future__ import annotations

from dataclasses import asdict

from django.http import StreamingHttpResponse
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import MIB, Action
from memory.api.idempotency import idempotent
from memory.api.serializers.system import (
    ExportQuery,
    ExportSerializer,
    ImportDocumentSerializer,
    ImportedSerializer,
    ImportQuery,
)
from memory.api.views.base import LociView
from memory.errors import InvalidInput
from memory.file_answers import file_answer
from memory.services.actors import UNSET, Permission
from memory.services.clock import now
from memory.services.exporting import export_stream, file_name
from memory.services.importing import import_document


class ExportView(LociView):
    """Exports."""

    actions = {
        "GET": Action(
            id="export_memories", permission=Permission.TRANSFER, query=ExportQuery, answers={200: ExportSerializer}
        )
    }

    def get(self, request: Request) -> StreamingHttpResponse:
        """Export the memories and the graph that the caller may read, oldest first, as a file. It is written while it
        is read, so an export of any size needs little memory.
        """
        form = self.query.get("form", "loci")
        pieces = export_stream(actor=self.actor, form=form)
        return file_answer(request._request, pieces, name=file_name(now(), form=form), media_type="application/json")


class ImportView(LociView):
    """Imports."""

    actions = {
        "POST": Action(
            id="import_memories",
            permission=Permission.TRANSFER,
            rate="write",
            query=ImportQuery,
            body=ImportDocumentSerializer,
            most_bytes=32 * MIB,
            answers={200: ImportedSerializer},
            problems=(409, 413),
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Store the memories of an export, and the graph where it has one. What is here already counts as existing, so
        that importing twice adds nothing; a bad item is reported and the others are stored; when every item is bad the
        answer is 422 `batch.nothing_stored`.
        """
        imported = import_document(actor=self.actor, document=request.data, scope=self.query.get("scope", UNSET))
        taken = imported.created + imported.existing + imported.skipped + sum(imported.skills.values())
        if imported.errors and not taken + sum(sum(counts.values()) for counts in imported.graph.values()):
            raise InvalidInput(
                "Not one item could be used; `errors` says why.",
                code="batch.nothing_stored",
                errors=imported.errors,
                further_errors=imported.further_errors,
            )
        return Response(asdict(imported))
