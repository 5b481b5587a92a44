"""Communities: their sizes and names, what is in them, and what joins them."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import Query, Strict
from memory.api.serializers.fields import RawText
from memory.api.serializers.graph import BriefEntitySerializer, RelationSerializer
from memory.services.graph.communities import MOST_BRIDGES

WHOLE_HELP = "null for callers that may not read everything."


class CommunitySerializer(serializers.Serializer[Any]):
    """A community, as far as the caller may read it."""

    number = serializers.IntegerField(help_text="What filters name it by; it stays from one division to the next.")
    name = serializers.CharField(allow_null=True, help_text=f"What a person has called it; {WHOLE_HELP}")
    title = serializers.CharField(
        help_text="Its name, or the names of the entities most spoken of in it, or how its strongest memory begins."
    )
    entities = serializers.IntegerField()
    memories = serializers.IntegerField()
    foremost = BriefEntitySerializer(many=True, help_text="The entities most spoken of, at most five.")
    inner_weight = serializers.FloatField(allow_null=True, help_text=f"Of the edges within it; {WHOLE_HELP}")
    outer_weight = serializers.FloatField(allow_null=True, help_text=f"Of the edges out of it; {WHOLE_HELP}")


class DivisionSerializer(serializers.Serializer[Any]):
    """A division of the graph into communities."""

    modularity = serializers.FloatField(help_text="How much better than chance it is, -0.5 to 1.")
    communities = serializers.IntegerField()
    nodes = serializers.IntegerField(help_text="Entities and memories with an edge.")
    edges = serializers.IntegerField()


class LastDivisionSerializer(DivisionSerializer):
    """The last division."""

    computed_at = serializers.DateTimeField()


class NewDivisionSerializer(DivisionSerializer):
    """A division that was just made."""

    relabelled = serializers.IntegerField(help_text="Entities and memories that belong elsewhere now.")


class CommunityPageSerializer(serializers.Serializer[Any]):
    """A page of communities, the largest first."""

    items = CommunitySerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
    division = LastDivisionSerializer(allow_null=True, help_text=f"null before the first division, and {WHOLE_HELP}")


class CommunityNameSerializer(Strict):
    """What to call a community."""

    name = RawText(allow_null=True, help_text="At most 200 characters; null lets its entities name it again.")


class BridgeSerializer(serializers.Serializer[Any]):
    """What joins two communities."""

    first = serializers.IntegerField(help_text="The number of a community.")
    second = serializers.IntegerField()
    weight = serializers.FloatField(help_text="Of all relations between them.")
    count = serializers.IntegerField()
    relations = RelationSerializer(many=True, help_text="The heaviest, at most three.")


class BridgesSerializer(serializers.Serializer[Any]):
    """Pairs of communities, those that are joined most first."""

    items = BridgeSerializer(many=True)


class BridgeQuery(Query):
    """How many pairs to list."""

    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_BRIDGES,
        help_text="20 when left out.",
        error_messages={"invalid": "This has to be a whole number."},
    )
