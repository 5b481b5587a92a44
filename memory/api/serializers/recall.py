"""Recalls, their explanations, and context blocks."""

from __future__ import annotations

from typing import Any, Final

from rest_framework import serializers

from memory.api.serializers.base import Strict
from memory.api.serializers.choices import ChangeProfileSerializer
from memory.api.serializers.fields import (
    Categories,
    FilterExpression,
    Identifier,
    Lines,
    Moment,
    ProfileName,
    RawText,
    ReadScope,
    Switch,
    Unit,
    Whole,
    Word,
    Words,
)
from memory.api.serializers.memories import SHOWN_HELP, TIERS, MemorySerializer
from memory.models import Kind
from memory.services.context import FORMATS, LARGEST_WINDOW, LEVELS, SMALLEST_WINDOW
from memory.services.recall import MAX_LIMIT
from memory.text.limits import MAX_CONTENT_BYTES

SMALLEST_BLOCK: Final = 50
LARGEST_BLOCK: Final = 32_000


class QuestionSerializer(Strict):
    """What is asked, and among which memories."""

    query = RawText(help_text="Plain text of at most 500 words; operators mean nothing.")
    profile = ProfileName(required=False, help_text="How to rank; the owner's chosen profile when left out.")
    limit = Whole(required=False, min_value=1, max_value=MAX_LIMIT)
    threshold = Unit(required=False, help_text="Least relevance of a hit.")
    overrides = ChangeProfileSerializer(
        required=False, help_text="Other values of the profile's fields, for this request alone."
    )
    scope = ReadScope()
    tiers = Words(TIERS, required=False)
    kinds = Words(Kind.values, required=False)
    categories = Categories(required=False)
    tags = Lines(required=False, help_text="Any of these.")
    topics = Lines(required=False, help_text="Any of these.")
    sources = Lines(required=False, help_text="Any of these, or path prefixes of them.")
    session_id = Identifier(required=False)
    agent_id = Identifier(required=False)
    occurred_from = Moment(required=False)
    occurred_until = Moment(required=False)
    least_importance = Unit(required=False)
    filter = FilterExpression(required=False)
    as_of = Moment(required=False, help_text="Only what was believed and held at this moment, as it was said then.")
    true_on = Moment(
        required=False, help_text="Only what held at this moment: as it is known now, or as it was known at `as_of`."
    )
    reference_time = Moment(
        required=False, help_text="The moment from which the query speaks, as for its date words; now when left out."
    )
    reinforce = Switch(required=False, help_text="Count the hits as used; true when left out.")
    record = Switch(required=False, help_text="Keep the explanation for seven days; true when left out.")


class RecallSerializer(QuestionSerializer):
    """A recall."""

    max_text_characters = Whole(required=False, min_value=1, max_value=MAX_CONTENT_BYTES, help_text=SHOWN_HELP)
    explain = Switch(required=False, help_text="Give the reasons of each hit at once.")


class ContextSerializer(QuestionSerializer):
    """A context block; limit, threshold, format and budget are the owner's settings when left out."""

    format = Word(FORMATS, required=False)
    max_tokens = Whole(required=False, min_value=SMALLEST_BLOCK, max_value=LARGEST_BLOCK)
    asked = Switch(
        required=False,
        help_text="Whether somebody has asked for it: then also where auto-recall is off for the agent.",
    )
    cleaning = Word(LEVELS, required=False, help_text="How strictly phrases that address a model are replaced.")
    context_window = Whole(
        required=False,
        min_value=SMALLEST_WINDOW,
        max_value=LARGEST_WINDOW,
        help_text="Tokens of the model's window: the smaller, the stricter the cleaning and the smaller the block.",
    )


class HitSerializer(serializers.Serializer[Any]):
    """One memory found."""

    memory = MemorySerializer()
    score = serializers.FloatField(help_text="Comparable within this answer only.")
    relevance = serializers.FloatField(help_text="From 0 to 1.")
    matched = serializers.ListField(child=serializers.CharField(), help_text="The query's words that stand in it.")
    also = serializers.ListField(
        child=serializers.UUIDField(), help_text="Memories that say the same and are therefore not shown."
    )
    reasons = serializers.DictField(required=False, help_text="Ranks, scores and terms; with `explain` only.")


class RecalledSerializer(serializers.Serializer[Any]):
    """The answer to a recall, best hit first."""

    recall_id = serializers.UUIDField(help_text="Under which the explanation can be fetched.")
    profile = serializers.CharField()
    gate = serializers.CharField(help_text="`recall`, or why nothing was searched.")
    intent = serializers.ListField(child=serializers.CharField())
    degraded = serializers.ListField(
        child=serializers.CharField(), help_text="What could not be done, such as `embedder.unavailable`."
    )
    fallback = serializers.BooleanField(help_text="Found by a scan for the words, because the index found nothing.")
    considered = serializers.IntegerField(help_text="Candidates that were ranked.")
    hits = HitSerializer(many=True)


class ExplainedHitSerializer(serializers.Serializer[Any]):
    """Why one memory was found."""

    memory_id = serializers.UUIDField()
    score = serializers.FloatField()
    relevance = serializers.FloatField()
    matched = serializers.ListField(child=serializers.CharField())
    reasons = serializers.DictField()


class ExplanationSerializer(serializers.Serializer[Any]):
    """How a recall came to its answer."""

    recall_id = serializers.UUIDField()
    query = serializers.CharField()
    profile = serializers.CharField()
    intent = serializers.ListField(child=serializers.CharField())
    degraded = serializers.ListField(child=serializers.CharField())
    fallback = serializers.BooleanField()
    considered = serializers.IntegerField()
    hits = ExplainedHitSerializer(many=True)


class ContextAnswerSerializer(serializers.Serializer[Any]):
    """Text for a prompt, and where it comes from."""

    text = serializers.CharField(allow_blank=True, help_text="Empty when nothing was found.")
    tokens = serializers.IntegerField()
    memory_ids = serializers.ListField(child=serializers.UUIDField(), help_text="In the order of the lines.")
    omitted = serializers.IntegerField(help_text="Hits that the budget had no room for.")
    recall_id = serializers.UUIDField()
    profile = serializers.CharField()
    gate = serializers.CharField()
    degraded = serializers.ListField(child=serializers.CharField())
    fallback = serializers.BooleanField()
