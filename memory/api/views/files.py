"""`/files`: the files that agents are made of."""

from __future__ import annotations

from typing import Final

from django.http import HttpResponse
from rest_framework.permissions import SAFE_METHODS
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import MIB, Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.parsers import StrictJSONParser
from memory.api.preconditions import etag, expected_version, outdated_is_412, required_version
from memory.api.serializers.base import Values
from memory.api.serializers.files import (
    FileContentSerializer,
    FileHistorySerializer,
    FilePageSerializer,
    FileSerializer,
    FilesQuery,
    FileVersionSerializer,
    FormerContentSerializer,
    NewFileSerializer,
    ReadFileSerializer,
    RenameSerializer,
    RestoreFileSerializer,
)
from memory.api.text_bodies import MarkdownParser, MarkdownRenderer, PlainParser, PlainRenderer, TextSchema
from memory.api.views.base import LociView, path_id
from memory.errors import NotFound
from memory.models import AgentFile, MediaType
from memory.services.actors import UNSET, Permission
from memory.services.agent_files.reading import (
    file_history,
    former_content,
    list_files,
    read_file,
    stored_version,
)
from memory.services.agent_files.writing import create_file, delete_file, rename_file, restore_file, write_file

# A character may take six bytes of JSON.
MOST_BYTES: Final = 2 * MIB


class FilesView(LociView):
    """All files."""

    actions = {
        "GET": Action(
            id="list_files", permission=Permission.FILES_READ, query=FilesQuery, answers={200: FilePageSerializer}
        ),
        "POST": Action(
            id="create_file",
            permission=Permission.FILES_WRITE,
            rate="write",
            body=NewFileSerializer,
            most_bytes=MOST_BYTES,
            answers={201: FileSerializer},
            locates=True,
            problems=(409,),
        ),
    }

    def get(self, request: Request) -> Response:
        """List files without their content, newest first: an agent's own and those of all agents."""
        query = self.query
        rows, following = KeysetPagination().page(
            "files",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_files(
                actor=self.actor,
                scope=query.get("scope", UNSET),
                path=query.get("path"),
                deleted=query.get("deleted", False),
                after=after,
                size=size,
            ),
            position=lambda row: (row.created_at, row.pk),
        )
        return Response({"items": FileSerializer(rows, many=True).data, "next": following})

    @idempotent
    def post(self, request: Request) -> Response:
        """Create a file. Where there is one of this name it is left as it is, and the answer is 409 `file.taken`."""
        values = _renamed(self.body())
        row = create_file(actor=self.actor, scope=values.pop("scope", UNSET), **values)
        return _answer(row, status=201, headers={"Location": f"{request.path}/{row.pk}"})


class FileView(LociView):
    """One file."""

    parser_classes = [StrictJSONParser, MarkdownParser, PlainParser]
    schema = TextSchema()
    actions = {
        "GET": Action(
            id="get_file", permission=Permission.FILES_READ, answers={200: ReadFileSerializer}, versioned=True
        ),
        "PUT": Action(
            id="write_file",
            permission=Permission.FILES_WRITE,
            rate="write",
            body=FileContentSerializer,
            most_bytes=MOST_BYTES,
            answers={200: FileSerializer},
            versioned=True,
            problems=(428,),
        ),
        "PATCH": Action(
            id="rename_file",
            permission=Permission.FILES_WRITE,
            rate="write",
            body=RenameSerializer,
            answers={200: FileSerializer},
            versioned=True,
        ),
        "DELETE": Action(
            id="delete_file",
            permission=Permission.FILES_WRITE,
            rate="write",
            answers={200: FileSerializer},
            versioned=True,
        ),
    }

    def get_renderers(self) -> list[BaseRenderer]:
        """Let the text alone be asked for, where there is one to give."""
        further = [MarkdownRenderer(), PlainRenderer()] if self.request.method in (None, *SAFE_METHODS) else []
        return [JSONRenderer(), *further]

    def get(self, request: Request, file_id: str) -> HttpResponse | Response:
        """Give a file with its content: as JSON, or its text alone where text/markdown or text/plain is accepted."""
        row = read_file(actor=self.actor, file_id=path_id(file_id))
        wanted = request.accepted_renderer.media_type
        if wanted in MediaType.values:
            return HttpResponse(
                row.content, content_type=f"{wanted}; charset=utf-8", headers={"ETag": etag(row.version)}
            )
        return Response(ReadFileSerializer(row).data, headers={"ETag": etag(row.version)})

    @idempotent
    def put(self, request: Request, file_id: str) -> Response:
        """Replace what a file says, with JSON or with the text itself as the body. If-Match is needed: the version that
        the change was made from, or `*` for any. What the file said before stays in its history.
        """
        found, body = path_id(file_id), _renamed(self.body())
        asked = required_version(request, lambda: stored_version(actor=self.actor, file_id=found))
        with outdated_is_412(asked):
            row = write_file(actor=self.actor, file_id=found, expected_version=asked, **body)
        return _answer(row)

    @idempotent
    def patch(self, request: Request, file_id: str) -> Response:
        """Give a file another path. With If-Match it is refused when the file has another version by now."""
        found, body = path_id(file_id), self.body()
        asked = expected_version(request, lambda: stored_version(actor=self.actor, file_id=found))
        with outdated_is_412(asked):
            row = rename_file(actor=self.actor, file_id=found, expected_version=asked, **body)
        return _answer(row)

    @idempotent
    def delete(self, request: Request, file_id: str) -> Response:
        """Delete a file. For 90 days it can be restored with its history."""
        found = path_id(file_id)
        asked = expected_version(request, lambda: stored_version(actor=self.actor, file_id=found))
        with outdated_is_412(asked):
            row = delete_file(actor=self.actor, file_id=found, expected_version=asked)
        return _answer(row)


class FileHistoryView(LociView):
    """Versions of one file."""

    actions = {
        "GET": Action(id="get_file_history", permission=Permission.FILES_READ, answers={200: FileHistorySerializer}),
    }

    def get(self, request: Request, file_id: str) -> Response:
        """Give the versions of a file that are kept, newest first, without their contents."""
        rows = file_history(actor=self.actor, file_id=path_id(file_id))
        return Response({"items": FileVersionSerializer(rows, many=True).data})


class FormerFileView(LociView):
    """One version of one file."""

    actions = {
        "GET": Action(id="get_file_version", permission=Permission.FILES_READ, answers={200: FormerContentSerializer}),
    }

    def get(self, request: Request, file_id: str, number: str) -> Response:
        """Give what a file said at one of its versions."""
        if not (number.isascii() and number.isdecimal() and len(number) <= 9):
            raise NotFound("This version of the file is not kept.", code="file.version_unknown")
        content = former_content(actor=self.actor, file_id=path_id(file_id), number=int(number))
        return Response({"number": int(number), "content": content})


class RestoreFileView(LociView):
    """Bringing back."""

    actions = {
        "POST": Action(
            id="restore_file",
            permission=Permission.FILES_WRITE,
            rate="write",
            body=RestoreFileSerializer,
            answers={200: FileSerializer},
            versioned=True,
            problems=(409,),
        ),
    }

    @idempotent
    def post(self, request: Request, file_id: str) -> Response:
        """Bring a deleted file back, or what a file said at an earlier version, which becomes a new version."""
        found, body = path_id(file_id), self.body()
        asked = expected_version(request, lambda: stored_version(actor=self.actor, file_id=found))
        with outdated_is_412(asked):
            row = restore_file(actor=self.actor, file_id=found, expected_version=asked, **body)
        return _answer(row)


def _renamed(values: Values) -> Values:
    """Name the language model as the services do."""
    return {"language_model" if name == "model" else name: value for name, value in values.items()}


def _answer(row: AgentFile, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Show a file without its content, which a key that only writes may not read."""
    return Response(FileSerializer(row).data, status=status, headers={"ETag": etag(row.version), **(headers or {})})
