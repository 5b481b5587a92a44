"""The graph as a picture: what is around a seed."""

from __future__ import annotations

from typing import Any, Final

from rest_framework import serializers

from memory.api.serializers.base import Query
from memory.api.serializers.fields import Identifier, Moment, RawText, Word
from memory.services.graph_view.request import LAYERS, MOST_DEPTH, MOST_LINKS, MOST_NODES

WHOLE: Final[dict[str, Any]] = {"invalid": "This has to be a whole number."}


class GraphViewQuery(Query):
    """From where to look, and how far. At most one seed; without one it starts from the newest memories."""

    memory = Identifier(required=False, help_text="The memory to start from.")
    entity = Identifier(required=False, help_text="The entity to start from.")
    community = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=999_999_999,
        help_text="The community to start from.",
        error_messages=WHOLE,
    )
    q = RawText(required=False, help_text="Words to start from: memories that fit and entities that they name.")
    depth = serializers.IntegerField(
        required=False, min_value=1, max_value=MOST_DEPTH, help_text="Steps; 1 when left out.", error_messages=WHOLE
    )
    layer = Word(LAYERS, required=False, help_text="`both` when left out.")
    valid_at = Moment(required=False, help_text="What was true at this moment; relations of now when left out.")
    known_at = Moment(required=False, help_text="What was known at this moment; now when left out.")
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_NODES,
        help_text=f"Most things; {MOST_NODES:,} when left out.",
        error_messages=WHOLE,
    )


class ViewedThingSerializer(serializers.Serializer[Any]):
    """A memory or an entity of a view."""

    id = serializers.UUIDField()
    layer = serializers.SerializerMethodField(help_text="`memory` or `entity`.")
    kind = serializers.CharField(help_text="The kind of a memory, the type of an entity.")
    category = serializers.CharField(help_text="The category of a memory, the type of an entity.")
    community = serializers.IntegerField(allow_null=True)
    label = serializers.CharField(help_text="Its first words, personal data masked.")  # type: ignore[assignment]
    masked = serializers.BooleanField(help_text="Whether the words hide something.")
    importance = serializers.FloatField()
    confidence = serializers.FloatField()
    support = serializers.IntegerField(help_text="Statements of a memory, or mentions of an entity.")
    seed = serializers.BooleanField()
    inferred = serializers.BooleanField(help_text="Whether it was concluded and not said.")
    contested = serializers.BooleanField(help_text="Whether a person is asked about it or something contradicts it.")
    valid_from = serializers.DateTimeField(allow_null=True)
    valid_until = serializers.DateTimeField(allow_null=True)
    recorded_at = serializers.DateTimeField()
    retracted_at = serializers.DateTimeField(allow_null=True)
    more = serializers.IntegerField(help_text="Links that are not in the view.")
    x = serializers.FloatField()
    y = serializers.FloatField()

    def get_layer(self, row: Any) -> str:
        """Say which of the two it is."""
        return "memory" if row["is_memory"] else "entity"


class ViewedLinkSerializer(serializers.Serializer[Any]):
    """A link of a view; its ends are places in `things`, counted from 0."""

    source = serializers.IntegerField()  # type: ignore[assignment]
    target = serializers.IntegerField()
    kind = serializers.CharField(help_text="A kind of link between memories, `mentions`, or `relation`.")
    label = serializers.CharField(  # type: ignore[assignment]
        help_text="The words of a relation; empty for others.", allow_blank=True
    )
    weight = serializers.FloatField()
    confidence = serializers.FloatField()
    inferred = serializers.BooleanField()
    since = serializers.DateTimeField(allow_null=True, help_text="When a relation began to hold.")
    until = serializers.DateTimeField(allow_null=True, help_text="When it ended.")
    recorded = serializers.DateTimeField(allow_null=True, help_text="When it was noted.")


class GraphViewSerializer(serializers.Serializer[Any]):
    """What is around a seed."""

    start = serializers.ChoiceField(
        choices=["memory", "entity", "community", "words", "today", "newest", "nothing"],
        help_text="What it starts from.",
    )
    things = ViewedThingSerializer(many=True, help_text="What counts most first.")
    links = ViewedLinkSerializer(many=True, help_text=f"The strongest first, at most {MOST_LINKS:,}.")
    unseen = serializers.IntegerField(help_text="Things that the shown ones lead to and that are not in the view.")
    more_links = serializers.IntegerField(help_text="Links of the shown things that are not in the view.")
    true_since = serializers.DateTimeField(allow_null=True, help_text="The first moment of which anything is told.")
    known_since = serializers.DateTimeField(allow_null=True, help_text="The first moment at which anything was known.")
