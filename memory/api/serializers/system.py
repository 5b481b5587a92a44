"""Counts, health, export and import."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import Query
from memory.api.serializers.fields import Word, WriteScope

EXPORT_FORMS = ("loci", "engram")


class Counts(serializers.DictField):
    """A count for each name."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(child=serializers.IntegerField(), **kwargs)


class StatsSerializer(serializers.Serializer[Any]):
    """Counts of the memories that the caller may read."""

    total = serializers.IntegerField()
    archived = serializers.IntegerField()
    by_tier = Counts()
    by_kind = Counts()
    by_category = Counts()
    by_source = Counts(help_text="The fifty most frequent sources and path prefixes.")
    sessions = serializers.IntegerField()
    vectors_pending = serializers.IntegerField()
    open_reviews = serializers.IntegerField(help_text="Review items that wait for a decision.")
    turns_since_consolidation = serializers.IntegerField(
        allow_null=True, help_text="Counted over all agents, and told to persons only."
    )


class CheckSerializer(serializers.Serializer[Any]):
    """One check."""

    name = serializers.CharField()
    status = serializers.CharField(help_text="ok, degraded or failing.")
    detail = serializers.CharField(allow_blank=True)


class HealthSerializer(serializers.Serializer[Any]):
    """How the installation is."""

    status = serializers.CharField(help_text="ok, degraded or failing.")
    checks = CheckSerializer(many=True)


class ExportQuery(Query):
    """In which form to export."""

    form = Word(EXPORT_FORMS, required=False, help_text="`loci` loses nothing and is taken when left out.")


class ExportSerializer(serializers.Serializer[Any]):
    """An export; it can be imported as it is."""

    format = serializers.CharField(required=False, help_text="In the form `loci` only.")
    exportedAt = serializers.DateTimeField()  # noqa: N815
    source = serializers.CharField()  # type: ignore[assignment]
    totalMemories = serializers.IntegerField()  # noqa: N815
    memories = serializers.ListField(child=serializers.DictField())
    entities = serializers.ListField(
        child=serializers.DictField(), required=False, help_text="In the form `loci` only."
    )
    relations = serializers.ListField(child=serializers.DictField(), required=False)
    events = serializers.ListField(child=serializers.DictField(), required=False)
    causes = serializers.ListField(child=serializers.DictField(), required=False)
    edges = serializers.ListField(child=serializers.DictField(), required=False)
    skills = serializers.ListField(child=serializers.DictField(), required=False)


class ImportQuery(Query):
    """Who may read what is imported."""

    scope = WriteScope()


class ImportDocumentSerializer(serializers.Serializer[Any]):
    """The document of an export, of this product or of Engram; other members are passed over."""

    format = serializers.CharField(required=False)
    memories = serializers.ListField(child=serializers.DictField())
    entities = serializers.ListField(child=serializers.DictField(), required=False)
    relations = serializers.ListField(child=serializers.DictField(), required=False)
    events = serializers.ListField(child=serializers.DictField(), required=False)
    causes = serializers.ListField(child=serializers.DictField(), required=False)
    edges = serializers.ListField(child=serializers.DictField(), required=False)
    skills = serializers.ListField(child=serializers.DictField(), required=False)


class ImportErrorSerializer(serializers.Serializer[Any]):
    """Why one item was refused."""

    part = serializers.CharField(help_text="`memories`, `skills`, or the part of the graph.")
    index = serializers.IntegerField()
    code = serializers.CharField()
    message = serializers.CharField()


class ImportedPartSerializer(serializers.Serializer[Any]):
    """What became of a part of the graph."""

    created = serializers.IntegerField()
    existing = serializers.IntegerField()
    skipped = serializers.IntegerField(help_text="Those that refer to what was not taken over.")


class ImportedSerializer(serializers.Serializer[Any]):
    """What became of an import."""

    created = serializers.IntegerField()
    existing = serializers.IntegerField()
    skipped = serializers.IntegerField(help_text="Superseded ones.")
    graph = serializers.DictField(child=ImportedPartSerializer(), help_text="By part; empty where there was no graph.")
    skills = serializers.DictField(
        child=serializers.IntegerField(),
        help_text="`created`, `existing`, and `skipped` without their memories; empty where there were none.",
    )
    errors = ImportErrorSerializer(many=True, help_text="The first 100 refused items.")  # type: ignore[assignment]
    further_errors = serializers.IntegerField(help_text="How many more were refused.")
