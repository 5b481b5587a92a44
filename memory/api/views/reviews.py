"""`/reviews`: what waits for a person's judgement, and what the person says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.pagination import KeysetPagination
from memory.api.preconditions import etag, expected_version, outdated_is_412
from memory.api.problems import item_error
from memory.api.serializers.fields import parse_uuid
from memory.api.serializers.reviews import (
    ApproveSerializer,
    DecidedManySerializer,
    DecidedReviewSerializer,
    DecideSerializer,
    ReviewPageSerializer,
    ReviewQuery,
    ReviewSerializer,
    SnoozeSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from memory.services.review_decisions import Decided, approve, decide_many, reject, snooze, undo
from memory.services.reviews import Reviewed, get_review, list_reviews, stored_review_version

SHOWN_OF_NO_ID: Final = 64


def _deciding(name: str, body: Any = None) -> Action:
    return Action(
        id=name,
        permission=Permission.REVIEW,
        rate="write",
        body=body,
        answers={200: DecidedReviewSerializer},
        problems=(409,),
        versioned=True,
    )


class ReviewsView(LociView):
    """All review items."""

    actions = {
        "GET": Action(
            id="list_reviews", permission=Permission.READ, query=ReviewQuery, answers={200: ReviewPageSerializer}
        )
    }

    def get(self, request: Request) -> Response:
        """List items, the newest first; those that are open when no state is named."""
        query = self.query
        state = query.get("state", "open")
        rows, following = KeysetPagination().page(
            "reviews",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_reviews(
                actor=self.actor,
                state=None if state == "all" else state,
                kinds=query.get("kind", ()),
                entity_id=query.get("entity"),
                after=after,
                size=size,
            ),
            position=lambda row: (row.item.created_at, row.item.pk),
        )
        return Response({"items": ReviewSerializer(rows, many=True).data, "next": following})


class ReviewView(LociView):
    """One review item."""

    actions = {
        "GET": Action(id="get_review", permission=Permission.READ, answers={200: ReviewSerializer}, versioned=True)
    }

    def get(self, request: Request, item_id: str) -> Response:
        """Give one item with its evidence."""
        reviewed = get_review(actor=self.actor, item_id=path_id(item_id))
        return Response(ReviewSerializer(reviewed).data, headers={"ETag": etag(reviewed.item.version)})


class ApproveView(LociView):
    """Approving one item."""

    actions = {"POST": _deciding("approve_review", ApproveSerializer)}

    @idempotent
    def post(self, request: Request, item_id: str) -> Response:
        """Do what an item proposes, with changes first where some are given. With If-Match it is refused when the item
        has another version by now.
        """
        changes = self.body().get("changes")
        return _decide(
            self,
            item_id,
            lambda found, version: approve(actor=self.actor, item_id=found, changes=changes, version=version),
        )


class RejectView(LociView):
    """Rejecting one item."""

    actions = {"POST": _deciding("reject_review")}

    @idempotent
    def post(self, request: Request, item_id: str) -> Response:
        """Do not do what an item proposes, and never ask again; two entities are kept apart."""
        return _decide(self, item_id, lambda found, version: reject(actor=self.actor, item_id=found, version=version))


class SnoozeView(LociView):
    """Putting one item off."""

    actions = {"POST": _deciding("snooze_review", SnoozeSerializer)}

    @idempotent
    def post(self, request: Request, item_id: str) -> Response:
        """Put an item off until a moment, from which on it is open again."""
        until = self.body()["until"]
        return _decide(
            self,
            item_id,
            lambda found, version: snooze(actor=self.actor, item_id=found, until=until, version=version),
        )


class UndoDecisionView(LociView):
    """Taking a decision back."""

    actions = {"POST": _deciding("undo_review")}

    @idempotent
    def post(self, request: Request, item_id: str) -> Response:
        """Take a decision back, so that the item is open again: what an approval made is archived or as it was before.
        It is 409 when that was changed since.
        """
        return _decide(self, item_id, lambda found, version: undo(actor=self.actor, item_id=found, version=version))


class DecideView(LociView):
    """Deciding several items."""

    actions = {
        "POST": Action(
            id="decide_reviews",
            permission=Permission.REVIEW,
            rate="write",
            body=DecideSerializer,
            answers={200: DecidedManySerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Decide up to a hundred items alike, each for itself. One that cannot be decided is refused by itself."""
        values = self.body()
        ids = [parse_uuid(one) or one[:SHOWN_OF_NO_ID] for one in values["ids"]]
        results = decide_many(actor=self.actor, item_ids=ids, decision=values["decision"], until=values.get("until"))
        shown = [_shown(one) for one in results]
        refused = sum(one["outcome"] == "refused" for one in shown)
        return Response({"decided": len(shown) - refused, "refused": refused, "results": shown})


def _decide(view: LociView, item_id: str, act: Callable[[UUID, int | None], Reviewed]) -> Response:
    found = path_id(item_id)
    asked = expected_version(view.request, lambda: stored_review_version(actor=view.actor, item_id=found))
    with outdated_is_412(asked):
        reviewed = act(found, asked)
    return Response(DecidedReviewSerializer(reviewed).data, headers={"ETag": etag(reviewed.item.version)})


def _shown(one: Decided) -> dict[str, Any]:
    if one.error is not None:
        return {"id": str(one.item_id), "outcome": "refused", "error": item_error(one.error)}
    assert one.reviewed is not None
    return {
        "id": str(one.item_id),
        "outcome": "decided",
        "state": one.reviewed.state,
        "version": one.reviewed.item.version,
    }
