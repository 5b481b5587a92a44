"""Compressing older memories: what comes in, what goes out."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import Strict
from memory.api.serializers.fields import Identifier, RawText, ReadScope, Switch, Whole, Word
from memory.services.actors import written_scope
from memory.services.compression import COMPRESSIBLE, DEFAULT_DAYS, DEFAULT_LEAST, DEFAULT_MOST


class CompressSerializer(Strict):
    """Which memories to compress."""

    older_than_days = Whole(required=False, help_text=f"Those that happened so long ago; {DEFAULT_DAYS} when left out.")
    category = RawText(required=False)
    tier = Word(COMPRESSIBLE, required=False, help_text="Both when left out.")
    session = Identifier(required=False, help_text="The turns of one session only.")
    scope = ReadScope()
    least = Whole(
        required=False, help_text=f"A scope with fewer is left alone; 2 to 500, {DEFAULT_LEAST} when left out."
    )
    most = Whole(required=False, help_text=f"The oldest so many; 2 to 500, {DEFAULT_MOST} when left out.")
    dry_run = Switch(required=False, help_text="true only tells what would be done.")
    use_model = Switch(
        required=False, help_text="false keeps the language model out, which writes where the owner lets it."
    )


class CompressionSerializer(serializers.Serializer[Any]):
    """One summary and the memories that it stands for."""

    summary_id = serializers.UUIDField(allow_null=True, help_text="null in a dry run.")
    scope = serializers.SerializerMethodField()
    memory_ids = serializers.ListField(child=serializers.UUIDField())
    way = serializers.CharField(help_text="`llm`, or `rules` and where the model failed its code; blank in a dry run.")

    def get_scope(self, made: Any) -> str:
        """Write who may read it."""
        return written_scope(made.target.visibility, made.target.group_id)


class CompressedSerializer(serializers.Serializer[Any]):
    """What was compressed, or would be."""

    dry_run = serializers.BooleanField()
    made = CompressionSerializer(many=True, help_text="One for each scope.")
    left_alone = serializers.IntegerField(help_text="Memories of scopes that have too few.")


class CompressionRowSerializer(serializers.Serializer[Any]):
    """A summary that stands for archived memories."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    scope = serializers.SerializerMethodField()
    memories = serializers.IntegerField(help_text="How many can be brought back.")
    created_at = serializers.DateTimeField()

    def get_scope(self, row: Any) -> str:
        """Write who may read it."""
        return written_scope(row["memory"].visibility, row["memory"].group_id)


class CompressionPageSerializer(serializers.Serializer[Any]):
    """A page of compressions, the newest first."""

    items = CompressionRowSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class RefusedSerializer(serializers.Serializer[Any]):
    """A memory that stays in the archive, and why."""

    id = serializers.UUIDField()
    code = serializers.CharField()
    message = serializers.CharField()


class UndoneSerializer(serializers.Serializer[Any]):
    """What undoing did."""

    summary_id = serializers.UUIDField()
    restored = serializers.IntegerField()
    refused = RefusedSerializer(many=True)
