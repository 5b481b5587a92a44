"""Agents that act for an owner, their groups, and the keys they come with."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.models.encrypted import EncryptedTextField
from memory.models.tenancy import TenantForeignKey, TenantModel
from memory.models.vocabulary import GroupKind, Visibility


class Agent(TenantModel):
    """A program that acts for an owner."""

    name = EncryptedTextField()
    name_hash = models.BigIntegerField()
    paused_at = models.DateTimeField(null=True, blank=True)
    # How far the owner trusts what this agent says, 0 to 1; null where nobody has said.
    trust = models.FloatField(null=True, blank=True)
    # Part of every capability token of this agent: raising it ends all of them.
    capability_epoch = models.PositiveIntegerField(default=0, db_default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "name_hash"], name="agent_name_once")]


class AgentSettings(TenantModel):
    """What the owner has chosen for one agent instead of for all; names and meanings are those of its settings."""

    agent = TenantForeignKey(Agent)
    values = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "agent"], name="agent_settings_once")]


class AgentGroup(TenantModel):
    """A project or squad: agents of one owner that share what they store for it."""

    kind = models.CharField(max_length=8, choices=GroupKind.choices)
    name = EncryptedTextField()
    name_hash = models.BigIntegerField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "kind", "name_hash"], name="group_name_once")]


class GroupMembership(TenantModel):
    """An agent's place in a project or squad."""

    group = TenantForeignKey(AgentGroup)
    agent = TenantForeignKey(Agent)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "group", "agent"], name="membership_once")]
        indexes = [models.Index(fields=["owner", "agent"], name="membership_by_agent")]


class AgentKey(TenantModel):
    """A key of an agent: only its digest is kept, found through the function `loci_find_key`."""

    agent = TenantForeignKey(Agent)
    label = EncryptedTextField()
    prefix = models.CharField(max_length=12)
    digest = models.BinaryField(max_length=32)
    # Made with a key of the owner over everything that the row grants: writing the table is not enough to make a key.
    proof = models.BinaryField(max_length=32)
    scopes = ArrayField(models.CharField(max_length=32))
    default_visibility = models.CharField(max_length=8, choices=Visibility.choices, default=Visibility.OWNER)
    default_group = TenantForeignKey(AgentGroup, null=True, blank=True, when_deleted="CASCADE")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        # The digest of a random 256-bit secret; found before the owner is known, hence not behind owner_id.
        constraints = [models.UniqueConstraint(fields=["digest"], name="agent_key_digest_once")]
        indexes = [models.Index(fields=["owner", "agent"], name="agent_key_by_agent")]
