"""The audit as an owner reads it: what was done, and who has read a memory."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import PageQuery
from memory.api.serializers.fields import Identifier, Line, Moment
from memory.services.audit.vocabulary import ACTORS, KINDS, VERBS


class LogQuery(PageQuery):
    """Which events to list."""

    verb = Line(required=False, help_text=f"What was done; one of {', '.join(sorted(VERBS))}.")
    actor = Line(
        required=False, help_text=f"By whom: one of {', '.join(sorted(ACTORS))}, `agent:<id>` or `staff:<id>`."
    )
    kind = Line(
        required=False,
        help_text=f"To what sort of thing; for reads, the sort of request. One of {', '.join(sorted(KINDS))}.",
    )
    object = Identifier(required=False, help_text="To which one.")
    since = Moment(required=False, help_text="At this moment or later.")
    until = Moment(required=False, help_text="Before this moment.")


class LoggedEventSerializer(serializers.Serializer[Any]):
    """One event; it holds no content."""

    id = serializers.UUIDField(source="event.id")
    at = serializers.DateTimeField(source="event.created_at")
    actor = serializers.CharField(source="event.actor")
    agent_id = serializers.UUIDField(allow_null=True)
    agent_name = serializers.CharField(
        allow_null=True, help_text="null for others, and where the agent is gone or its name cannot be read."
    )
    verb = serializers.CharField(source="event.verb")
    kind = serializers.CharField(source="event.object_kind", help_text="To what sort of thing it was done.")
    object_id = serializers.UUIDField(source="event.object_id", allow_null=True)
    reason = serializers.CharField(source="event.reason", help_text="A code; for reads, the way in.")
    count = serializers.IntegerField(source="event.count", help_text="For reads, how many memories were shown.")
    seal = serializers.IntegerField(
        source="event.sealed_in", allow_null=True, help_text="The seal that it is under; null for the last minutes."
    )


class LogPageSerializer(serializers.Serializer[Any]):
    """A page of the access log, newest first."""

    items = LoggedEventSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class ReaderSerializer(serializers.Serializer[Any]):
    """One who has read a memory."""

    agent_id = serializers.UUIDField(allow_null=True, help_text="null for the owner.")
    name = serializers.CharField(
        allow_null=True, help_text="null for the owner, and where the agent is gone or its name cannot be read."
    )
    reads = serializers.IntegerField()
    first_at = serializers.DateTimeField()
    last_at = serializers.DateTimeField()


class ReadersSerializer(serializers.Serializer[Any]):
    """Who has read a memory, the last reader first."""

    items = ReaderSerializer(many=True)
