"""What waits for a person's judgement: doubtful extractions, merges and contradictions."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from memory.models.consolidation import ConsolidationRun
from memory.models.encrypted import EncryptedJSONField, EncryptedTextField
from memory.models.graph import GraphRow
from memory.models.history import SealedLikeMemory
from memory.models.memory import Memory
from memory.models.tenancy import TenantForeignKey


class ReviewKind(models.TextChoices):
    """What is in doubt."""

    FACT = "fact"
    ENTITY = "entity"
    RELATION = "relation"
    EVENT = "event"
    CAUSE = "cause"
    MERGE = "merge"
    CONTRADICTION = "contradiction"
    SKILL = "skill"
    DISPUTE = "dispute"


class ReviewState(models.TextChoices):
    """Where an item stands."""

    OPEN = "open"
    SNOOZED = "snoozed"
    APPROVED = "approved"
    REJECTED = "rejected"


class ReviewItem(GraphRow):
    """One thing in doubt, with all that is needed to do it once a person approves.

    `payload` is what would be stored, `outcome` what an approval made, so that it can be undone. The same doubt is one
    item, however often it comes up.
    """

    kind = models.CharField(max_length=13, choices=ReviewKind.choices)
    state = models.CharField(max_length=8, choices=ReviewState.choices, default=ReviewState.OPEN)
    reason = models.CharField(max_length=64)
    confidence = models.FloatField()
    payload = EncryptedJSONField()
    payload_hash = models.BinaryField(max_length=32)
    outcome = EncryptedJSONField(null=True, blank=True)
    run = TenantForeignKey(ConsolidationRun, null=True, blank=True, when_deleted="SET NULL")
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    snoozed_until = models.DateTimeField(null=True, blank=True)
    decided_at = models.DateTimeField(null=True, blank=True)
    decided_by = models.CharField(max_length=64, blank=True, default="")
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "scope", "kind", "payload_hash"], name="review_item_once"),
            models.CheckConstraint(
                condition=Q(confidence__gte=0, confidence__lte=1), name="review_item_confidence_is_unit"
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "state", "-created_at", "-id"], name="review_by_state"),
            models.Index(
                fields=["owner", "snoozed_until"], condition=Q(state="snoozed"), name="review_by_end_of_snooze"
            ),
        ]


class ReviewEvidence(SealedLikeMemory):
    """A memory that an item was drawn from, with the words that count; it goes with the memory."""

    item = TenantForeignKey(ReviewItem)
    memory = TenantForeignKey(Memory)
    text = EncryptedTextField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "item", "memory"], name="review_evidence_once")]
        indexes = [models.Index(fields=["owner", "memory"], name="review_evidence_by_memory")]
