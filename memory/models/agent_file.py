"""Files that agents are made of, such as `IDENTITY.md`, and what they said before."""

from __future__ import annotations

from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from memory.models.agent import Agent
from memory.models.encrypted import EncryptedTextField
from memory.models.tenancy import TenantForeignKey, TenantModel


class MediaType(models.TextChoices):
    """How the text of a file is meant."""

    MARKDOWN = "text/markdown"
    PLAIN = "text/plain"


class FileChange(models.TextChoices):
    """What has made a file as it stands."""

    CREATED = "created"
    WRITTEN = "written"
    RENAMED = "renamed"
    DELETED = "deleted"
    RESTORED = "restored"


class _FileState(TenantModel):
    """Base of the state of a file, the present one and former ones.

    `scope` is the agent or owner who may read it, `changed_by` who has made it so, as audits name them, and
    `language_model` the model that wrote it, where it was said.
    """

    scope = models.UUIDField(editable=False)
    path = EncryptedTextField()
    content = EncryptedTextField()
    media_type = models.CharField(max_length=13, choices=MediaType.choices, default=MediaType.MARKDOWN)
    size = models.PositiveIntegerField()
    change = models.CharField(max_length=8, choices=FileChange.choices)
    changed_by = models.CharField(max_length=64)
    language_model = EncryptedTextField(null=True, blank=True)
    injection_kinds = ArrayField(models.CharField(max_length=48), default=list)

    class Meta:
        abstract = True


class AgentFile(_FileState):
    """A file of one agent, or of all of an owner's agents where it names none; `deleted_at` while it can be undone."""

    agent = TenantForeignKey(Agent, null=True, blank=True, when_deleted="CASCADE")
    path_hash = models.BinaryField(max_length=32)
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "scope", "path_hash"],
                condition=Q(deleted_at__isnull=True),
                name="agent_file_path_once",
            ),
        ]
        indexes = [models.Index(fields=["owner", "agent"], name="agent_file_by_agent")]

    @property
    def sealing_agent_id(self) -> UUID | None:
        """Give the agent whose own key seals this row; None where all of the owner's agents may read it."""
        return self.agent_id


class AgentFileVersion(_FileState):
    """What a file was before a change; `number` is the version that the change replaced, `made_at` when that began."""

    file = TenantForeignKey(AgentFile)
    sealed_for = models.UUIDField(null=True, editable=False)
    number = models.PositiveIntegerField()
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "file", "number"], name="agent_file_version_once")]

    @property
    def sealing_agent_id(self) -> UUID | None:
        """Give the agent whose key seals this row."""
        return self.sealed_for
