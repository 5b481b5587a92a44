"""Turns of conversations, and the sessions that they make."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import ItemErrorSerializer, NoteSerializer, Strict
from memory.api.serializers.fields import JsonObject, Labels, Moment, RawText, Unit, Whole, Word, WriteScope
from memory.api.serializers.memories import EachForItself
from memory.models import Role
from memory.services.turns import MAX_POSITION, MAX_TURNS


class TurnSerializer(Strict):
    """One turn of a conversation, kept verbatim."""

    text = RawText()
    role = Word(Role.values, required=False)
    speaker = RawText(required=False, allow_null=True)
    tool_name = RawText(required=False, allow_null=True)
    call_id = RawText(required=False, allow_null=True)
    position = Whole(
        required=False,
        allow_null=True,
        min_value=0,
        max_value=MAX_POSITION,
        help_text="Its place in the session, the next free one when left out.",
    )
    reply_to = Whole(
        required=False, allow_null=True, min_value=0, max_value=MAX_POSITION, help_text="Position of the turn answered."
    )
    category = RawText(required=False)
    importance = Unit(required=False)
    tags = Labels(required=False)
    topics = Labels(required=False)
    source = RawText(required=False, allow_null=True)  # type: ignore[assignment]
    metadata = JsonObject(required=False, allow_null=True)
    occurred_at = Moment(required=False, help_text="When it was said; now when left out.")
    expires_at = Moment(required=False, allow_null=True)


class TurnsSerializer(Strict):
    """Turns of one conversation, in order."""

    session = RawText(help_text="Your own name of the conversation; the first turn begins it.")
    turns = EachForItself(child=TurnSerializer(), help_text=f"Between 1 and {MAX_TURNS} turns.")
    scope = WriteScope()


class TurnResultSerializer(serializers.Serializer[Any]):
    """What became of one turn."""

    index = serializers.IntegerField(help_text="Its place in the request, from 0.")
    outcome = serializers.CharField(help_text="`created`, `existing` or `refused`.")
    id = serializers.UUIDField(required=False)
    position = serializers.IntegerField(required=False)
    vector_pending = serializers.BooleanField(required=False)
    notes = NoteSerializer(many=True, required=False)
    error = ItemErrorSerializer(required=False)


class TurnsAnswerSerializer(serializers.Serializer[Any]):
    """What became of the turns; the good ones are stored whatever the others were."""

    session_id = serializers.UUIDField()
    created = serializers.IntegerField()
    existing = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = TurnResultSerializer(many=True)


class SessionSerializer(serializers.Serializer[Any]):
    """One conversation."""

    id = serializers.UUIDField()
    session = serializers.CharField(source="label", help_text="The name that the client gave it.")
    agent_id = serializers.UUIDField(allow_null=True)
    turn_count = serializers.IntegerField()
    next_position = serializers.IntegerField()
    started_at = serializers.DateTimeField()
    last_turn_at = serializers.DateTimeField(allow_null=True)
    closed_at = serializers.DateTimeField(allow_null=True)


class SessionPageSerializer(serializers.Serializer[Any]):
    """A page of sessions, newest first."""

    items = SessionSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
