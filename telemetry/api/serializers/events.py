"""Turn events over REST, and test mode."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.serializers.base import NoteSerializer, PageQuery, Strict
from memory.api.serializers.fields import Flag, Identifier, JsonObject, Line, RawText, Switch, Whole, Word
from memory.errors import InvalidInput
from telemetry.api.csv_answers import form_field
from telemetry.models import Outcome, Stream
from telemetry.services.turns.drafts import MOST_COUNT, MOST_DELEGATIONS, MOST_EXTRA, MOST_MILLISECONDS, MOST_REQUEST
from telemetry.services.turns.events import DEFAULT_DAYS, MOST_DAYS
from telemetry.services.turns.recording import MOST_AT_ONCE

DEFAULT_LIMIT: Final = 200
MOST_ROWS: Final = 1_000


@extend_schema_field({"oneOf": [{"type": "number"}, {"type": "string"}]})
class Timestamp(serializers.Field[Any, Any, Any, Any]):
    """Seconds since 1970, or a moment in ISO 8601; the services check it."""

    def to_internal_value(self, data: Any) -> Any:
        """Give the value on."""
        return data


@extend_schema_field({})
class PassedOver(Timestamp):
    """A value of any type, of which nothing is kept."""


class TurnEventSerializer(Strict):
    """One turn of an agent."""

    request = RawText(help_text=f"What the agent was asked; the first {MOST_REQUEST} characters are kept.")
    id = RawText(
        required=False,
        allow_null=True,
        help_text="Your own id of it, 1 to 128 characters: sent again under it, it is no second event.",
    )
    timestamp = Timestamp(
        required=False, allow_null=True, help_text="When it began: seconds since 1970, or ISO 8601; now when left out."
    )
    matched_spoke = RawText(
        required=False, allow_null=True, help_text="The part it was handed to; `direct` when left out or empty."
    )
    delegations = serializers.ListField(
        child=RawText(), required=False, max_length=MOST_DELEGATIONS, help_text="The parts that had a share in it."
    )
    outcome = Word(Outcome.values, required=False, help_text="How it ended; `completed` when left out.")
    outcome_status = Word(Outcome.values, required=False, help_text="Another name of `outcome`.")
    tool_call_count = Whole(required=False, min_value=0, max_value=MOST_COUNT)
    duration_ms = Whole(required=False, min_value=0, max_value=MOST_MILLISECONDS)
    extra = JsonObject(required=False, allow_null=True, help_text=f"At most {MOST_EXTRA} bytes of JSON.")
    user_id = PassedOver(
        required=False, allow_null=True, help_text="Is passed over: an event belongs to the owner of the key."
    )


@extend_schema_field(TurnEventSerializer(many=True))
class Events(serializers.ListField):
    """Several events; the services check them, and say which one is refused."""

    child = serializers.JSONField()
    default_error_messages = {"not_a_list": "This has to be a list."}

    def to_internal_value(self, data: Any) -> list[Any]:
        """Take a list of objects with the members of an event."""
        if not isinstance(data, list):
            self.fail("not_a_list")
        known = TurnEventSerializer().fields
        for index, one in enumerate(data[: MOST_AT_ONCE + 1]):
            if not isinstance(one, dict):
                raise InvalidInput(f"Event {index}: this has to be an object.", code="field.type", index=index)
            unknown = [str(name)[:60] for name in one if name not in known]
            if unknown:
                raise InvalidInput(
                    f"Event {index}: there is no such field.", code="field.unknown", field=unknown[0], index=index
                )
            if "request" not in one:
                raise InvalidInput(
                    f"Event {index}: 'request' is required.", code="field.required", field="request", index=index
                )
            if one["request"] is None:
                raise InvalidInput(
                    f"Event {index}: 'request' may not be null.", code="field.null", field="request", index=index
                )
        return data


class TurnEventsSerializer(TurnEventSerializer):
    """One event, or `events` with several."""

    request = RawText(required=False, help_text="What the agent was asked; required unless `events` is there.")
    events = Events(required=False, help_text=f"Between 1 and {MOST_AT_ONCE} events instead of one.")


class EventOutcomeSerializer(serializers.Serializer[Any]):
    """What became of one event."""

    id = serializers.CharField(allow_null=True, help_text="Your own id of it.")
    event_id = serializers.UUIDField(allow_null=True, help_text="Its id here; null where nothing is kept.")
    duplicate = serializers.BooleanField(help_text="Whether it was recorded before under your id.")
    notes = NoteSerializer(many=True)


class RecordedEventsSerializer(serializers.Serializer[Any]):
    """What became of events."""

    enabled = serializers.BooleanField(help_text="Whether telemetry is switched on here; else nothing is kept.")
    stream = serializers.CharField(help_text="Where they went: `live` or `test`.")
    test_mode = serializers.BooleanField()
    accepted = serializers.IntegerField(help_text="How many are new.")
    duplicates = serializers.IntegerField(help_text="How many were recorded before.")
    events = EventOutcomeSerializer(many=True)


class EventsQuery(PageQuery):
    """Which events are wanted."""

    limit = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_ROWS,
        help_text=f"Rows on a page, {DEFAULT_LIMIT} when left out.",
        error_messages={"invalid": "This has to be a whole number."},
    )
    days = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=MOST_DAYS,
        help_text=f"From so many days back, {DEFAULT_DAYS} when left out.",
        error_messages={"invalid": "This has to be a whole number."},
    )
    stream = Word(Stream.values, required=False, help_text="The one that events go to now when left out.")
    agent = Identifier(required=False, help_text="Of one agent.")
    spoke = Line(required=False, help_text="That were handed to the part of this name.")
    outcome = Word(Outcome.values, required=False)
    masked = Flag(required=False, help_text="Whether personal data is covered; it is unless this is false.")
    format = form_field()


class TurnEventShownSerializer(serializers.Serializer[Any]):
    """An event as it is listed."""

    event_id = serializers.UUIDField()
    id = serializers.CharField(allow_null=True)
    agent_id = serializers.UUIDField(allow_null=True, help_text="null for an event that a person has sent.")
    timestamp = serializers.DateTimeField(source="occurred_at")
    received_at = serializers.DateTimeField()
    request = serializers.CharField(allow_null=True, help_text="null where the stored text does not open.")
    unreadable = serializers.BooleanField(help_text="Whether something stored with it does not open.")
    masked = serializers.BooleanField(help_text="Whether something of the request is covered.")
    pii_kinds = serializers.ListField(child=serializers.CharField())
    matched_spoke = serializers.CharField(allow_null=True)
    fallback = serializers.BooleanField(help_text="Whether that stands for nothing having fitted.")
    delegations = serializers.ListField(child=serializers.CharField())
    outcome = serializers.CharField()
    tool_call_count = serializers.IntegerField()
    duration_ms = serializers.IntegerField()
    extra = serializers.DictField()


class EventsPageSerializer(serializers.Serializer[Any]):
    """A page of events, newest first."""

    enabled = serializers.BooleanField(help_text="Whether telemetry is switched on here.")
    stream = serializers.CharField()
    test_mode = serializers.BooleanField()
    test_mode_since = serializers.DateTimeField(allow_null=True)
    days = serializers.IntegerField()
    unreadable = serializers.IntegerField(help_text="How many events of this page do not open.")
    items = TurnEventShownSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class SwitchTestModeSerializer(Strict):
    """Whether test mode is to be on."""

    enabled = Switch()


class TestModeSerializer(serializers.Serializer[Any]):
    """Whether test mode is on."""

    enabled = serializers.BooleanField()
    since = serializers.DateTimeField(allow_null=True)
    stream = serializers.SerializerMethodField(help_text="Where events go now.")

    def get_stream(self, found: Any) -> str:
        """Name the stream."""
        return str(Stream.TEST if found.enabled else Stream.LIVE)
