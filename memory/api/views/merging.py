"""`/graph/duplicates` and `/graph/merges`: which entities may be one, making them one, and taking that back."""

from __future__ import annotations

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.count_pages import page_by_count
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.serializers.merging import (
    BriefMergeSerializer,
    DuplicatePageSerializer,
    DuplicateQuery,
    DuplicateSerializer,
    MergePageSerializer,
    MergeQuery,
    MergeSerializer,
    OtherEntitySerializer,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import UNSET, Permission
from memory.services.graph.merging import list_merges, merge_two
from memory.services.graph.searching import search_entities
from memory.services.resolution import find_duplicates, keep_apart
from memory.services.review_decisions import undo_merge_by_id


class DuplicatesView(LociView):
    """Entities that may be one."""

    actions = {
        "GET": Action(
            id="list_duplicates",
            permission=Permission.READ,
            query=DuplicateQuery,
            answers={200: DuplicatePageSerializer},
        )
    }

    def get(self, request: Request) -> Response:
        """List pairs of entities that may be one. `limit` is how many entities are compared with all others, the most
        mentioned first, so that a page may hold fewer pairs, or none, although there is a next one.
        """
        query = self.query
        rows, following = page_by_count(
            "duplicates",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: search_entities(
                actor=self.actor,
                types=query.get("type", ()),
                scope=query.get("scope", UNSET),
                after=after,
                size=size,
            ),
            position=lambda row: (row.mention_count, row.pk),
        )
        pairs = find_duplicates(actor=self.actor, entities=rows)
        return Response({"items": DuplicateSerializer(pairs, many=True).data, "next": following})


class MergeView(LociView):
    """Making two entities one."""

    actions = {
        "POST": Action(
            id="merge_entities",
            permission=Permission.REVIEW,
            rate="write",
            body=OtherEntitySerializer,
            answers={201: BriefMergeSerializer},
            problems=(409,),
            locates=True,
        )
    }

    @idempotent
    def post(self, request: Request, entity_id: str) -> Response:
        """Let this entity stand for the other one too: what is said of that one is said of this one from now on. It can
        be undone.
        """
        kept = path_id(entity_id)
        made = merge_two(actor=self.actor, kept_id=kept, merged_id=self.body()["other"])
        return Response(
            BriefMergeSerializer(made).data, status=201, headers={"Location": reverse("api:entity", args=[kept])}
        )


class ApartView(LociView):
    """Keeping two entities apart."""

    actions = {
        "POST": Action(
            id="keep_apart",
            permission=Permission.REVIEW,
            rate="write",
            body=OtherEntitySerializer,
            answers={204: None},
        )
    }

    @idempotent
    def post(self, request: Request, entity_id: str) -> Response:
        """Say that two entities are not the same; they are not proposed again."""
        keep_apart(actor=self.actor, first_id=path_id(entity_id), second_id=self.body()["other"])
        return Response(status=204)


class MergesView(LociView):
    """All merges."""

    actions = {
        "GET": Action(
            id="list_merges", permission=Permission.READ, query=MergeQuery, answers={200: MergePageSerializer}
        )
    }

    def get(self, request: Request) -> Response:
        """List merges, the newest first, those that were undone too."""
        query = self.query
        rows, following = KeysetPagination().page(
            "merges",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_merges(
                actor=self.actor, entity_id=query.get("entity"), after=after, size=size
            ),
            position=lambda row: (row.merged_at, row.pk),
        )
        return Response({"items": MergeSerializer(rows, many=True).data, "next": following})


class UndoMergeView(LociView):
    """Undoing one merge."""

    actions = {
        "POST": Action(
            id="undo_merge",
            permission=Permission.REVIEW,
            rate="write",
            answers={200: BriefMergeSerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request, merge_id: str) -> Response:
        """Take a merge back: both entities are what they were, and what was said since stays with the one kept. A
        review item whose approval made it is open again.
        """
        return Response(BriefMergeSerializer(undo_merge_by_id(actor=self.actor, merge_id=path_id(merge_id))).data)
