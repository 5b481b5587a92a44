"""The memory row: one statement or turn, with everything that is known about it."""

from __future__ import annotations

from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from memory.models.agent import Agent, AgentGroup
from memory.models.encrypted import EncryptedJSONField, EncryptedTextField
from memory.models.session import Session
from memory.models.tenancy import TenantForeignKey, TenantModel
from memory.models.vocabulary import Kind, Role, Status, SummaryLevel, Tier, Visibility


def _unit(name: str) -> models.CheckConstraint:
    return models.CheckConstraint(condition=Q(**{f"{name}__gte": 0, f"{name}__lte": 1}), name=f"memory_{name}_is_unit")


class Memory(TenantModel):
    """One memory.

    `scope` is the id of what may read it: the agent, squad, project or owner that `visibility` names. Signals are
    numbers and keyed hashes of the text that recall uses without opening it. The three moments of belief and truth
    are kept apart: valid_from/valid_until (when it held), recorded_at/retracted_at (when Loci believed it) and
    occurred_at (when it happened).
    """

    agent = TenantForeignKey(Agent, null=True, blank=True, when_deleted="SET NULL")
    visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.OWNER)
    group = TenantForeignKey(AgentGroup, null=True, blank=True, when_deleted="NO ACTION")
    scope = models.UUIDField()

    session = TenantForeignKey(Session, null=True, blank=True, when_deleted="NO ACTION")
    position = models.PositiveIntegerField(null=True, blank=True)
    role = models.CharField(max_length=9, choices=Role.choices, blank=True, default="")
    speaker = EncryptedTextField(null=True, blank=True)
    tool_name = EncryptedTextField(null=True, blank=True)
    call_id = EncryptedTextField(null=True, blank=True)
    reply_to = TenantForeignKey("memory.Memory", null=True, blank=True, when_deleted="SET NULL")

    tier = models.CharField(max_length=10, choices=Tier.choices)
    kind = models.CharField(max_length=11, choices=Kind.choices)
    category = models.CharField(max_length=32, default="general")
    summary_level = models.CharField(max_length=7, choices=SummaryLevel.choices, default=SummaryLevel.RAW)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.LIVE)

    text = EncryptedTextField()
    source = EncryptedTextField(null=True, blank=True)
    tags = EncryptedJSONField(null=True, blank=True)
    topics = EncryptedJSONField(null=True, blank=True)
    metadata = EncryptedJSONField(null=True, blank=True)
    content_hash = models.BinaryField(max_length=32)

    importance = models.FloatField(default=0.5)
    salience = models.FloatField(default=0.5)
    confidence = models.FloatField(default=1.0)

    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    occurred_at = models.DateTimeField()
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_until = models.DateTimeField(null=True, blank=True)
    recorded_at = models.DateTimeField()
    retracted_at = models.DateTimeField(null=True, blank=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    archive_reason = models.CharField(max_length=32, blank=True, default="")
    erase_at = models.DateTimeField(null=True, blank=True)
    extracted_at = models.DateTimeField(null=True, blank=True)
    slept_at = models.DateTimeField(null=True, blank=True)

    pii_kinds = ArrayField(models.CharField(max_length=32), default=list)
    pii_tier = models.PositiveSmallIntegerField(default=0)
    # When a language model last looked for personal data by meaning; null where it has not.
    classified_at = models.DateTimeField(null=True, blank=True)
    injection_kinds = ArrayField(models.CharField(max_length=48), default=list)

    token_count = models.PositiveIntegerField(default=0)
    highest_tf = models.PositiveIntegerField(default=0)
    is_question = models.BooleanField(default=False)
    has_time = models.BooleanField(default=False)
    has_number = models.BooleanField(default=False)
    speaker_hashes = ArrayField(models.BigIntegerField(), default=list)
    name_hashes = ArrayField(models.BigIntegerField(), default=list)
    analyzer_version = models.PositiveSmallIntegerField()

    community = models.IntegerField(null=True, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "session", "position"],
                condition=Q(session__isnull=False),
                name="memory_turn_once",
            ),
            models.UniqueConstraint(
                fields=["owner", "scope", "content_hash"],
                condition=Q(status="live", session__isnull=True),
                name="memory_statement_once",
            ),
            models.CheckConstraint(
                condition=Q(session__isnull=True, position__isnull=True)
                | Q(session__isnull=False, position__isnull=False),
                name="memory_session_with_position",
            ),
            _unit("importance"),
            _unit("salience"),
            _unit("confidence"),
        ]
        indexes = [
            models.Index(fields=["owner", "-created_at", "-id"], name="memory_by_creation"),
            models.Index(fields=["owner", "status", "-created_at", "-id"], name="memory_by_status"),
            models.Index(fields=["owner", "occurred_at"], name="memory_by_occurrence"),
            models.Index(fields=["owner", "created_at"], condition=Q(extracted_at=None), name="memory_unextracted"),
            models.Index(fields=["owner", "created_at"], condition=Q(slept_at=None), name="memory_unslept"),
            models.Index(
                fields=["owner", "community"], condition=Q(community__isnull=False), name="memory_by_community"
            ),
            models.Index(fields=["owner", "expires_at"], condition=Q(expires_at__isnull=False), name="memory_expiring"),
            models.Index(fields=["owner", "erase_at"], condition=Q(erase_at__isnull=False), name="memory_erasing"),
            # For the database, which looks for replies to each memory that is deleted.
            models.Index(fields=["owner", "reply_to"], condition=Q(reply_to__isnull=False), name="memory_by_reply"),
        ]

    @property
    def sealing_agent_id(self) -> UUID | None:
        """Give the agent whose own key seals this row, where only that agent may read it."""
        return self.agent_id if self.visibility == Visibility.AGENT else None
