"""Agents, their keys, and their groups."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import Strict
from memory.api.serializers.fields import Moment, RawText, Word, Words, WriteScope
from memory.models import AgentKey, GroupKind
from memory.services.actors import Permission, written_scope
from memory.services.legible import legible


class LegibleField(serializers.CharField):
    """An encrypted name or label; null where it does not open."""

    def __init__(self) -> None:
        """Make a field that is only shown."""
        super().__init__(allow_null=True, read_only=True, help_text="null where it cannot be read.")

    def get_attribute(self, instance: Any) -> str | None:
        """Read the row's value, if it opens."""
        return legible(instance, str(self.source))


class NewAgentSerializer(Strict):
    """An agent to create."""

    name = RawText(help_text="Unique for the owner.")


class AgentSerializer(serializers.Serializer[Any]):
    """A program that acts for the owner."""

    id = serializers.UUIDField()
    name = LegibleField()
    created_at = serializers.DateTimeField()
    paused_at = serializers.DateTimeField(allow_null=True, help_text="Since when its keys do not work.")
    trust = serializers.FloatField(
        allow_null=True, help_text="How far what it says is trusted, 0 to 1; null where no person has said so."
    )


class AgentsSerializer(serializers.Serializer[Any]):
    """All agents, oldest first."""

    items = AgentSerializer(many=True)


class NewKeySerializer(Strict):
    """A key to make."""

    label = RawText(help_text="A name for people.")  # type: ignore[assignment]
    scopes = Words(Permission, required=False, allow_empty=False, help_text="As a usual key when left out.")
    default_scope = WriteScope()
    expires_at = Moment(required=False, allow_null=True)


class MadeKeySerializer(serializers.Serializer[Any]):
    """A key just made."""

    id = serializers.UUIDField()
    secret = serializers.CharField(
        allow_null=True, help_text="Shown once. null when an answer is given again under an idempotency key."
    )


class KeySerializer(serializers.Serializer[Any]):
    """A key, without its secret."""

    id = serializers.UUIDField()
    label = LegibleField()  # type: ignore[assignment]
    prefix = serializers.CharField(help_text="The beginning of the secret, after `loci_`.")
    scopes = serializers.ListField(child=serializers.CharField())
    default_scope = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True)
    revoked_at = serializers.DateTimeField(allow_null=True)
    last_used_at = serializers.DateTimeField(allow_null=True)

    def get_default_scope(self, key: AgentKey) -> str:
        """Write the scope in the form that requests take."""
        return written_scope(key.default_visibility, key.default_group_id)


class KeysSerializer(serializers.Serializer[Any]):
    """An agent's keys, newest first."""

    items = KeySerializer(many=True)


class NewGroupSerializer(Strict):
    """A project or squad to create."""

    kind = Word(GroupKind.values)
    name = RawText()


class ChangeAgentSerializer(Strict):
    """Another name for an agent."""

    name = RawText(help_text="Unique for the owner.")


class ChangeKeySerializer(Strict):
    """What is to be changed of a key; the rest stays."""

    label = RawText(required=False, help_text="A name for people.")  # type: ignore[assignment]
    scopes = Words(Permission, required=False, allow_empty=False, help_text="In the place of those that it has.")
    default_scope = WriteScope()
    expires_at = Moment(required=False, allow_null=True, help_text="null for never.")


class GroupSerializer(serializers.Serializer[Any]):
    """A project or squad."""

    id = serializers.UUIDField()
    kind = serializers.CharField()
    name = serializers.CharField()
    agent_ids = serializers.ListField(child=serializers.UUIDField())
    created_at = serializers.DateTimeField()


class GroupsSerializer(serializers.Serializer[Any]):
    """All projects and squads, oldest first."""

    items = GroupSerializer(many=True)
