"""What is kept of requests: answers under an idempotency key, explanations of recalls, overrides of profiles."""

from __future__ import annotations

from django.db import models

from memory.models.encrypted import EncryptedJSONField
from memory.models.tenancy import TenantModel


class IdempotencyRecord(TenantModel):
    """The answer to a write that came with an idempotency key, kept for a day to be given again."""

    caller = models.UUIDField()
    key_digest = models.BinaryField(max_length=32)
    request_digest = models.BinaryField(max_length=32)
    status = models.PositiveSmallIntegerField(null=True)
    body = EncryptedJSONField(null=True)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "caller", "key_digest"], name="idempotency_once")]
        indexes = [models.Index(fields=["owner", "created_at"], name="idempotency_by_age")]


class RecallRecord(TenantModel):
    """How a recall came to its answer, for its caller only and for a limited time."""

    caller = models.UUIDField()
    explanation = EncryptedJSONField()
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["owner", "created_at"], name="recall_by_age")]


class ProfileOverride(TenantModel):
    """An owner's changes to a recall profile; the highest version counts, and a reset is a version without values."""

    profile = models.CharField(max_length=32)
    version = models.PositiveIntegerField()
    values = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "profile", "version"], name="profile_version_once")]
