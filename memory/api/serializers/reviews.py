"""Review items: what is in doubt, why, and what was decided."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import ItemErrorSerializer, PageQuery, Strict
from memory.api.serializers.fields import Identifier, JsonObject, Moment, RawText, Word, Words
from memory.models import ReviewKind, ReviewState
from memory.services.actors import written_scope
from memory.services.review_decisions import DECISIONS, MOST_AT_ONCE
from memory.services.reviews import Reviewed

STATES = (*ReviewState.values, "all")
SHOWN_OUTCOME = (
    "changes", "memory", "created", "entity", "relation", "event", "cause", "merge", "kept", "older", "newer",
)  # fmt: skip


class ReviewQuery(PageQuery):
    """Which items to list."""

    state = Word(STATES, required=False, help_text="`open` when left out.")
    kind = Words(ReviewKind.values, required=False)
    entity = Identifier(required=False, help_text="Those drawn from memories that speak of this entity.")


class ApproveSerializer(Strict):
    """What to change before it is done."""

    changes = JsonObject(
        required=False, help_text="New values of fields of `payload`; those of a merge or a contradiction are fixed."
    )


class SnoozeSerializer(Strict):
    """Until when an item is put off."""

    until = Moment(help_text="From then on it is open again.")


class DecideSerializer(Strict):
    """One decision for several items."""

    ids = serializers.ListField(
        child=RawText(), help_text=f"Between 1 and {MOST_AT_ONCE}. One that is no id is refused by itself."
    )
    decision = Word(DECISIONS)
    until = Moment(required=False, help_text="Until when, for `snooze`.")


class ReviewEvidenceSerializer(serializers.Serializer[Any]):
    """A memory that an item was drawn from."""

    memory_id = serializers.UUIDField()
    text = serializers.CharField(help_text="The words that count, at most 500 characters.")
    occurred_at = serializers.DateTimeField(help_text="When it was so.")
    role = serializers.CharField(
        allow_null=True, help_text="`older` or `newer`, for the two statements of a contradiction."
    )


class DecidedReviewSerializer(serializers.Serializer[Any]):
    """An item after a decision, without what it proposes."""

    id = serializers.UUIDField(source="item.id")
    state = serializers.CharField(help_text="An item whose snooze is over is open.")
    outcome = serializers.SerializerMethodField(help_text="What an approval made: ids by what they are of.")
    snoozed_until = serializers.DateTimeField(source="item.snoozed_until", allow_null=True)
    decided_at = serializers.DateTimeField(source="item.decided_at", allow_null=True)
    decided_by = serializers.CharField(source="item.decided_by", allow_blank=True)
    version = serializers.IntegerField(source="item.version")

    def get_outcome(self, reviewed: Reviewed) -> dict[str, Any] | None:
        """Give the ids of what was made and what was changed before; not the rows that undoing needs."""
        outcome = reviewed.item.outcome
        if not outcome:
            return None
        return {name: outcome[name] for name in SHOWN_OUTCOME if name in outcome}


class ReviewSerializer(DecidedReviewSerializer):
    """A review item."""

    kind = serializers.ChoiceField(source="item.kind", choices=ReviewKind.choices)
    reason = serializers.CharField(source="item.reason", help_text="Why it is in doubt, a code.")
    confidence = serializers.FloatField(source="item.confidence")
    payload = serializers.JSONField(source="item.payload", help_text="What would be done.")
    evidence = ReviewEvidenceSerializer(many=True, help_text="Of the memories that the caller may read now.")
    scope = serializers.SerializerMethodField()
    created_at = serializers.DateTimeField(source="item.created_at")

    def get_scope(self, reviewed: Reviewed) -> str:
        """Write who may read the item."""
        return written_scope(reviewed.item.visibility, reviewed.item.group_id)


class ReviewPageSerializer(serializers.Serializer[Any]):
    """A page of items, the newest first."""

    items = ReviewSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class DecidedSerializer(serializers.Serializer[Any]):
    """What became of one item of several."""

    id = serializers.CharField(help_text="As it was given; what is no id is cut to 64 characters.")
    outcome = serializers.CharField(help_text="`decided` or `refused`.")
    state = serializers.CharField(required=False)
    version = serializers.IntegerField(required=False)
    error = ItemErrorSerializer(required=False)


class DecidedManySerializer(serializers.Serializer[Any]):
    """What became of each item, in the order of the request."""

    decided = serializers.IntegerField()
    refused = serializers.IntegerField()
    results = DecidedSerializer(many=True)
