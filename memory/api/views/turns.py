"""`/turns` and `/sessions`: conversations, verbatim."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import MIB, Action
from memory.api.idempotency import idempotent
from memory.api.outcomes import Item, acceptance, check_each, refusal, summary
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery, Values
from memory.api.serializers.turns import (
    SessionPageSerializer,
    SessionSerializer,
    TurnsAnswerSerializer,
    TurnSerializer,
    TurnsSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.errors import InvalidInput
from memory.services.actors import UNSET, Permission
from memory.services.drafts import Draft
from memory.services.sessions import close_session, get_session, list_sessions
from memory.services.turns import MAX_TURNS, TurnDraft, TurnResult, ingest_turns


class TurnsView(LociView):
    """Turns of conversations."""

    actions = {
        "POST": Action(
            id="ingest_turns",
            permission=Permission.WRITE,
            rate="write",
            body=TurnsSerializer,
            most_bytes=8 * MIB,
            answers={200: TurnsAnswerSerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Store turns of a conversation verbatim. Turns with positions can be sent again without effect; equal texts at
        two positions are two turns. A bad turn is refused by itself and the others are stored; when every turn is bad
        the answer is 422 `batch.nothing_stored`.
        """
        values = self.body()
        turns = values["turns"]
        if not 1 <= len(turns) <= MAX_TURNS:
            raise InvalidInput(f"Send between 1 and {MAX_TURNS} turns at a time.", code="batch.size", field="turns")
        checked = check_each(turns, TurnSerializer)
        results: dict[int, Any] = dict(checked.refused)
        places = list(checked.good)
        if not places:
            summary(list(results.values()))
        ingested = ingest_turns(
            actor=self.actor,
            session=values["session"],
            turns=[_turn(checked.good[place]) for place in places],
            scope=values.get("scope", UNSET),
        )
        for turn in ingested.turns:
            results[places[turn.index]] = _outcome(places[turn.index], turn)
        answer = summary([results[place] for place in range(len(turns))])
        return Response({"session_id": str(ingested.session_id), **answer})


def _turn(values: Values) -> TurnDraft:
    position, reply_to = values.pop("position", None), values.pop("reply_to", None)
    return TurnDraft(draft=Draft(**values), position=position, reply_to=reply_to)


def _outcome(place: int, turn: TurnResult) -> Item:
    if turn.error is not None:
        return refusal(place, turn.error)
    return acceptance(
        place,
        created=turn.created,
        id=str(turn.memory_id),
        position=turn.position,
        vector_pending=turn.vector_pending,
        notes=turn.notes,
    )


class SessionsView(LociView):
    """All sessions."""

    actions = {
        "GET": Action(
            id="list_sessions", permission=Permission.READ, query=PageQuery, answers={200: SessionPageSerializer}
        )
    }

    def get(self, request: Request) -> Response:
        """List sessions, newest first: an agent's own, all of the owner's for a person."""
        rows, following = KeysetPagination().page(
            "sessions",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list_sessions(actor=self.actor, after=after, size=size),
            position=lambda row: (row.started_at, row.pk),
        )
        return Response({"items": SessionSerializer(rows, many=True).data, "next": following})


class SessionView(LociView):
    """One session."""

    actions = {"GET": Action(id="get_session", permission=Permission.READ, answers={200: SessionSerializer})}

    def get(self, request: Request, session_id: str) -> Response:
        """Give one session; its turns are listed by `GET /memories?session=<id>`."""
        return Response(SessionSerializer(get_session(actor=self.actor, session_id=path_id(session_id))).data)


class CloseSessionView(LociView):
    """Closing one session."""

    actions = {
        "POST": Action(id="close_session", permission=Permission.WRITE, rate="write", answers={200: SessionSerializer})
    }

    @idempotent
    def post(self, request: Request, session_id: str) -> Response:
        """Mark a conversation as ended. New turns open it again."""
        return Response(SessionSerializer(close_session(actor=self.actor, session_id=path_id(session_id))).data)
