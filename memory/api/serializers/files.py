"""Files of agents."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.pagination import MAX_LIMIT
from memory.api.serializers.base import Query, Strict
from memory.api.serializers.fields import Flag, RawText, Whole, Word, WriteScope
from memory.models import AgentFile, FileChange, MediaType
from memory.services.agent_files.places import FORM, written_place


@extend_schema_field({"type": "string", "description": f"Whose files: {FORM}. Left out, an agent's own."})
class FileScope(WriteScope):
    """Whose a file is."""


class NewFileSerializer(Strict):
    """A file to create."""

    path = RawText(help_text="Names between slashes, such as IDENTITY.md; at most 200 characters.")
    content = RawText(required=False, help_text="At most 256 KiB; it may be empty.")
    scope = FileScope()
    media_type = Word(MediaType.values, required=False, help_text="By the name of the file when left out.")
    model = RawText(required=False, help_text="The language model that wrote it, where one did.")


class FileContentSerializer(Strict):
    """What a file says from now on."""

    content = RawText(help_text="At most 256 KiB; it may be empty.")
    media_type = Word(MediaType.values, required=False)
    model = RawText(required=False, help_text="The language model that wrote it, where one did.")


class RenameSerializer(Strict):
    """Another name."""

    path = RawText(help_text="Names between slashes; at most 200 characters.")


class RestoreFileSerializer(Strict):
    """What to bring back."""

    number = Whole(
        required=False, min_value=1, help_text="The version whose content comes back; left out, a deleted file itself."
    )


class FilesQuery(Query):
    """Which files."""

    scope = FileScope()
    path = RawText(required=False, help_text="Only files of this path.")
    deleted = Flag(required=False, help_text="Those that were deleted and can be brought back, instead.")
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        error_messages={"invalid": "This has to be a whole number."},
    )
    cursor = RawText(required=False, help_text="`next` of the page before.")


class FileSerializer(serializers.Serializer[Any]):
    """A file without its content."""

    id = serializers.UUIDField()
    path = serializers.CharField()
    scope = serializers.SerializerMethodField(help_text=f"Whose it is: {FORM}.")
    media_type = Word(MediaType.values)
    bytes = serializers.IntegerField(source="size")
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    deleted_at = serializers.DateTimeField(allow_null=True)
    changed_by = serializers.CharField(help_text="Who has changed it last: person, agent:<id> …")
    model = serializers.CharField(source="language_model", allow_null=True)
    injection_kinds = serializers.ListField(
        child=serializers.CharField(), help_text="Kinds of phrases in it that address a model."
    )

    def get_scope(self, file: AgentFile) -> str:
        """Write whose it is in the form that requests take."""
        return written_place(file)


class ReadFileSerializer(FileSerializer):
    """A file with its content."""

    content = serializers.CharField()


class FilePageSerializer(serializers.Serializer[Any]):
    """Files, newest first."""

    items = FileSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="Cursor of the next page, null on the last.")


class FileVersionSerializer(serializers.Serializer[Any]):
    """A version of a file without its content."""

    number = serializers.IntegerField()
    path = serializers.CharField()
    media_type = Word(MediaType.values)
    bytes = serializers.IntegerField(source="size")
    change = Word(FileChange.values)
    changed_by = serializers.CharField()
    model = serializers.CharField(source="language_model", allow_null=True)
    injection_kinds = serializers.ListField(child=serializers.CharField())
    made_at = serializers.DateTimeField()


class FileHistorySerializer(serializers.Serializer[Any]):
    """Versions of a file, newest first, the present one among them."""

    items = FileVersionSerializer(many=True)


class FormerContentSerializer(serializers.Serializer[Any]):
    """What a file said at one of its versions."""

    number = serializers.IntegerField()
    content = serializers.CharField()
