"""Entities that are one or two: likely duplicates, merges, and changes of one entity."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import PageQuery, Strict
from memory.api.serializers.fields import Identifier, JsonObject, RawText, ReadScope, Unit, Word, Words
from memory.api.serializers.graph import TYPES, BriefEntitySerializer, ScopedSerializer


class EntityChangeSerializer(Strict):
    """New values of an entity's fields."""

    name = RawText(required=False, help_text="At most 200 characters; the former name stays as an alias.")
    type = Word(TYPES, required=False)
    properties = JsonObject(required=False, allow_null=True, help_text="Replace those that it had.")
    importance = Unit(required=False)


class OtherEntitySerializer(Strict):
    """The other of two entities."""

    other = Identifier(help_text="The id of the other entity.")


class DuplicateQuery(PageQuery):
    """Which entities to compare."""

    type = Words(TYPES, required=False)
    scope = ReadScope()


class DuplicateSerializer(serializers.Serializer[Any]):
    """Two entities that may be one."""

    first = BriefEntitySerializer()
    second = BriefEntitySerializer()
    score = serializers.FloatField(source="judgement.score")
    rule = serializers.CharField(source="judgement.rule", help_text="What makes them alike, a code.")
    verdict = serializers.CharField(source="judgement.verdict", help_text="`same` or `ask`.")


class DuplicatePageSerializer(serializers.Serializer[Any]):
    """The pairs that one page of entities belongs to, the likeliest first."""

    items = DuplicateSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class MergeQuery(PageQuery):
    """Which merges to list."""

    entity = Identifier(required=False, help_text="Those into this entity.")


class BriefMergeSerializer(serializers.Serializer[Any]):
    """A merge by its id alone."""

    id = serializers.UUIDField()
    kept_id = serializers.UUIDField(help_text="The entity that stayed.")
    merged_id = serializers.UUIDField(help_text="The entity that went; it is back under this id once this is undone.")
    rule = serializers.CharField(help_text="Why, a code; `by_hand` where somebody asked for it.")
    score = serializers.FloatField(allow_null=True)
    actor = serializers.CharField()
    merged_at = serializers.DateTimeField()
    undone_at = serializers.DateTimeField(allow_null=True)


class MergeSerializer(ScopedSerializer, BriefMergeSerializer):
    """A merge with both names."""

    kept_name = serializers.CharField(source="kept.name")
    merged_name = serializers.SerializerMethodField(help_text="Null once it is undone.")

    def get_merged_name(self, row: Any) -> str | None:
        """Give the name of the entity that went."""
        merged = row.record.get("merged")
        return merged["name"] if merged else None


class MergePageSerializer(serializers.Serializer[Any]):
    """A page of merges, the newest first."""

    items = MergeSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
