"""Facts as of a date."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import PageQuery
from memory.api.serializers.fields import Identifier, Moment, ReadScope, Word, Words
from memory.api.serializers.memories import MemorySerializer
from memory.services.facts import KINDS


class FactQuery(PageQuery):
    """Which facts to list."""

    as_of = Moment(required=False, help_text="What held at this moment; at `known_at`, or now, when left out.")
    known_at = Moment(required=False, help_text="What was believed at this moment; now when left out.")
    about = Identifier(required=False, help_text="Of memories that speak of this entity.")
    kind = Words(KINDS, required=False, help_text="May be repeated.")
    superseded = Word(("true", "false"), required=False, help_text="`true` lists what held at any time.")
    scope = ReadScope()


class FactSerializer(serializers.Serializer[Any]):
    """A statement as it was known."""

    memory = MemorySerializer()
    begins = serializers.DateTimeField(help_text="Since when it held: what it says itself, else when it was said.")
    superseded_by = serializers.ListField(
        child=serializers.UUIDField(), help_text="Statements that took its place, at most 20."
    )
    supersedes = serializers.ListField(
        child=serializers.UUIDField(), help_text="Statements whose place it took, at most 20."
    )


class FactPageSerializer(serializers.Serializer[Any]):
    """A page of facts, those first that began last."""

    items = FactSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
