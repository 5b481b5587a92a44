"""`/telemetry/pipeline-coverage/events` and `…/test-mode`: what agents were asked, turn by turn."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from django.http import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import MIB, Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.views.base import LociView
from memory.errors import InvalidInput
from memory.services.actors import Permission
from telemetry.api.csv_answers import CsvRenderer, CsvSchema, csv_answer, wants_csv
from telemetry.api.serializers.events import (
    DEFAULT_LIMIT,
    EventsPageSerializer,
    EventsQuery,
    RecordedEventsSerializer,
    SwitchTestModeSerializer,
    TestModeSerializer,
    TurnEventShownSerializer,
    TurnEventsSerializer,
)
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.events import DEFAULT_DAYS, EventsRequest, list_events, telemetry_status
from telemetry.services.turns.recording import record_events
from telemetry.services.turns.test_mode import set_test_mode, test_mode

CURSOR: Final = "turn events"


class EventsView(LociView):
    """Turn events."""

    needs_memory = False
    renderer_classes = [JSONRenderer, CsvRenderer]
    schema = CsvSchema()
    actions = {
        "GET": Action(
            id="list_turn_events",
            permission=Permission.TELEMETRY_READ,
            query=EventsQuery,
            answers={200: EventsPageSerializer},
            problems=(404,),
        ),
        "POST": Action(
            id="record_turn_events",
            permission=Permission.TELEMETRY_WRITE,
            rate="write",
            body=TurnEventsSerializer,
            most_bytes=8 * MIB,
            answers={
                200: RecordedEventsSerializer,
                201: RecordedEventsSerializer,
                202: RecordedEventsSerializer,
            },
        ),
    }

    def get(self, request: Request) -> HttpResponseBase:
        """List turn events of all of the owner's agents, newest first, with personal data covered. A row that does not
        open with the owner's key says so and spoils no other. `format=csv`, or an Accept header, gives a table; its
        next page is named by the header `X-Loci-Next`.
        """
        query = self.query
        standing = telemetry_status(actor=self.actor)
        wanted = EventsRequest(
            days=query.get("days", DEFAULT_DAYS),
            stream=query.get("stream", standing.stream),
            agent=query.get("agent"),
            spoke=query.get("spoke"),
            outcome=query.get("outcome"),
            masked=query.get("masked", True),
        )
        rows, following = KeysetPagination().page(
            CURSOR,
            limit=query.get("limit", DEFAULT_LIMIT),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_events(actor=self.actor, request=wanted, after=after, size=size),
            position=lambda row: (row.occurred_at, row.event_id),
        )
        items = TurnEventShownSerializer(rows, many=True).data
        if wants_csv(self):
            columns = list(TurnEventShownSerializer().fields)
            return csv_answer(
                columns,
                ([item[name] for name in columns] for item in items),
                name="turn-events.csv",
                following=following,
            )
        page = {
            "enabled": standing.enabled,
            "stream": wanted.stream,
            "test_mode": standing.test_mode,
            "test_mode_since": standing.test_mode_since,
            "days": wanted.days,
            "unreadable": sum(row.unreadable for row in rows),
            "items": rows,
            "next": following,
        }
        # The header may ask for a table and the query for none.
        return Response(EventsPageSerializer(page).data, content_type=JSONRenderer.media_type)

    @idempotent
    def post(self, request: Request) -> Response:
        """Record turns of the agent that asks: one, or up to 1,000 as `events`; all of them, or none when one is
        refused, whose `index` the error names. 201 with what became of each; 200 where all were recorded before under
        their ids; 202 where telemetry is switched off, and then nothing is kept.
        """
        values = self.body()
        events = values.pop("events", None)
        if events is not None and values:
            raise InvalidInput(
                "Send the fields of one event, or several as 'events', not both.", code="events.mixed", field="events"
            )
        if events is None and "request" not in values:
            raise InvalidInput("'request' is required.", code="field.required", field="request")
        found = record_events(
            actor=self.actor, events=[TurnDraft(**one) for one in ([values] if events is None else events)]
        )
        status = 202 if not found.enabled else 201 if found.accepted else 200
        return Response(RecordedEventsSerializer(asdict(found)).data, status=status)


class TestModeView(LociView):
    """Test mode."""

    needs_memory = False
    actions = {
        "GET": Action(id="get_test_mode", permission=Permission.TELEMETRY_READ, answers={200: TestModeSerializer}),
        "POST": Action(
            id="set_test_mode",
            permission=Permission.SETTINGS,
            rate="write",
            body=SwitchTestModeSerializer,
            answers={200: TestModeSerializer},
        ),
    }

    def get(self, request: Request) -> Response:
        """Tell whether test mode is on: then events go to a stream of their own, which the next switch empties."""
        return Response(TestModeSerializer(test_mode(actor=self.actor)).data)

    @idempotent
    def post(self, request: Request) -> Response:
        """Switch test mode on or off, which empties its stream. Switching to what it is already changes nothing."""
        found = set_test_mode(actor=self.actor, enabled=self.body()["enabled"])
        return Response(TestModeSerializer(found).data)
