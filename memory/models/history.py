"""What hangs on a memory: earlier versions, sources, labels and the counts of its use."""

from __future__ import annotations

from uuid import UUID

from django.db import models

from memory.models.agent import Agent
from memory.models.encrypted import EncryptedJSONField, EncryptedTextField
from memory.models.memory import Memory
from memory.models.tenancy import OwnedRow, TenantForeignKey, TenantModel
from memory.models.vocabulary import LabelKind


class SealedLikeMemory(TenantModel):
    """Base of rows that hold text of a memory.

    `sealed_for` is the agent whose own key sealed it, if one did; `scope` is who could read it when it was said, which
    a later change of the memory's scope does not widen.
    """

    sealed_for = models.UUIDField(null=True, editable=False)
    scope = models.UUIDField(editable=False)

    class Meta:
        abstract = True

    @property
    def sealing_agent_id(self) -> UUID | None:
        """Give the agent whose key seals this row."""
        return self.sealed_for


class MemoryVersion(SealedLikeMemory):
    """What a memory said before a change; `number` is the version that the change replaced.

    `changes` names the changed fields with their earlier values.
    """

    memory = TenantForeignKey(Memory)
    number = models.PositiveIntegerField()
    text = EncryptedTextField()
    changes = EncryptedJSONField()
    actor = models.CharField(max_length=64)
    reason = models.CharField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "memory", "number"], name="version_once")]


class MemorySource(SealedLikeMemory):
    """One time that a memory was stated: by whom, from where, and in which turn."""

    memory = TenantForeignKey(Memory)
    agent = TenantForeignKey(Agent, null=True, blank=True, when_deleted="SET NULL")
    turn = TenantForeignKey(Memory, null=True, blank=True, when_deleted="CASCADE")
    source = EncryptedTextField(null=True, blank=True)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "memory", "created_at"], name="source_by_memory"),
            models.Index(fields=["owner", "turn"], name="source_by_turn"),
        ]


class MemoryLabel(TenantModel):
    """A keyed hash by which memories are filtered: a tag, topic, name, speaker or one path segment of a source.

    A table and not an array on the memory: array operators are not leakproof, so that under row-level security
    their indexes would stand idle.
    """

    memory = TenantForeignKey(Memory)
    kind = models.PositiveSmallIntegerField(choices=LabelKind.choices)
    label = models.BigIntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "kind", "label", "memory"], name="label_once")]
        indexes = [models.Index(fields=["owner", "memory"], name="label_by_memory")]


class MemoryAccess(OwnedRow):
    """How often and when a memory was last recalled: narrow, since it is written after every answer."""

    pk = models.CompositePrimaryKey("owner_id", "memory_id")
    memory = TenantForeignKey(Memory)
    access_count = models.PositiveIntegerField(default=0)
    last_accessed = models.DateTimeField()
