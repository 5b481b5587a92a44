"""What the endpoint of the score card gives."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class DeductionSerializer(serializers.Serializer[Any]):
    """What was taken off the score."""

    code = serializers.CharField()
    points = serializers.IntegerField()
    meaning = serializers.CharField(help_text="What is so.")
    remedy = serializers.CharField(help_text="What to do about it.")


class StandingSerializer(serializers.Serializer[Any]):
    """The numbers that the score is drawn from."""

    memories = serializers.IntegerField(help_text="Live ones.")
    active = serializers.IntegerField(help_text="Of which time has left more than half.")
    stale = serializers.IntegerField(help_text="Of which time has left less than a tenth.")
    average_decay = serializers.FloatField(help_text="Share that time has left of a memory, on average, 0 to 1.")
    used = serializers.IntegerField(help_text="Recalled at least once.")
    entities = serializers.IntegerField()
    unrelated_entities = serializers.IntegerField(help_text="Entities without a relation.")
    relations = serializers.IntegerField(help_text="Open ones that are believed.")
    reflections = serializers.IntegerField()
    reflection_confidence = serializers.FloatField(help_text="On average, 0 to 1.")


class BacklogSerializer(serializers.Serializer[Any]):
    """What waits or is weak; it changes no score."""

    low_confidence = serializers.IntegerField(help_text="Live memories with a confidence below 0.5.")
    low_confidence_share = serializers.FloatField(help_text="Of all live memories, 0 to 1.")
    without_vector = serializers.IntegerField(help_text="Live memories that are found by words only.")
    without_vector_share = serializers.FloatField(help_text="Of all live memories, 0 to 1.")
    unextracted = serializers.IntegerField(help_text="Memories that consolidation has not drawn from yet.")
    reviews = serializers.IntegerField(help_text="Doubts that wait for a person.")
    contradictions = serializers.IntegerField(help_text="Contradictions not yet decided.")


class ScoreCardSerializer(serializers.Serializer[Any]):
    """How healthy the owner's memory is."""

    score = serializers.IntegerField(help_text="100 less what was taken off.")
    deductions = DeductionSerializer(many=True, help_text="The heaviest first.")
    standing = StandingSerializer()
    backlog = BacklogSerializer()
    at = serializers.DateTimeField(help_text="When it was counted; it is kept for a minute.")
