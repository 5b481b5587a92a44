"""`/graph/communities`: what belongs together, what people call it, and what joins it."""

from __future__ import annotations

import re
from typing import Final

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.count_pages import page_by_count
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.base import PageQuery
from memory.api.serializers.communities import (
    BridgeQuery,
    BridgeSerializer,
    BridgesSerializer,
    CommunityNameSerializer,
    CommunityPageSerializer,
    CommunitySerializer,
    LastDivisionSerializer,
    NewDivisionSerializer,
)
from memory.api.serializers.graph import EntityPageSerializer, EntitySerializer
from memory.api.serializers.memories import SHOWN_CHARACTERS, CountedMemorySerializer, MemoryPageSerializer
from memory.api.views.base import LociView
from memory.errors import NotFound
from memory.services.actors import Permission
from memory.services.graph.communities import (
    bridges,
    divide_now,
    division,
    entities_of,
    get_community,
    list_communities,
    memories_in,
    rename_community,
)
from memory.services.memories import accesses
from memory.services.retention_policies import policy_of

_NUMBER: Final = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)


class CommunitiesView(LociView):
    """All communities."""

    actions = {
        "GET": Action(
            id="list_communities",
            permission=Permission.READ,
            query=PageQuery,
            answers={200: CommunityPageSerializer},
        ),
        "POST": Action(
            id="divide_graph",
            permission=Permission.REVIEW,
            rate="write",
            answers={200: NewDivisionSerializer},
            problems=(409,),
        ),
    }

    def get(self, request: Request) -> Response:
        """List communities, the largest first, as far as the caller may read what is in them."""
        rows, following = page_by_count(
            "communities",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: list_communities(actor=self.actor, after=after, size=size),
            position=lambda row: (row.size, row.id),
        )
        state = division(actor=self.actor)
        return Response(
            {
                "items": CommunitySerializer(rows, many=True).data,
                "next": following,
                "division": LastDivisionSerializer(state).data if state else None,
            }
        )

    @idempotent
    def post(self, request: Request) -> Response:
        """Divide the graph anew at once. A run of consolidation that is at work is 409 `consolidation.running`."""
        return Response(NewDivisionSerializer(divide_now(actor=self.actor)).data)


class BridgesView(LociView):
    """What joins communities."""

    actions = {
        "GET": Action(
            id="list_bridges", permission=Permission.READ, query=BridgeQuery, answers={200: BridgesSerializer}
        )
    }

    def get(self, request: Request) -> Response:
        """List the pairs of communities with the heaviest relations between them."""
        found = bridges(actor=self.actor, size=self.query.get("limit", 20))
        return Response({"items": BridgeSerializer(found, many=True).data})


class CommunityView(LociView):
    """One community."""

    actions = {
        "GET": Action(id="get_community", permission=Permission.READ, answers={200: CommunitySerializer}),
        "PATCH": Action(
            id="rename_community",
            permission=Permission.REVIEW,
            rate="write",
            body=CommunityNameSerializer,
            answers={200: CommunitySerializer},
        ),
    }

    def get(self, request: Request, number: str) -> Response:
        """Give one community."""
        return Response(CommunitySerializer(get_community(actor=self.actor, number=_number(number))).data)

    @idempotent
    def patch(self, request: Request, number: str) -> Response:
        """Call a community by a name. null lets its entities name it again."""
        named = rename_community(actor=self.actor, number=_number(number), name=self.body()["name"])
        return Response(CommunitySerializer(named).data)


class CommunityEntitiesView(LociView):
    """The entities of one community."""

    actions = {
        "GET": Action(
            id="list_community_entities",
            permission=Permission.READ,
            query=PageQuery,
            answers={200: EntityPageSerializer},
        )
    }

    def get(self, request: Request, number: str) -> Response:
        """List the entities of a community, the most mentioned first."""
        found = _number(number)
        rows, following = page_by_count(
            "community-entities",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: entities_of(actor=self.actor, number=found, after=after, size=size),
            position=lambda row: (row.mention_count, row.pk),
        )
        return Response({"items": EntitySerializer(rows, many=True).data, "next": following})


class CommunityMemoriesView(LociView):
    """The memories of one community."""

    actions = {
        "GET": Action(
            id="list_community_memories",
            permission=Permission.READ,
            query=PageQuery,
            answers={200: MemoryPageSerializer},
        )
    }

    def get(self, request: Request, number: str) -> Response:
        """List the live memories of a community, newest first."""
        found = _number(number)
        rows, following = KeysetPagination().page(
            "community-memories",
            limit=self.query.get("limit"),
            cursor=self.query.get("cursor"),
            fetch=lambda after, size: memories_in(actor=self.actor, number=found, after=after, size=size),
            position=lambda row: (row.created_at, row.pk),
        )
        uses = accesses(actor=self.actor, memory_ids=[row.pk for row in rows]) if rows else {}
        shown = {"uses": uses, "most_characters": SHOWN_CHARACTERS, "at": None, "policy": policy_of(self.actor)}
        items = CountedMemorySerializer(rows, many=True, context=shown).data
        return Response({"items": items, "next": following})


def _number(text: str) -> int:
    """Read the number of a community from a path; raises NotFound for anything that is none."""
    if not _NUMBER.fullmatch(text):
        raise NotFound
    return int(text)
