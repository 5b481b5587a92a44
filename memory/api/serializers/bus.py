"""Messages of the bus, and the tokens and the trust of the agents that speak on it."""

from __future__ import annotations

import math
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.serializers.base import NoteSerializer, Query, Strict
from memory.api.serializers.fields import (
    SCOPE_FORM,
    Identifier,
    Labels,
    Lines,
    Moment,
    RawText,
    ReadScope,
    Switch,
    Unit,
    Whole,
    Word,
    WriteScope,
)
from memory.crypto.capabilities import RANKS
from memory.models import BusMessage, Status, Visibility
from memory.services.actors import written_scope
from memory.services.bus.capabilities import MAX_PUBLISH_RATE
from memory.services.bus.publishing import LEAST_IMPORTANCE
from memory.services.bus.reading import LIMIT, MAX_LIMIT, Delivered
from memory.services.bus.weighing import STATEMENTS, Resolution

TARGET_FORM = "owner, project:<id>, squad:<id> or agent:<id>"


class NewCapabilitySerializer(Strict):
    """A token to issue; what is left out is as wide as the issuer may grant, and at most the usual."""

    max_scope = Word(RANKS, required=False, help_text="The widest scope; usually owner.")
    max_importance = Unit(required=False, help_text="The highest importance of a message; usually 1.")
    can_publish = Switch(required=False, help_text="Whether it is for more than reading; usually it is.")
    publish_rate = Whole(
        required=False, min_value=1, max_value=MAX_PUBLISH_RATE, help_text="Messages within an hour; usually 50."
    )
    expires_at = Moment(required=False, allow_null=True, help_text="At most in 30 days; usually in 24 hours.")


class CapabilitySerializer(serializers.Serializer[Any]):
    """A token just issued, with what it allows."""

    token = serializers.CharField(
        allow_null=True, help_text="Shown once. null when an answer is given again under an idempotency key."
    )
    agent_id = serializers.UUIDField()
    max_scope = serializers.CharField()
    max_importance = serializers.FloatField()
    can_publish = serializers.BooleanField()
    publish_rate = serializers.IntegerField()
    issued_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()


class TrustSerializer(Strict):
    """How far an agent is to be trusted."""

    trust = Unit(allow_null=True, help_text="null where nobody is to have said so.")


class PublicationSerializer(Strict):
    """A message to publish."""

    text = RawText()
    target = RawText(help_text=f"Whom it is for: {TARGET_FORM}.")
    topics = Labels(required=False)
    importance = Unit(required=False, help_text=f"0.5 when left out; below {LEAST_IMPORTANCE} it is refused.")


class _MessageSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    source_agent = serializers.UUIDField(source="publisher_id", help_text="The agent that published it.")
    target = serializers.SerializerMethodField(help_text=f"Whom it is for: {TARGET_FORM}.")
    text = serializers.CharField()
    topics = serializers.ListField(child=serializers.CharField())
    importance = serializers.FloatField()
    pii_kinds = serializers.ListField(child=serializers.CharField(), help_text="The kinds of personal data in it.")
    published_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()

    def get_target(self, message: BusMessage) -> str:
        """Write whom a message is for in the form that requests take."""
        if message.visibility == Visibility.AGENT:
            return f"{message.visibility}:{message.scope}"
        return written_scope(message.visibility, message.group_id)


class PublishedSerializer(_MessageSerializer):
    """A message as it was published."""


class ContradictionSerializer(serializers.Serializer[Any]):
    """A memory of the reader that a message contradicts."""

    memory_id = serializers.UUIDField(source="memory.pk")
    overlap = serializers.FloatField(help_text="The share of common words.")
    resolution = Word(Resolution, help_text="What becomes of the two once the message is accepted.")
    ground = serializers.CharField(help_text="What decides: trust, time, or protected.")


class DeliveredSerializer(_MessageSerializer):
    """A message as its reader is given it."""

    trust = serializers.FloatField(help_text="How far the agent that published it is trusted, 0 to 1.")
    repeats = serializers.UUIDField(allow_null=True, help_text="The memory that says the same already.")
    contradicts = ContradictionSerializer(many=True)

    def to_representation(self, delivered: Delivered) -> dict[str, Any]:
        """Put a message and what it was weighed against into one object."""
        weighed = delivered.weighed
        return {
            **PublishedSerializer(delivered.message).data,
            "trust": weighed.trust,
            "repeats": str(weighed.repeats.pk) if weighed.repeats is not None else None,
            "contradicts": ContradictionSerializer(weighed.contradictions, many=True).data,
        }


class BusPageSerializer(serializers.Serializer[Any]):
    """Messages, oldest first."""

    items = DeliveredSerializer(many=True)
    after = serializers.CharField(
        allow_null=True, help_text="Where to go on, now or later; null where there has been no message yet."
    )
    more = serializers.BooleanField(help_text="Whether there may be more messages by now.")


class _UnitText(serializers.FloatField):
    """A number from 0 to 1, written in a query parameter."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=1, **kwargs)
        self.error_messages["invalid"] = "This has to be a number."

    def to_internal_value(self, data: Any) -> float:
        """Take a finite number."""
        found = float(super().to_internal_value(data))
        if not math.isfinite(found):
            self.fail("invalid")
        return found


class BusQuery(Query):
    """Which messages to read."""

    scope = ReadScope()
    topic = Lines(required=False, help_text="With any of these topics, in any case.")
    min_importance = _UnitText(required=False)
    agent = Identifier(required=False, help_text="Published by this agent.")
    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MAX_LIMIT,
        help_text=f"Messages at once, {LIMIT} when left out.",
        error_messages={"invalid": "This has to be a whole number."},
    )
    after = RawText(required=False, help_text="`after` of the last answer.")


@extend_schema_field(
    {
        "type": "string",
        "description": f"Who may read the memory: {SCOPE_FORM}; only whom the message was for. Left out, its own.",
    }
)
class _AcceptScope(WriteScope):
    pass


class AcceptSerializer(Strict):
    """How to store a message."""

    scope = _AcceptScope()
    kind = Word(STATEMENTS, required=False, help_text="note when left out.")


class AcceptedSerializer(serializers.Serializer[Any]):
    """What became of an accepted message."""

    memory_id = serializers.UUIDField()
    created = serializers.BooleanField(help_text="Whether the memory is new.")
    status = Word(
        (Status.LIVE, Status.SUPERSEDED), help_text="superseded where something trusted more stands against it."
    )
    superseded = serializers.ListField(child=serializers.UUIDField(), help_text="The memories that made way for it.")
    kept = serializers.UUIDField(allow_null=True, help_text="The memory that it made way for itself.")
    reviews = serializers.ListField(child=serializers.UUIDField(), help_text="The items in which a person decides.")
    notes = NoteSerializer(many=True)
