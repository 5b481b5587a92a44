"""What consolidation keeps beside a memory: the claim it makes, the skill or the reflection that it is."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from memory.models.encrypted import EncryptedJSONField, EncryptedTextField
from memory.models.graph import GraphRow
from memory.models.history import SealedLikeMemory
from memory.models.memory import Memory
from memory.models.tenancy import OwnedRow, TenantForeignKey


def _unit(table: str, name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=Q(**{f"{name}__gte": 0, f"{name}__lte": 1}), name=f"{table}_{name}_is_unit")


class MemoryClaim(OwnedRow):
    """What a statement claims, as keyed hashes, so that one that says the opposite is found without opening any.

    `slot` stands for whose what (the user's liking), `value` for which (Chinese food), `polarity` is 1 or -1. Where
    `single` is set a slot has one value at a time, so that another value contradicts too. `scope` is the memory's.
    """

    pk = models.CompositePrimaryKey("owner_id", "memory_id", "slot", "value")
    memory = TenantForeignKey(Memory)
    scope = models.UUIDField()
    slot = models.BigIntegerField()
    value = models.BigIntegerField()
    polarity = models.SmallIntegerField(default=1)
    single = models.BooleanField(default=False)

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(polarity__in=[-1, 1]), name="claim_polarity_is_a_sign")]
        indexes = [models.Index(fields=["owner", "slot", "value"], name="claim_by_slot")]


class SkillState(models.TextChoices):
    """Where a skill stands in its life."""

    CANDIDATE = "candidate"
    VERIFIED = "verified"
    RELEASED = "released"
    DEGRADED = "degraded"
    DEPRECATED = "deprecated"
    ARCHIVED = "archived"


class SkillOrigin(models.TextChoices):
    """Who made a skill."""

    HUMAN = "human"
    LLM = "llm"
    RULES = "rules"
    BUILTIN = "builtin"


class Skill(GraphRow):
    """How to do something: the procedure that a procedural memory is, with what its use has shown."""

    memory = TenantForeignKey(Memory)
    name = EncryptedTextField()
    name_hash = models.BigIntegerField()
    steps = EncryptedJSONField()
    state = models.CharField(max_length=10, choices=SkillState.choices, default=SkillState.CANDIDATE)
    origin = models.CharField(max_length=7, choices=SkillOrigin.choices)
    trust = models.PositiveSmallIntegerField(default=1)
    success_rate = models.FloatField(default=0.0)
    uses = models.PositiveIntegerField(default=0)
    utility = models.FloatField(default=0.5)
    redundancy = models.FloatField(default=0.0)
    freshness = models.FloatField(default=1.0)
    risk = models.FloatField(default=0.0)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "scope", "name_hash"], condition=~Q(state="archived"), name="skill_name_once"
            ),
            models.UniqueConstraint(fields=["owner", "memory"], name="skill_of_memory_once"),
            _unit("skill", "success_rate"),
            _unit("skill", "utility"),
            _unit("skill", "redundancy"),
            _unit("skill", "freshness"),
            _unit("skill", "risk"),
        ]
        indexes = [models.Index(fields=["owner", "state", "-updated_at", "-id"], name="skill_by_state")]


class SkillDependency(OwnedRow):
    """That a skill needs another one."""

    pk = models.CompositePrimaryKey("owner_id", "skill_id", "needs_id")
    skill = TenantForeignKey(Skill)
    needs = TenantForeignKey(Skill, when_deleted="NO ACTION")

    class Meta:
        constraints = [models.CheckConstraint(condition=~Q(skill=F("needs")), name="skill_needs_another")]
        indexes = [models.Index(fields=["owner", "needs"], name="skill_dependency_by_need")]


class Reflection(SealedLikeMemory):
    """A pattern of behaviour that was drawn from episodes: the numbers of a memory of tier `reflection`."""

    memory = TenantForeignKey(Memory)
    pattern_hash = models.BigIntegerField()
    supporting_events = models.PositiveIntegerField(default=1)
    confidence = models.FloatField(default=0.5)
    sessions = EncryptedJSONField(null=True, blank=True)
    last_reinforced_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "scope", "pattern_hash"], name="reflection_pattern_once"),
            models.UniqueConstraint(fields=["owner", "memory"], name="reflection_of_memory_once"),
            _unit("reflection", "confidence"),
        ]
        indexes = [models.Index(fields=["owner", "last_reinforced_at"], name="reflection_by_reinforcement")]
