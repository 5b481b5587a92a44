"""The graph about the owner: entities, what is said of them, what happened, what caused what, and links of memories."""

from __future__ import annotations

from uuid import UUID

from django.db import models
from django.db.models import F, Q

from memory.models.encrypted import EncryptedJSONField, EncryptedTextField
from memory.models.history import SealedLikeMemory
from memory.models.memory import Memory
from memory.models.tenancy import OwnedRow, TenantForeignKey, TenantManager, TenantModel
from memory.models.vocabulary import Visibility


class EntityType(models.TextChoices):
    """What sort of thing an entity is."""

    PERSON = "person"
    TOPIC = "topic"
    PROJECT = "project"
    TOOL = "tool"
    URL = "url"
    CONCEPT = "concept"
    ORGANIZATION = "organization"


class NameKind(models.IntegerChoices):
    """What a keyed hash of an entity's names stands for; the numbers are stored."""

    CANONICAL = 1
    ALIAS = 2
    WORD = 3
    PREFIX = 4


class EdgeKind(models.TextChoices):
    """How one memory is linked to another."""

    RELATED_TO = "related_to"
    CAUSED_BY = "caused_by"
    SUPPORTS = "supports"
    CONTRADICTS = "contradicts"
    PART_OF = "part_of"
    FOLLOWED_BY = "followed_by"
    DERIVED_FROM = "derived_from"
    SIMILAR_TO = "similar_to"


def _unit(table: str, name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=Q(**{f"{name}__gte": 0, f"{name}__lte": 1}), name=f"{table}_{name}_is_unit")


class GraphRow(TenantModel):
    """Base of what stands in the graph for a scope.

    `scope` is the id of what may read the row, the agent, squad, project or owner that `visibility` names. It never
    changes: the same thing said for another scope is a row of its own.
    """

    visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.OWNER)
    scope = models.UUIDField()

    class Meta:
        abstract = True

    @property
    def sealing_agent_id(self) -> UUID | None:
        """Give the agent whose own key seals this row, where only that agent may read it."""
        return self.scope if self.visibility == Visibility.AGENT else None

    @property
    def group_id(self) -> UUID | None:
        """Give the squad or project that may read this row, if one does."""
        return self.scope if self.visibility in (Visibility.SQUAD, Visibility.PROJECT) else None


class GraphState(models.Model):
    """How often an owner's graph was changed.

    Every writer raises the version first, which makes the writers of one owner wait for each other in one place;
    readers keep what they computed from the graph for as long as the version stays.
    """

    owner = models.OneToOneField("memory.Owner", primary_key=True, on_delete=models.DO_NOTHING, related_name="+")
    version = models.BigIntegerField(default=0)
    changed_at = models.DateTimeField()

    objects = TenantManager()

    class Meta:
        base_manager_name = "objects"


class Entity(GraphRow):
    """A person, topic, project, tool, address, concept or organisation that memories speak of.

    `stated` tells that it was named without a memory behind it, so that it stays when all memories of it are erased.
    """

    type = models.CharField(max_length=12, choices=EntityType.choices)
    name = EncryptedTextField()
    aliases = EncryptedJSONField(null=True, blank=True)
    properties = EncryptedJSONField(null=True, blank=True)
    importance = models.FloatField(default=0.5)
    mention_count = models.PositiveIntegerField(default=1)
    stated = models.BooleanField(default=False)
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    community = models.IntegerField(null=True, blank=True)

    class Meta:
        constraints = [_unit("entity", "importance")]
        indexes = [
            models.Index(
                fields=["owner", "community"], condition=Q(community__isnull=False), name="entity_by_community"
            ),
            models.Index(fields=["owner", "-mention_count", "-id"], name="entity_by_mentions"),
            models.Index(fields=["owner", "type", "-mention_count", "-id"], name="entity_by_type"),
        ]


class EntityName(OwnedRow):
    """A keyed hash by which an entity is found: of its name, an alias, one of their words or the beginning of a word.

    Within a scope, a name or alias of one type stands for one entity.
    """

    pk = models.CompositePrimaryKey("owner_id", "kind", "name", "entity_id")
    kind = models.PositiveSmallIntegerField(choices=NameKind.choices)
    name = models.BigIntegerField()
    entity = TenantForeignKey(Entity)
    type = models.CharField(max_length=12, choices=EntityType.choices)
    scope = models.UUIDField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "scope", "type", "name"],
                condition=Q(kind__in=[NameKind.CANONICAL, NameKind.ALIAS]),
                name="entity_name_once",
            )
        ]
        indexes = [models.Index(fields=["owner", "entity"], name="entity_name_by_entity")]


class EntityMention(OwnedRow):
    """That a memory speaks of an entity."""

    pk = models.CompositePrimaryKey("owner_id", "entity_id", "memory_id")
    entity = TenantForeignKey(Entity)
    memory = TenantForeignKey(Memory)

    class Meta:
        indexes = [models.Index(fields=["owner", "memory"], name="mention_by_memory")]


class Relation(GraphRow):
    """That one entity stands in a relation to another, for some time.

    Two times are kept: `valid_from` and `valid_until` say when it held, `recorded_at`, `closed_at` and `retracted_at`
    when Loci believed it, learned of its end, and no longer believed that it ever held. A relation without an end is
    open; there is at most one open relation of a label between two entities in a scope, and a closed one stays closed.
    """

    source = TenantForeignKey(Entity)
    target = TenantForeignKey(Entity)
    label = EncryptedTextField()
    label_hash = models.BigIntegerField()
    weight = models.FloatField(default=0.5)
    confidence = models.FloatField(default=1.0)
    valid_from = models.DateTimeField()
    valid_until = models.DateTimeField(null=True, blank=True)
    recorded_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True, blank=True)
    retracted_at = models.DateTimeField(null=True, blank=True)
    last_seen = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "scope", "source", "label_hash", "target"],
                condition=Q(valid_until=None, retracted_at=None),
                name="relation_open_once",
            ),
            models.CheckConstraint(condition=~Q(source=F("target")), name="relation_of_two"),
            models.CheckConstraint(
                condition=Q(valid_until=None, closed_at=None) | Q(valid_until__isnull=False, closed_at__isnull=False),
                name="relation_end_is_dated",
            ),
            models.CheckConstraint(
                condition=Q(valid_until=None) | Q(valid_until__gte=F("valid_from")), name="relation_ends_after_it_began"
            ),
            _unit("relation", "weight"),
            _unit("relation", "confidence"),
        ]
        indexes = [
            # Current belief by weight, so that the heaviest neighbours of a hub are read without reading all of it.
            models.Index(
                fields=["owner", "source", "-weight", "id"],
                include=["target", "scope", "label_hash", "valid_from", "valid_until"],
                condition=Q(retracted_at=None),
                name="relation_out",
            ),
            models.Index(
                fields=["owner", "target", "-weight", "id"],
                include=["source", "scope", "label_hash", "valid_from", "valid_until"],
                condition=Q(retracted_at=None),
                name="relation_in",
            ),
            models.Index(fields=["owner", "source", "recorded_at"], name="relation_out_history"),
            models.Index(fields=["owner", "target", "recorded_at"], name="relation_in_history"),
        ]


class TemporalEvent(GraphRow):
    """Something that happened at a moment, with the entities that took part."""

    text = EncryptedTextField()
    text_hash = models.BinaryField(max_length=32)
    occurred_at = models.DateTimeField()
    recorded_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "scope", "text_hash", "occurred_at"], name="temporal_event_once")
        ]
        indexes = [models.Index(fields=["owner", "-occurred_at", "-id"], name="temporal_event_by_time")]


class EventParticipant(OwnedRow):
    """That an entity took part in an event."""

    pk = models.CompositePrimaryKey("owner_id", "event_id", "entity_id")
    event = TenantForeignKey(TemporalEvent)
    entity = TenantForeignKey(Entity)

    class Meta:
        indexes = [models.Index(fields=["owner", "entity"], name="participant_by_entity")]


class CausalLink(GraphRow):
    """That one thing caused another, in words, with the entities that they are about where these are known."""

    cause = EncryptedTextField()
    effect = EncryptedTextField()
    text_hash = models.BinaryField(max_length=32)
    cause_entity = TenantForeignKey(Entity, null=True, blank=True, when_deleted="SET NULL")
    effect_entity = TenantForeignKey(Entity, null=True, blank=True, when_deleted="SET NULL")
    confidence = models.FloatField(default=1.0)
    recorded_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "scope", "text_hash"], name="causal_link_once"),
            _unit("causal_link", "confidence"),
        ]
        indexes = [
            models.Index(fields=["owner", "-recorded_at", "-id"], name="causal_link_by_time"),
            models.Index(fields=["owner", "cause_entity"], name="causal_link_by_cause"),
            models.Index(fields=["owner", "effect_entity"], name="causal_link_by_effect"),
        ]


class GraphEvidence(SealedLikeMemory):
    """Why a relation, event or cause is believed: the memory that it was drawn from, or none where it was stated.

    A row goes with its memory, so what nothing but an erased memory speaks for can be told. `scope` is who could read
    the memory when it was used.
    """

    relation = TenantForeignKey(Relation, null=True, blank=True)
    event = TenantForeignKey(TemporalEvent, null=True, blank=True)
    cause = TenantForeignKey(CausalLink, null=True, blank=True)
    memory = TenantForeignKey(Memory, null=True, blank=True)
    text = EncryptedTextField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", part, "memory"],
                condition=Q(**{f"{part}__isnull": False}),
                nulls_distinct=False,
                name=f"evidence_of_{part}_once",
            )
            for part in ("relation", "event", "cause")
        ] + [
            models.CheckConstraint(
                condition=Q(relation__isnull=False, event=None, cause=None)
                | Q(relation=None, event__isnull=False, cause=None)
                | Q(relation=None, event=None, cause__isnull=False),
                name="evidence_of_one_thing",
            )
        ]
        indexes = [models.Index(fields=["owner", "memory"], name="evidence_by_memory")]


class MemoryEdge(SealedLikeMemory):
    """A typed link from one memory to another.

    `scope` is the narrower of the two memories' when it was made; who may read the link follows from who may read both
    memories now.
    """

    source = TenantForeignKey(Memory)
    target = TenantForeignKey(Memory)
    kind = models.CharField(max_length=12, choices=EdgeKind.choices)
    weight = models.FloatField(default=0.7)
    relationship = EncryptedTextField(null=True, blank=True)
    relationship_hash = models.BigIntegerField()
    insight = TenantForeignKey(Memory, null=True, blank=True, when_deleted="SET NULL")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "source", "target", "kind", "relationship_hash"], name="memory_edge_once"
            ),
            models.CheckConstraint(condition=~Q(source=F("target")), name="memory_edge_of_two"),
            _unit("memory_edge", "weight"),
        ]
        indexes = [
            models.Index(fields=["owner", "source", "-weight"], include=["target", "kind"], name="memory_edge_out"),
            models.Index(fields=["owner", "target", "-weight"], include=["source", "kind"], name="memory_edge_in"),
            models.Index(
                fields=["owner", "insight"], condition=Q(insight__isnull=False), name="memory_edge_by_insight"
            ),
        ]
