"""Sessions: conversations of an agent."""

from __future__ import annotations

from django.db import models

from memory.models.agent import Agent
from memory.models.encrypted import EncryptedTextField
from memory.models.tenancy import TenantForeignKey, TenantModel


class Session(TenantModel):
    """One conversation; its turns are memories with a session and a position.

    `label` is the name by which the client knows the conversation, unique for an agent through its keyed hash.
    """

    agent = TenantForeignKey(Agent, null=True, blank=True, when_deleted="CASCADE")
    label = EncryptedTextField()
    label_hash = models.BigIntegerField()
    turn_count = models.PositiveIntegerField(default=0)
    next_position = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField()
    last_turn_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    # Up to which position a summary of the session tells, and up to which skills were looked for.
    summarised_until = models.PositiveIntegerField(default=0)
    learned_until = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "agent", "label_hash"], name="session_label_once", nulls_distinct=False
            )
        ]
        indexes = [models.Index(fields=["owner", "-last_turn_at"], name="session_by_last_turn")]
