"""The graph: entities, relations, events, causes, and links of memories."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework import serializers

from memory.api.serializers.base import PageQuery, Query, Strict
from memory.api.serializers.fields import (
    Identifier,
    JsonObject,
    Labels,
    Line,
    Lines,
    Moment,
    RawText,
    ReadScope,
    Switch,
    Unit,
    Whole,
    Word,
    Words,
    WriteScope,
    parse_uuid,
)
from memory.graph.traversal import MOST_HOPS
from memory.models import EdgeKind, EntityType
from memory.services.actors import written_scope
from memory.services.graph.entities import MOST_ALIASES
from memory.services.graph.happenings import MOST_PARTICIPANTS
from memory.services.graph.reading import DEFAULT_LINES, MOST_LINES, MOST_NEIGHBOURS
from memory.services.graph.relations import DIRECTIONS
from memory.services.graph.writing import Reference

TYPES: Final = EntityType.values
SHOWN_CHARACTERS: Final = 280
REFERENCE_HELP: Final = "The id of an entity, or its name or an alias."
DEGRADED_HELP: Final = "Why PostgreSQL answered, where Neo4j is chosen to: `projection.behind` …. Nothing is missing."
CUT_HELP: Final = "Cut to 500 characters."
MEMORY_HELP: Final = (
    "The memory that says so. What is written is read by those who may read it, unless `scope` is named."
)


def degraded_reads() -> serializers.ListField:
    """Declare the field that says why not the chosen store has answered."""
    return serializers.ListField(child=serializers.CharField(), help_text=DEGRADED_HELP)


def reference_of(text: str, type_: str | None = None) -> Reference:
    """Read the id or the name of an entity."""
    found = parse_uuid(text)
    return Reference(entity_id=found) if found else Reference(name=text, type=type_)


class EntityBodySerializer(Strict):
    """An entity to merge in."""

    name = RawText(help_text="At most 200 characters.")
    type = Word(TYPES, required=False, help_text="`concept` when left out.")
    aliases = Labels(required=False, help_text=f"Further names, at most {MOST_ALIASES}.")
    properties = JsonObject(required=False, allow_null=True, help_text="Further facts, at most 16 KiB.")
    importance = Unit(required=False, help_text="0.5 when left out; the highest that was ever given counts.")
    seen_at = Moment(required=False, help_text="When it was spoken of; now when left out.")
    memory = Identifier(required=False, help_text="The memory that speaks of it.")
    scope = WriteScope()


class AliasSerializer(Strict):
    """Another name of an entity."""

    alias = RawText()


class RelationBodySerializer(Strict):
    """A relation to state."""

    source = RawText(help_text=REFERENCE_HELP)  # type: ignore[assignment]
    source_type = Word(TYPES, required=False, help_text="Where several types bear the name.")
    label = RawText(help_text="How it stands to the other, for example `lives_in`; any words will do.")  # type: ignore[assignment]
    target = RawText(help_text=REFERENCE_HELP)
    target_type = Word(TYPES, required=False)
    weight = Unit(required=False, help_text="0.5 when left out.")
    confidence = Unit(required=False, help_text="1 when left out.")
    valid_from = Moment(required=False, help_text="Since when it holds; when the memory happened, or now.")
    valid_until = Moment(required=False, help_text="When it ended.")
    evidence = RawText(required=False, help_text=f"The words that say so. {CUT_HELP}")
    supersede = Switch(
        required=False, help_text="Whether other targets of this label end; as the label demands when left out."
    )
    memory = Identifier(required=False, help_text=MEMORY_HELP)
    scope = WriteScope()


class EndSerializer(Strict):
    """When a relation ended."""

    valid_until = Moment(required=False, help_text="Now when left out.")


class EventBodySerializer(Strict):
    """An event to add."""

    text = RawText(help_text=CUT_HELP)
    occurred_at = Moment()
    participants = serializers.ListField(
        child=RawText(), required=False, max_length=MOST_PARTICIPANTS, help_text="Ids or names of entities."
    )
    memory = Identifier(required=False, help_text=MEMORY_HELP)
    scope = WriteScope()


class CauseBodySerializer(Strict):
    """A cause and its effect."""

    cause = RawText(help_text=CUT_HELP)
    effect = RawText(help_text=CUT_HELP)
    cause_entity = RawText(required=False, help_text=REFERENCE_HELP)
    effect_entity = RawText(required=False, help_text=REFERENCE_HELP)
    confidence = Unit(required=False, help_text="1 when left out.")
    memory = Identifier(required=False, help_text=MEMORY_HELP)
    scope = WriteScope()


class QuestionSerializer(Strict):
    """A question to the graph."""

    question = RawText(help_text="At most 500 words.")
    limit = Whole(
        required=False,
        min_value=1,
        max_value=MOST_LINES,
        help_text=f"Most relations, {DEFAULT_LINES} when left out.",
    )


class EdgeBodySerializer(Strict):
    """A link from one memory to another."""

    target = Identifier()
    kind = RawText(
        required=False,
        help_text=f"One of {', '.join(EdgeKind.values)} (`related_to` when left out), or another system's name for it.",
    )
    weight = Unit(required=False, help_text="0.7 when left out.")
    relationship = RawText(required=False, help_text=f"How they belong together, in words. {CUT_HELP}")
    insight = Identifier(required=False, help_text="The memory with the insight that it has led to.")


class EntityQuery(PageQuery):
    """Which entities to list."""

    q = RawText(required=False, help_text="Words of the name or of an alias, or their beginnings; all have to fit.")
    name = Line(required=False, help_text="A whole name or alias, whatever its case and diacritics.")
    type = Words(TYPES, required=False)
    scope = ReadScope()


class RelationQuery(PageQuery):
    """Which relations of an entity to list."""

    label = Line(required=False)  # type: ignore[assignment]
    direction = Word(DIRECTIONS, required=False, help_text="`both` when left out.")
    superseded = Word(("true", "false"), required=False, help_text="`true` lists those that have ended too.")
    valid_at = Moment(required=False, help_text="Those that held at this moment; now when left out.")
    known_at = Moment(required=False, help_text="What was believed at this moment.")


class NeighbourQuery(Query):
    """How far to walk, and over what."""

    hops = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_HOPS,
        help_text="1 when left out.",
        error_messages={"invalid": "This has to be a whole number."},
    )
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_NEIGHBOURS,
        help_text="Most entities, 50 when left out.",
        error_messages={"invalid": "This has to be a whole number."},
    )
    label = Lines(required=False, help_text="Follow these labels only.")  # type: ignore[assignment]
    valid_at = Moment(required=False, help_text="Relations that held at this moment; now when left out.")
    known_at = Moment(required=False, help_text="What was believed at this moment.")


class EventQuery(PageQuery):
    """Which events to list."""

    entity = Identifier(required=False, help_text="Those in which it took part.")
    occurred_from = Moment(required=False)
    occurred_until = Moment(required=False, help_text="Before this moment.")


class CauseQuery(PageQuery):
    """Which causes to list."""

    entity = Identifier(required=False, help_text="Those that are about it, on either side.")


class BriefEntitySerializer(serializers.Serializer[Any]):
    """An entity as another row names it."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    type = serializers.CharField()


class ScopedSerializer(serializers.Serializer[Any]):
    """Base of rows that say who may read them."""

    scope = serializers.SerializerMethodField()

    def get_scope(self, row: Any) -> str:
        """Write who may read the row."""
        return written_scope(row.visibility, row.group_id)


class EntitySerializer(ScopedSerializer):
    """An entity."""

    id = serializers.UUIDField()
    name = serializers.CharField(help_text="As it was first written.")
    type = serializers.CharField()
    aliases = serializers.SerializerMethodField()
    properties = serializers.SerializerMethodField()
    importance = serializers.FloatField()
    mention_count = serializers.IntegerField()
    first_seen = serializers.DateTimeField()
    last_seen = serializers.DateTimeField()

    def get_aliases(self, row: Any) -> list[str]:
        """Give the further names."""
        return row.aliases or []

    def get_properties(self, row: Any) -> dict[str, Any]:
        """Give the further facts."""
        return row.properties or {}


class UntoldEntitySerializer(serializers.Serializer[Any]):
    """One entity for a key that may not read: that it was changed, and nothing of what is known about it."""

    closed = True

    id = serializers.UUIDField()


CHANGED_ENTITY: Final = PolymorphicProxySerializer(
    component_name="ChangedEntity",
    serializers=[EntitySerializer, UntoldEntitySerializer],
    resource_type_field_name=None,
)


class EntityPageSerializer(serializers.Serializer[Any]):
    """A page of entities, the most mentioned first."""

    items = EntitySerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class FoundEntityPageSerializer(EntityPageSerializer):
    """A page of entities that were searched for."""

    degraded = degraded_reads()


class MergedSerializer(serializers.Serializer[Any]):
    """What became of an entity."""

    id = serializers.UUIDField(source="entity_id")
    created = serializers.BooleanField(help_text="false when one of this type and scope bore the name already.")
    aliases_taken = serializers.ListField(
        child=serializers.CharField(), help_text="Aliases that another entity bears; they were not added."
    )


class RelationSerializer(ScopedSerializer):
    """A relation."""

    id = serializers.UUIDField()
    source = BriefEntitySerializer()  # type: ignore[assignment]
    label = serializers.CharField()  # type: ignore[assignment]
    target = BriefEntitySerializer()
    weight = serializers.FloatField()
    confidence = serializers.FloatField()
    valid_from = serializers.DateTimeField()
    valid_until = serializers.DateTimeField(allow_null=True, help_text="null while it holds.")
    recorded_at = serializers.DateTimeField()
    retracted_at = serializers.DateTimeField(allow_null=True)
    last_seen = serializers.DateTimeField()


class EvidenceSerializer(serializers.Serializer[Any]):
    """A reason for a relation."""

    memory_id = serializers.UUIDField(allow_null=True, help_text="null where somebody stated it.")
    text = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()


class RelationWithEvidenceSerializer(RelationSerializer):
    """A relation and the newest reasons for it."""

    evidence = EvidenceSerializer(many=True)


class AddedRelationSerializer(serializers.Serializer[Any]):
    """What became of a relation."""

    id = serializers.UUIDField(source="relation.id")
    created = serializers.BooleanField(help_text="false when it stood already and was strengthened.")
    superseded = serializers.ListField(child=serializers.UUIDField(), help_text="Relations that ended with it.")


class EndedRelationSerializer(serializers.Serializer[Any]):
    """A relation that was ended or taken back."""

    id = serializers.UUIDField()
    valid_until = serializers.DateTimeField(allow_null=True)
    retracted_at = serializers.DateTimeField(allow_null=True)


class WrittenSerializer(serializers.Serializer[Any]):
    """What became of something that was written."""

    id = serializers.UUIDField()
    created = serializers.BooleanField(help_text="false when the same stood already.")


class RelationPageSerializer(serializers.Serializer[Any]):
    """A page of relations, the newest recorded first."""

    items = RelationSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class NeighbourSerializer(BriefEntitySerializer):
    """An entity that was reached."""

    distance = serializers.IntegerField(help_text="Steps from the entity that was asked for.")


class NeighbourhoodSerializer(serializers.Serializer[Any]):
    """Entities, nearest first, and the relations that were walked."""

    entities = NeighbourSerializer(many=True)
    relations = RelationSerializer(many=True)
    degraded = degraded_reads()


class EventSerializer(ScopedSerializer):
    """An event."""

    id = serializers.UUIDField()
    text = serializers.CharField()
    occurred_at = serializers.DateTimeField()
    recorded_at = serializers.DateTimeField()
    participants = BriefEntitySerializer(many=True)


class EventPageSerializer(serializers.Serializer[Any]):
    """A page of events, the latest first."""

    items = EventSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class CauseSerializer(ScopedSerializer):
    """A cause and its effect."""

    id = serializers.UUIDField()
    cause = serializers.CharField()
    effect = serializers.CharField()
    cause_entity = BriefEntitySerializer(allow_null=True)
    effect_entity = BriefEntitySerializer(allow_null=True)
    confidence = serializers.FloatField()
    recorded_at = serializers.DateTimeField()


class CausePageSerializer(serializers.Serializer[Any]):
    """A page of causes, the newest recorded first."""

    items = CauseSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class GraphAnswerSerializer(serializers.Serializer[Any]):
    """What the graph says to a question."""

    terms = serializers.ListField(child=serializers.CharField(), help_text="What the question is about.")
    entities = BriefEntitySerializer(many=True)
    relations = RelationSerializer(many=True)
    lines = serializers.ListField(child=serializers.CharField(), help_text="The relations as text.")
    degraded = degraded_reads()


class GraphStatsSerializer(serializers.Serializer[Any]):
    """Counts of what the caller may read."""

    entities = serializers.IntegerField()
    by_type = serializers.DictField(child=serializers.IntegerField())
    relations = serializers.IntegerField(help_text="Those that hold.")
    relations_ended = serializers.IntegerField()
    relations_retracted = serializers.IntegerField()
    temporal_events = serializers.IntegerField()
    causal_links = serializers.IntegerField()
    memory_edges = serializers.IntegerField()
    mentions = serializers.IntegerField()
    version = serializers.IntegerField(allow_null=True, help_text="Rises with every change; for people only.")


class EdgeSerializer(serializers.Serializer[Any]):
    """A link of a memory, seen from it."""

    id = serializers.UUIDField(source="edge.id")
    kind = serializers.CharField(source="edge.kind")
    direction = serializers.SerializerMethodField(help_text="`out` when it starts from this memory, else `in`.")
    weight = serializers.FloatField(source="edge.weight")
    relationship = serializers.CharField(source="edge.relationship", allow_null=True)
    insight_id = serializers.UUIDField(source="edge.insight_id", allow_null=True)
    created_at = serializers.DateTimeField(source="edge.created_at")
    memory_id = serializers.UUIDField(source="memory.id", help_text="The memory at the other end.")
    memory_kind = serializers.CharField(source="memory.kind")
    memory_status = serializers.CharField(source="memory.status")
    memory_text = serializers.SerializerMethodField(help_text="Its first 280 characters.")

    def get_direction(self, linked: Any) -> str:
        """Say from where it leads."""
        return "out" if linked.outgoing else "in"

    def get_memory_text(self, linked: Any) -> str:
        """Give the beginning of the text."""
        text: str = linked.memory.text
        return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


class EdgesSerializer(serializers.Serializer[Any]):
    """The links of a memory, the oldest first, at most two hundred."""

    items = EdgeSerializer(many=True)
