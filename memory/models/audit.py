"""The record of what was done to an owner's memories, without content; rows are added and never changed."""

from __future__ import annotations

from django.db import models

from memory.ids import new_id
from memory.models.memory import Memory
from memory.models.tenancy import OwnedRow, TenantForeignKey, TenantModel


class EventFields(models.Model):
    """What is recorded of an act."""

    actor = models.CharField(max_length=64)
    verb = models.CharField(max_length=32)
    object_kind = models.CharField(max_length=32)
    object_id = models.UUIDField(null=True)
    reason = models.CharField(max_length=64, blank=True, default="")
    count = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    # The number of the seal that this event belongs to.
    sealed_in = models.PositiveIntegerField(null=True, blank=True)
    # Made with the installation's key; empty for what was recorded before there were proofs, refused for new rows.
    proof = models.BinaryField(max_length=32, default=bytes)

    class Meta:
        abstract = True


class AuditEvent(TenantModel, EventFields):
    """Who did what to which row, and why.

    A trigger refuses deletes, and updates other than the one that puts an event into its seal. Acts of reading may be
    deleted when they are old and sealed, and all of an owner's when a purge has moved them to `RetiredAuditEvent`.
    """

    READ = "read"

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-created_at"], name="audit_by_time"),
            models.Index(fields=["owner", "object_id"], name="audit_by_object"),
            models.Index(fields=["owner", "id"], name="audit_unsealed", condition=models.Q(sealed_in=None)),
        ]


class SealFields(models.Model):
    """One link of a chain: digests of a batch of events, joined to the link before, and signed.

    Acts and reads have digests of their own, so that old reads can go and the chain can still be verified.
    """

    number = models.PositiveIntegerField()
    acts = models.PositiveIntegerField()
    reads = models.PositiveIntegerField()
    acts_digest = models.BinaryField(max_length=32)
    reads_digest = models.BinaryField(max_length=32)
    previous = models.BinaryField(max_length=32)
    digest = models.BinaryField(max_length=32)
    signature = models.BinaryField(max_length=64)
    sealed_at = models.DateTimeField()

    class Meta:
        abstract = True


class AuditSeal(TenantModel, SealFields):
    """A link of an owner's chain; numbers begin at 1 and have no gaps."""

    class Meta(TenantModel.Meta):
        constraints = [models.UniqueConstraint(fields=["owner", "number"], name="audit_seal_once")]


class RetiredAuditEvent(EventFields):
    """An event of an owner who was purged, under the pseudonym that the chain was made with; names nobody."""

    id = models.UUIDField(primary_key=True, editable=False)
    pseudonym = models.UUIDField()

    class Meta:
        indexes = [models.Index(fields=["pseudonym", "created_at"], name="retired_audit_by_time")]


class RetiredAuditSeal(SealFields):
    """A link of the chain of an owner who was purged."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    pseudonym = models.UUIDField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pseudonym", "number"], name="retired_seal_once")]


class MemoryRead(OwnedRow):
    """How often one reader has read one memory, first and last; who reads is an agent, or the owner's own id."""

    pk = models.CompositePrimaryKey("owner_id", "memory_id", "reader")
    memory = TenantForeignKey(Memory)
    reader = models.UUIDField()
    reads = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()
