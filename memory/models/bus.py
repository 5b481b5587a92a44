"""The memory bus: short-lived messages between the agents of one owner."""

from __future__ import annotations

from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.models.agent import Agent, AgentGroup
from memory.models.encrypted import EncryptedJSONField, EncryptedTextField
from memory.models.tenancy import TenantForeignKey, TenantModel
from memory.models.vocabulary import Visibility


class BusMessage(TenantModel):
    """A statement that an agent publishes to others; gone after a day, and of an owner's the newest 1,000 are kept."""

    publisher = TenantForeignKey(Agent)
    visibility = models.CharField(max_length=8, choices=Visibility.choices)
    group = TenantForeignKey(AgentGroup, null=True, blank=True)
    # The agent that a message is for, the group, or the owner: who reads this scope sees it.
    scope = models.UUIDField()
    text = EncryptedTextField()
    topics = EncryptedJSONField()
    topic_hashes = ArrayField(models.BigIntegerField(), default=list)
    importance = models.FloatField()
    pii_kinds = ArrayField(models.CharField(max_length=32), default=list)
    published_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "publisher", "-published_at"], name="bus_by_publisher"),
        ]

    @property
    def sealing_agent_id(self) -> UUID | None:
        """Give the agent whose own key seals this row, where the message is for that agent alone."""
        return self.scope if self.visibility == Visibility.AGENT else None
