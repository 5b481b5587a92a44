"""`/graph/relations`, `/graph/events`, `/graph/causes` and `/memories/{memory_id}/edges`: what is said in the graph."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.graph import (
    AddedRelationSerializer,
    CauseBodySerializer,
    CausePageSerializer,
    CauseQuery,
    CauseSerializer,
    EdgeBodySerializer,
    EdgeSerializer,
    EdgesSerializer,
    EndedRelationSerializer,
    EndSerializer,
    EventBodySerializer,
    EventPageSerializer,
    EventQuery,
    EventSerializer,
    EvidenceSerializer,
    RelationBodySerializer,
    RelationSerializer,
    RelationWithEvidenceSerializer,
    WrittenSerializer,
    reference_of,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import UNSET, Permission
from memory.services.graph.edges import edges_of, link_memories, unlink_memories
from memory.services.graph.happenings import add_causal_link, list_causes, list_events, merge_temporal_event
from memory.services.graph.relations import (
    RelationDraft,
    add_relation,
    get_relation,
    retract_relation,
    supersede_relation,
)

WRITTEN = {201: WrittenSerializer, 200: WrittenSerializer}


def written(row_id: Any, created: bool) -> Response:
    """Tell what became of something, without what it says: the key may not be one that reads."""
    return Response({"id": str(row_id), "created": created}, status=201 if created else 200)


class RelationsView(LociView):
    """Stating relations."""

    actions = {
        "POST": Action(
            id="add_relation",
            permission=Permission.WRITE,
            rate="write",
            body=RelationBodySerializer,
            answers={201: AddedRelationSerializer, 200: AddedRelationSerializer},
            locates=True,
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """State a relation between two entities that are there. Where the label has one target at a time, the relation
        to another target ends first. An open relation between the two is strengthened (200), else a new one is made.
        """
        values = self.body()
        memory_id, scope = values.pop("memory", None), values.pop("scope", UNSET)
        for end in ("source", "target"):
            values[end] = reference_of(values[end], values.pop(f"{end}_type", None))
        added = add_relation(actor=self.actor, draft=RelationDraft(**values), scope=scope, memory_id=memory_id)
        return Response(
            AddedRelationSerializer(added).data,
            status=201 if added.created else 200,
            headers={"Location": reverse("api:relation", args=[added.relation.pk])},
        )


class RelationView(LociView):
    """One relation."""

    actions = {
        "GET": Action(id="get_relation", permission=Permission.READ, answers={200: RelationWithEvidenceSerializer})
    }

    def get(self, request: Request, relation_id: str) -> Response:
        """Give one relation, whatever its state, with the newest reasons for it."""
        row, evidence = get_relation(actor=self.actor, relation_id=path_id(relation_id))
        body = {**RelationSerializer(row).data, "evidence": EvidenceSerializer(evidence, many=True).data}
        return Response(body)


class SupersedeView(LociView):
    """Ending one relation."""

    actions = {
        "POST": Action(
            id="supersede_relation",
            permission=Permission.WRITE,
            rate="write",
            body=EndSerializer,
            answers={200: EndedRelationSerializer},
        )
    }

    @idempotent
    def post(self, request: Request, relation_id: str) -> Response:
        """End a relation that holds. It stays in the history and is never opened again; a second time is 409."""
        found = path_id(relation_id)
        row = supersede_relation(actor=self.actor, relation_id=found, **self.body())
        return Response(EndedRelationSerializer(row).data)


class RetractView(LociView):
    """Taking one relation back."""

    actions = {
        "POST": Action(
            id="retract_relation", permission=Permission.WRITE, rate="write", answers={200: EndedRelationSerializer}
        )
    }

    @idempotent
    def post(self, request: Request, relation_id: str) -> Response:
        """Take a relation back that never held. Only questions about what was known before still find it."""
        row = retract_relation(actor=self.actor, relation_id=path_id(relation_id))
        return Response(EndedRelationSerializer(row).data)


class EventsView(LociView):
    """Events."""

    actions = {
        "GET": Action(
            id="list_events", permission=Permission.READ, query=EventQuery, answers={200: EventPageSerializer}
        ),
        "POST": Action(
            id="merge_temporal_event",
            permission=Permission.WRITE,
            rate="write",
            body=EventBodySerializer,
            answers=WRITTEN,
        ),
    }

    def get(self, request: Request) -> Response:
        """List events with their participants, the latest first."""
        query = self.query
        rows, following = KeysetPagination().page(
            "events",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_events(
                actor=self.actor,
                entity_id=query.get("entity"),
                occurred_from=query.get("occurred_from"),
                occurred_until=query.get("occurred_until"),
                after=after,
                size=size,
            ),
            position=lambda shown: (shown[0].occurred_at, shown[0].pk),
        )
        for event, participants in rows:
            event.participants = participants  # type: ignore[attr-defined]
        items = EventSerializer([event for event, _ in rows], many=True).data
        return Response({"items": items, "next": following})

    @idempotent
    def post(self, request: Request) -> Response:
        """Add an event (201), or participants and a source to the same event (200). Participants have to be there."""
        values = self.body()
        (event, _), created = merge_temporal_event(
            actor=self.actor,
            text=values["text"],
            occurred_at=values["occurred_at"],
            participants=[reference_of(one) for one in values.get("participants", ())],
            scope=values.get("scope", UNSET),
            memory_id=values.get("memory"),
        )
        return written(event.pk, created)


class CausesView(LociView):
    """Causes and effects."""

    actions = {
        "GET": Action(
            id="list_causes", permission=Permission.READ, query=CauseQuery, answers={200: CausePageSerializer}
        ),
        "POST": Action(
            id="add_causal_link",
            permission=Permission.WRITE,
            rate="write",
            body=CauseBodySerializer,
            answers=WRITTEN,
        ),
    }

    def get(self, request: Request) -> Response:
        """List causes and effects, the newest recorded first."""
        query = self.query
        rows, following = KeysetPagination().page(
            "causes",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_causes(
                actor=self.actor, entity_id=query.get("entity"), after=after, size=size
            ),
            position=lambda row: (row.recorded_at, row.pk),
        )
        return Response({"items": CauseSerializer(rows, many=True).data, "next": following})

    @idempotent
    def post(self, request: Request) -> Response:
        """Add that one thing caused another (201), or a source to the same cause and effect (200)."""
        values = self.body()
        about = {name: reference_of(values.pop(name)) for name in ("cause_entity", "effect_entity") if name in values}
        memory_id, scope = values.pop("memory", None), values.pop("scope", UNSET)
        row, created = add_causal_link(actor=self.actor, **values, **about, scope=scope, memory_id=memory_id)
        return written(row.pk, created)


class EdgesView(LociView):
    """Links of one memory."""

    actions = {
        "GET": Action(id="list_edges", permission=Permission.READ, answers={200: EdgesSerializer}),
        "POST": Action(
            id="link_memories",
            permission=Permission.WRITE,
            rate="write",
            body=EdgeBodySerializer,
            answers=WRITTEN,
        ),
    }

    def get(self, request: Request, memory_id: str) -> Response:
        """List the links of a memory on either side, the oldest first, at most two hundred."""
        linked = edges_of(actor=self.actor, memory_id=path_id(memory_id))
        return Response({"items": EdgeSerializer(linked, many=True).data})

    @idempotent
    def post(self, request: Request, memory_id: str) -> Response:
        """Link a memory to another one. The same link again raises its weight at most (200)."""
        found = path_id(memory_id)
        values = self.body()
        target_id, insight_id = values.pop("target"), values.pop("insight", None)
        linked, created = link_memories(
            actor=self.actor, source_id=found, target_id=target_id, insight_id=insight_id, **values
        )
        return written(linked.edge.pk, created)


class EdgeView(LociView):
    """One link of one memory."""

    actions = {"DELETE": Action(id="unlink_memories", permission=Permission.WRITE, rate="write", answers={204: None})}

    @idempotent
    def delete(self, request: Request, memory_id: str, edge_id: str) -> Response:
        """Take a link of a memory away, from either of its ends."""
        unlink_memories(actor=self.actor, memory_id=path_id(memory_id), edge_id=path_id(edge_id))
        return Response(status=204)
