"""What agents were asked, turn by turn, and how that ended."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models
from pgvector.django import HalfVectorField

from memory.models.encrypted import EncryptedJSONField, EncryptedTextField
from memory.models.tenancy import TenantForeignKey, TenantModel


class Stream(models.TextChoices):
    """Where an event belongs: to what really happened, or to a test of the harness."""

    LIVE = "live", "live"
    TEST = "test", "test"


class Outcome(models.TextChoices):
    """How a turn ended."""

    COMPLETED = "completed", "completed"
    FAILED = "failed", "failed"
    TIMEOUT = "timeout", "timeout"


class Spoke(TenantModel):
    """A part of an agent to which requests are handed; named once, since events are counted by it."""

    name = EncryptedTextField()
    name_hash = models.BigIntegerField()
    # Whether it stands for "nothing fitted": `fallback`, `delegate_task`, `generic`.
    is_fallback = models.BooleanField(default=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name_hash"], name="spoke_name_once")]


class TurnEvent(TenantModel):
    """One turn of an agent: the request, where it was handed to, and how that ended."""

    stream = models.CharField(max_length=4, choices=Stream.choices, default=Stream.LIVE)
    # A keyed hash of the agent and of the id that it gave, so that an event that is delivered twice is one row.
    event_key = models.BigIntegerField()
    agent = TenantForeignKey("memory.Agent", null=True, blank=True, when_deleted="CASCADE")
    occurred_at = models.DateTimeField()
    received_at = models.DateTimeField()
    request = EncryptedTextField()
    # A keyed hash of the request with personal data replaced: what is asked again has one vector.
    request_hash = models.BigIntegerField()
    pii_kinds = ArrayField(models.CharField(max_length=32), default=list)
    spoke = TenantForeignKey(Spoke, when_deleted="NO ACTION")
    # `delegations`, and `extra` and `id` as the agent gave them.
    details = EncryptedJSONField(default=dict)
    outcome = models.CharField(max_length=9, choices=Outcome.choices)
    tool_call_count = models.PositiveIntegerField(default=0)
    duration_ms = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "stream", "event_key"], name="turn_event_once")]
        indexes = [
            models.Index(fields=["owner", "stream", "-occurred_at", "-id"], name="turn_event_by_time"),
            models.Index(fields=["owner", "agent"], name="turn_event_by_agent"),
            models.Index(fields=["owner", "request_hash"], name="turn_event_by_request"),
            models.Index(fields=["owner", "spoke"], name="turn_event_by_spoke"),
        ]


class RequestVector(TenantModel):
    """The vector of a request with personal data replaced, made when a report first needs it; it never leaves."""

    request_hash = models.BigIntegerField()
    space = models.ForeignKey("memory.EmbeddingSpace", on_delete=models.DO_NOTHING, db_index=False, related_name="+")
    vec = HalfVectorField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "space", "request_hash"], name="request_vector_once")]


class TelemetryState(TenantModel):
    """An owner's switches of telemetry, and the version of what reports are made of."""

    test_mode = models.BooleanField(default=False)
    test_mode_since = models.DateTimeField(null=True, blank=True)
    # When it was last switched on or off, the newest last: they tell to which stream an event of a moment belongs.
    switched_at = ArrayField(models.DateTimeField(), default=list)
    # How many events each stream holds; the hourly job counts anew.
    live_events = models.PositiveIntegerField(default=0)
    test_events = models.PositiveIntegerField(default=0)
    # Raised whenever events come or go; live pages and caches compare it.
    version = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="telemetry_state_once")]
