"""`/graph/entities`, `/graph/query` and `/graph/stats`: entities, what is around them, and the graph at large."""

from __future__ import annotations

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.count_pages import page_by_count
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery
from memory.api.serializers.graph import (
    CHANGED_ENTITY,
    AliasSerializer,
    EntityBodySerializer,
    EntityQuery,
    EntitySerializer,
    FoundEntityPageSerializer,
    GraphAnswerSerializer,
    GraphStatsSerializer,
    MergedSerializer,
    NeighbourhoodSerializer,
    NeighbourQuery,
    QuestionSerializer,
    RelationPageSerializer,
    RelationQuery,
    RelationSerializer,
    UntoldEntitySerializer,
)
from memory.api.serializers.memories import SHOWN_CHARACTERS, CountedMemorySerializer, MemoryPageSerializer
from memory.api.serializers.merging import EntityChangeSerializer
from memory.api.views.base import LociView, path_id
from memory.errors import InvalidInput
from memory.services.actors import UNSET, Permission
from memory.services.graph.entities import EntityDraft, add_alias, get_entity, merge_entity
from memory.services.graph.entity_changes import change_entity, delete_entity, memories_of
from memory.services.graph.reading import get_neighbours, graph_query, graph_stats
from memory.services.graph.relations import relations_of
from memory.services.graph.searching import look_up, search_entities
from memory.services.memories import accesses
from memory.services.retention_policies import policy_of


class EntitiesView(LociView):
    """All entities."""

    actions = {
        "GET": Action(
            id="list_entities", permission=Permission.READ, query=EntityQuery, answers={200: FoundEntityPageSerializer}
        ),
        "POST": Action(
            id="merge_entity",
            permission=Permission.WRITE,
            rate="write",
            body=EntityBodySerializer,
            answers={201: MergedSerializer, 200: MergedSerializer},
            locates=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """List entities, the most mentioned first; only those that fit the words, name or types that are given."""
        query = self.query
        if query.get("q") == "":
            raise InvalidInput("The search holds no word.", code="q.invalid", field="q")
        ahead = look_up(actor=self.actor, name=query.get("name"))
        rows, following = page_by_count(
            "entities",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: search_entities(
                actor=self.actor,
                query=query.get("q", ""),
                name=query.get("name"),
                types=query.get("type", ()),
                scope=query.get("scope", UNSET),
                after=after,
                size=size,
                ahead=ahead,
            ),
            position=lambda row: (row.mention_count, row.pk),
        )
        items = EntitySerializer(rows, many=True).data
        return Response({"items": items, "next": following, "degraded": ahead.degraded})

    @idempotent
    def post(self, request: Request) -> Response:
        """Merge an entity in: 201 for a new one, 200 when one of this type and scope bears the name already; that one
        counts one more mention.
        """
        values = self.body()
        memory_id, scope = values.pop("memory", None), values.pop("scope", UNSET)
        merged = merge_entity(actor=self.actor, draft=EntityDraft(**values), scope=scope, memory_id=memory_id)
        return Response(
            MergedSerializer(merged).data,
            status=201 if merged.created else 200,
            headers={"Location": reverse("api:entity", args=[merged.entity_id])},
        )


class EntityView(LociView):
    """One entity."""

    actions = {
        "GET": Action(id="get_entity", permission=Permission.READ, answers={200: EntitySerializer}),
        "PATCH": Action(
            id="change_entity",
            permission=Permission.WRITE,
            rate="write",
            body=EntityChangeSerializer,
            answers={200: CHANGED_ENTITY},
            problems=(409,),
        ),
        "DELETE": Action(id="delete_entity", permission=Permission.REVIEW, rate="write", answers={204: None}),
    }

    def get(self, request: Request, entity_id: str) -> Response:
        """Give one entity."""
        return Response(EntitySerializer(get_entity(actor=self.actor, entity_id=path_id(entity_id))).data)

    @idempotent
    def patch(self, request: Request, entity_id: str) -> Response:
        """Change an entity's name, type, properties or importance. Under its former name it is still found. A name that
        another entity of its type and scope bears is 409.
        """
        found, changes = path_id(entity_id), self.body(partial=True)
        if not changes:
            raise InvalidInput("Name at least one field to change.", code="change.empty")
        row = change_entity(actor=self.actor, entity_id=found, changes=changes)
        reads = Permission.READ in self.actor.permissions
        return Response(EntitySerializer(row).data if reads else UntoldEntitySerializer(row).data)

    @idempotent
    def delete(self, request: Request, entity_id: str) -> Response:
        """Delete an entity with its relations and mentions, for good. Memories stay, and so do events and causes,
        without it.
        """
        delete_entity(actor=self.actor, entity_id=path_id(entity_id))
        return Response(status=204)


class MentionsView(LociView):
    """Memories that speak of one entity."""

    actions = {
        "GET": Action(
            id="list_mentions", permission=Permission.READ, query=PageQuery, answers={200: MemoryPageSerializer}
        )
    }

    def get(self, request: Request, entity_id: str) -> Response:
        """List the live memories that speak of an entity and that the caller may read, the newest first."""
        found = path_id(entity_id)
        rows, following = KeysetPagination().page(
            "mentions",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: memories_of(actor=self.actor, entity_id=found, after=after, size=size),
            position=lambda row: (row.created_at, row.pk),
        )
        uses = accesses(actor=self.actor, memory_ids=[row.pk for row in rows]) if rows else {}
        shown = {"uses": uses, "most_characters": SHOWN_CHARACTERS, "policy": policy_of(self.actor)}
        items = CountedMemorySerializer(rows, many=True, context=shown).data
        return Response({"items": items, "next": following})


class AliasesView(LociView):
    """Other names of one entity."""

    actions = {
        "POST": Action(
            id="add_alias",
            permission=Permission.WRITE,
            rate="write",
            body=AliasSerializer,
            answers={204: None},
        )
    }

    @idempotent
    def post(self, request: Request, entity_id: str) -> Response:
        """Let an entity be found by another name too. A name that another entity of its type and scope bears is 409."""
        found = path_id(entity_id)
        add_alias(actor=self.actor, entity_id=found, alias=self.body()["alias"])
        return Response(status=204)


class NeighboursView(LociView):
    """What is around one entity."""

    actions = {
        "GET": Action(
            id="get_neighbours",
            permission=Permission.READ,
            query=NeighbourQuery,
            answers={200: NeighbourhoodSerializer},
        )
    }

    def get(self, request: Request, entity_id: str) -> Response:
        """Walk one to three steps over relations that hold, nearest and heaviest first."""
        query = self.query
        found = get_neighbours(
            actor=self.actor,
            entity_id=path_id(entity_id),
            hops=query.get("hops", 1),
            limit=query.get("limit", 50),
            labels=query.get("label", ()),
            valid_at=query.get("valid_at"),
            known_at=query.get("known_at"),
        )
        entities = [
            {"id": str(row.pk), "name": row.name, "type": row.type, "distance": distance}
            for row, distance in found.entities
        ]
        relations = RelationSerializer(found.relations, many=True).data
        return Response({"entities": entities, "relations": relations, "degraded": list(found.degraded)})


class EntityRelationsView(LociView):
    """Relations of one entity, and their history."""

    actions = {
        "GET": Action(
            id="list_relations",
            permission=Permission.READ,
            query=RelationQuery,
            answers={200: RelationPageSerializer},
        )
    }

    def get(self, request: Request, entity_id: str) -> Response:
        """List the relations of an entity, the newest recorded first. Those that have ended are listed with
        `superseded=true`, or with a `valid_at` at which they held.
        """
        query = self.query
        found = path_id(entity_id)
        rows, following = KeysetPagination().page(
            "relations",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: relations_of(
                actor=self.actor,
                entity_id=found,
                label=query.get("label"),
                direction=query.get("direction", "both"),
                superseded=query.get("superseded") == "true",
                valid_at=query.get("valid_at"),
                known_at=query.get("known_at"),
                after=after,
                size=size,
            ),
            position=lambda row: (row.recorded_at, row.pk),
        )
        return Response({"items": RelationSerializer(rows, many=True).data, "next": following})


class GraphQueryView(LociView):
    """Questions to the graph."""

    actions = {
        "POST": Action(
            id="graph_query",
            permission=Permission.READ,
            rate="recall",
            body=QuestionSerializer,
            answers={200: GraphAnswerSerializer},
        )
    }

    def post(self, request: Request) -> Response:
        """Answer a question by its key terms, the entities that they name and the relations of those as text."""
        return Response(GraphAnswerSerializer(graph_query(actor=self.actor, **self.body())).data)


class GraphStatsView(LociView):
    """Counts."""

    actions = {"GET": Action(id="get_graph_stats", permission=Permission.READ, answers={200: GraphStatsSerializer})}

    def get(self, request: Request) -> Response:
        """Count entities, relations, events, causes, links and mentions that the caller may read."""
        return Response(graph_stats(actor=self.actor))
