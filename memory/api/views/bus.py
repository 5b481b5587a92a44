"""`/bus/messages`, and the tokens and the trust of agents."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import CAPABILITY_HEADER, Action
from memory.api.idempotency import idempotent
from memory.api.pagination import decode, encode
from memory.api.serializers.agents import AgentSerializer
from memory.api.serializers.bus import (
    AcceptedSerializer,
    AcceptSerializer,
    BusPageSerializer,
    BusQuery,
    CapabilitySerializer,
    DeliveredSerializer,
    NewCapabilitySerializer,
    PublicationSerializer,
    PublishedSerializer,
    TrustSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import UNSET, Permission
from memory.services.bus.accepting import accept_message
from memory.services.bus.capabilities import Grant, end_capabilities, issue_capability
from memory.services.bus.publishing import Publication, publish
from memory.services.bus.reading import LIMIT, ReadRequest, read_messages
from memory.services.bus.trusting import set_trust

CURSOR: Final = "bus"


def capability_of(request: Request) -> str | None:
    """Give the capability token that came with a request."""
    return request.headers.get(CAPABILITY_HEADER)


class CapabilitiesView(LociView):
    """Tokens of one agent."""

    needs_memory = False
    actions = {
        "POST": Action(
            id="issue_capability",
            permission=Permission.AGENTS,
            rate="write",
            body=NewCapabilitySerializer,
            answers={201: CapabilitySerializer},
            capability=True,
        ),
        "DELETE": Action(id="end_capabilities", permission=Permission.AGENTS, rate="write", answers={204: None}),
    }

    @idempotent
    def post(self, request: Request, agent_id: str) -> Response:
        """Issue a token by which an agent may use the bus. It is shown in this answer only. An agent that issues brings
        a token of its own and can grant nothing that this one does not allow.
        """
        issued = issue_capability(
            actor=self.actor, agent_id=path_id(agent_id), grant=Grant(**self.body()), own=capability_of(request)
        )
        shown = CapabilitySerializer({**asdict(issued.capability), "token": issued.token}).data
        return Response(shown, status=201)

    @idempotent
    def delete(self, request: Request, agent_id: str) -> Response:
        """End all tokens of an agent at once."""
        end_capabilities(actor=self.actor, agent_id=path_id(agent_id))
        return Response(status=204)

    def kept_answer(self, body: Any) -> Any:
        """Keep no token."""
        return {**body, "token": None} if isinstance(body, dict) and "token" in body else body


class TrustView(LociView):
    """Trust in one agent."""

    needs_memory = False
    actions = {
        "PUT": Action(
            id="set_trust",
            permission=Permission.AGENTS,
            rate="write",
            body=TrustSerializer,
            answers={200: AgentSerializer},
        )
    }

    @idempotent
    def put(self, request: Request, agent_id: str) -> Response:
        """Say how far an agent is trusted. Only persons may; agents are refused whatever their permissions."""
        agent = set_trust(actor=self.actor, agent_id=path_id(agent_id), trust=self.body()["trust"])
        return Response(AgentSerializer(agent).data)


class BusView(LociView):
    """All messages."""

    actions = {
        "GET": Action(
            id="read_bus",
            permission=Permission.READ,
            query=BusQuery,
            answers={200: BusPageSerializer},
            capability=True,
        ),
        "POST": Action(
            id="publish_on_bus",
            permission=Permission.WRITE,
            rate="write",
            body=PublicationSerializer,
            answers={201: PublishedSerializer},
            capability=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """Read the messages that are for the caller, the oldest first. Each is compared with what the caller remembers.
        Going on from `after` misses nothing.
        """
        query = self.query
        size, cursor = query.get("limit", LIMIT), query.get("after")
        found = read_messages(
            actor=self.actor,
            token=capability_of(request),
            request=ReadRequest(
                scope=query.get("scope", UNSET),
                topics=query.get("topic", ()),
                least_importance=query.get("min_importance", 0.0),
                source_agent=query.get("agent"),
            ),
            after=decode(CURSOR, cursor),
            size=size,
        )
        last = found[-1].message if found else None
        after = cursor if last is None else encode(CURSOR, (last.published_at, last.pk))
        return Response(
            {"items": DeliveredSerializer(found, many=True).data, "after": after, "more": len(found) == size}
        )

    @idempotent
    def post(self, request: Request) -> Response:
        """Publish a message in the name of the agent that asks. It lives for a day."""
        message = publish(actor=self.actor, token=capability_of(request), publication=Publication(**self.body()))
        return Response(PublishedSerializer(message).data, status=201)


class AcceptView(LociView):
    """Accepting one message."""

    actions = {
        "POST": Action(
            id="accept_from_bus",
            permission=Permission.WRITE,
            rate="write",
            body=AcceptSerializer,
            answers={200: AcceptedSerializer, 201: AcceptedSerializer},
            capability=True,
        )
    }

    @idempotent
    def post(self, request: Request, message_id: str) -> Response:
        """Store a message as a memory: 201 new, 200 when a memory says the same. What it contradicts makes way, stays,
        or is put to a person.
        """
        accepted = accept_message(
            actor=self.actor, token=capability_of(request), message_id=path_id(message_id), **self.body()
        )
        return Response(AcceptedSerializer(accepted).data, status=201 if accepted.created else 200)
