"""`/archive` and `/snapshots`: everything about an owner as a file, and what such a file brings back."""

from __future__ import annotations

from typing import Any, ClassVar

from django.http import StreamingHttpResponse
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import MIB, Action
from memory.api.file_bodies import OCTETS, ZIP, FileParser, ReceivedFile, ZipParser, passphrase_of, received_file
from memory.api.file_schema import FileSchema, OctetsRenderer, ZipRenderer
from memory.api.idempotency import idempotent
from memory.api.serializers.archive import (
    ArchiveImportedSerializer,
    ReceivedSerializer,
    SnapshotSerializer,
    TakeQuery,
)
from memory.api.views.base import LociView
from memory.file_answers import file_answer
from memory.services.actors import Permission
from memory.services.archive.exporting import archive_file_name, archive_stream
from memory.services.archive.importing import import_archive
from memory.services.archive.snapshot import restore_snapshot, snapshot_file_name, snapshot_stream
from memory.services.clock import now


class FileView(LociView):
    """An endpoint that takes a file as its body, or gives one.

    `takes` and `gives` are the media types; None where that is JSON.
    """

    takes: ClassVar[str | None] = None
    gives: ClassVar[str | None] = None
    asks_passphrase: ClassVar[bool] = False
    schema = FileSchema()
    received: ReceivedFile | None = None

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Close the file that came, so that it is gone."""
        if self.received is not None:
            self.received.file.close()
        return super().finalize_response(request, response, *args, **kwargs)

    def options_of_import(self) -> dict[str, Any]:
        """Give what the query says of how a file is taken over."""
        options = {name: value for name, value in self.query.items() if name != "settings"}
        return {**options, "settings": self.query.get("settings") == "true"}


class SubjectArchiveView(FileView):
    """Everything that is stored about an owner."""

    gives = ZIP
    renderer_classes = [JSONRenderer, ZipRenderer]
    actions = {"GET": Action(id="get_archive", permission=Permission.PRIVACY, answers={200: None})}

    def get(self, request: Request) -> StreamingHttpResponse:
        """Export everything that is stored about the owner, in clear: a signed zip file of JSON Lines. An agent gets
        what it may read. The archive shows one moment; it is written while it is read.
        """
        pieces = archive_stream(actor=self.actor)
        return file_answer(request._request, pieces, name=archive_file_name(now()), media_type=ZIP)


def _taking(action_id: str) -> Action:
    """Describe the taking over of a file that is the body."""
    return Action(
        id=action_id,
        permission=Permission.PRIVACY,
        rate="write",
        query=TakeQuery,
        body=ReceivedSerializer,
        most_bytes=32 * MIB,
        answers={200: ArchiveImportedSerializer},
    )


class ArchiveImportView(FileView):
    """Taking an archive over."""

    takes = OCTETS
    parser_classes = [FileParser, ZipParser]
    actions = {"POST": _taking("import_archive")}

    @idempotent
    def post(self, request: Request) -> Response:
        """Take over an archive of this or another installation, which is the body. All of it is checked first. A
        person's import keeps agents, groups and scopes, an agent's goes into one scope; what is here is left as it is.
        """
        found = import_archive(actor=self.actor, file=received_file(request), **self.options_of_import())
        return Response(ArchiveImportedSerializer(found).data)


class SnapshotsView(FileView):
    """Taking snapshots."""

    gives = OCTETS
    renderer_classes = [JSONRenderer, OctetsRenderer]
    actions = {
        "POST": Action(
            id="take_snapshot",
            permission=Permission.PRIVACY,
            rate="recall",
            body=SnapshotSerializer,
            answers={200: None},
        )
    }

    def post(self, request: Request) -> StreamingHttpResponse:
        """Give everything that is stored about the owner as one sealed file. It opens with the owner's key, or anywhere
        with a passphrase.
        """
        pieces = snapshot_stream(actor=self.actor, passphrase=self.body().get("passphrase"))
        return file_answer(request._request, pieces, name=snapshot_file_name(now()), media_type=OCTETS)


class RestoreSnapshotView(FileView):
    """Restoring a snapshot."""

    takes = OCTETS
    asks_passphrase = True
    parser_classes = [FileParser]
    actions = {"POST": _taking("restore_snapshot")}

    @idempotent
    def post(self, request: Request) -> Response:
        """Bring back what a snapshot, which is the body, holds and is not here. What was archived or erased since stays
        so unless `mode` is `all`.
        """
        found = restore_snapshot(
            actor=self.actor,
            file=received_file(request),
            passphrase=passphrase_of(request),
            **self.options_of_import(),
        )
        return Response(ArchiveImportedSerializer(found).data)
