"""What endpoints about recall quality take and give."""

from __future__ import annotations

from typing import Any, Final

from rest_framework import serializers

from memory.api.serializers.agents import LegibleField
from memory.api.serializers.base import Query, Strict
from memory.api.serializers.fields import Identifier, ProfileName, RawText, Switch, Unit
from telemetry.services.recalls.report import DAYS, MOST_DAYS, MOST_SLOW, SLOW

NOT_WHOLE: Final[dict[str, Any]] = {"invalid": "This has to be a whole number."}


class FeedbackSerializer(Strict):
    """Whether a recall has helped."""

    helpful = Switch(help_text="Whether it has helped.")
    memory = Identifier(required=False, help_text="Which of its hits; left out, the recall as a whole.")


class FeedbackQuery(Query):
    """Of what feedback is taken back."""

    memory = Identifier(required=False, help_text="Which hit; left out, the recall as a whole.")


class FeedbackGivenSerializer(serializers.Serializer[Any]):
    """What was said."""

    recall_id = serializers.UUIDField()
    memory = serializers.UUIDField(source="memory_id", allow_null=True)
    rank = serializers.IntegerField(allow_null=True, help_text="The hit's place, from 1; null for the whole recall.")
    helpful = serializers.BooleanField()
    at = serializers.DateTimeField(source="created_at")


class QualityQuery(Query):
    """Which recalls are looked at."""

    days = serializers.IntegerField(
        required=False,
        error_messages=NOT_WHOLE,
        help_text=f"Days up to now, 1 to {MOST_DAYS}; {DAYS} when left out.",
    )
    agent = Identifier(required=False, help_text="Those of one agent.")
    profile = ProfileName(required=False, help_text="Those that one profile answered.")


class SlowQuery(QualityQuery):
    """Among which recalls the slowest are looked for, and how many."""

    top = serializers.IntegerField(
        required=False, error_messages=NOT_WHOLE, help_text=f"How many, 1 to {MOST_SLOW}; {SLOW} when left out."
    )


class RateSerializer(serializers.Serializer[Any]):
    """A share with its 95 % interval after Wilson."""

    count = serializers.IntegerField()
    of = serializers.IntegerField()
    share = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)


class SummarySerializer(serializers.Serializer[Any]):
    """Recalls in figures."""

    recalls = serializers.IntegerField()
    looked = serializers.IntegerField(help_text="Those that looked for anything; the gate lets no greeting through.")
    found = RateSerializer(help_text="Those of them with a hit as relevant as was asked for, or from 0.3.")
    nothing = serializers.IntegerField(help_text="Those of them that showed nothing.")
    fallbacks = serializers.IntegerField(help_text="Those of them that the scan of texts answered.")
    helpful = RateSerializer(help_text="Of those of which something was said, those that have helped.")
    ndcg = serializers.FloatField(allow_null=True, help_text="The mean estimate, 0 to 1; biased upwards.")
    p50_ms = serializers.FloatField(allow_null=True)
    p95_ms = serializers.FloatField(allow_null=True)
    p99_ms = serializers.FloatField(allow_null=True)


class BucketSerializer(serializers.Serializer[Any]):
    """How many values lie above the bound before and up to this one."""

    up_to = serializers.FloatField(allow_null=True, help_text="Null in the last bucket, which has no bound.")
    count = serializers.IntegerField()


class StageUseSerializer(serializers.Serializer[Any]):
    """What one stage took of its own; buckets in seconds."""

    stage = serializers.CharField()
    recalls = serializers.IntegerField()
    p50_ms = serializers.FloatField()
    p95_ms = serializers.FloatField()
    total_ms = serializers.FloatField()
    buckets = BucketSerializer(many=True)


class DriftSerializer(serializers.Serializer[Any]):
    """How far the best relevance of recalls has moved from the window before."""

    verdict = serializers.CharField(
        help_text="`none`, `small` (from 0.1), `large` (from 0.25) or `too_few` (fewer than 30)."
    )
    index = serializers.FloatField(allow_null=True, help_text="The population stability index over ten bins.")
    mean = serializers.FloatField(allow_null=True)
    mean_before = serializers.FloatField(allow_null=True)
    shift = serializers.FloatField(allow_null=True)


class SlowRecallSerializer(serializers.Serializer[Any]):
    """A recall that took long, without its question."""

    recall_id = serializers.UUIDField()
    at = serializers.DateTimeField()
    agent = serializers.UUIDField(allow_null=True)
    profile = serializers.CharField()
    milliseconds = serializers.FloatField()
    stages = serializers.DictField(child=serializers.FloatField(), help_text="Milliseconds by stage.")


class SlowRecallsSerializer(serializers.Serializer[Any]):
    """The slowest recalls, the slowest first."""

    items = SlowRecallSerializer(many=True)


class ProfileSummarySerializer(serializers.Serializer[Any]):
    """What one profile answered."""

    profile = serializers.CharField()
    summary = SummarySerializer()


class AgentSummarySerializer(serializers.Serializer[Any]):
    """What one agent asked; null for persons."""

    agent = serializers.UUIDField(allow_null=True)
    summary = SummarySerializer()


class RecallReportSerializer(serializers.Serializer[Any]):
    """How recalls went within a window, compared with the window of the same length before it."""

    days = serializers.IntegerField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    enabled = serializers.BooleanField(help_text="False where telemetry is switched off, so that nothing new is kept.")
    summary = SummarySerializer()
    before = SummarySerializer(allow_null=True, help_text="null from 16 days on, since rows are kept for 30.")
    gates = serializers.DictField(child=serializers.IntegerField())
    degraded = serializers.DictField(child=serializers.IntegerField())
    latency = BucketSerializer(many=True, help_text="By seconds.")
    stages = StageUseSerializer(many=True)
    scores = BucketSerializer(many=True, help_text="By the relevance of the best hit.")
    drift = DriftSerializer()
    profiles = ProfileSummarySerializer(many=True)
    agents = AgentSummarySerializer(many=True)
    slow = SlowRecallSerializer(many=True)


class StatementPlanSerializer(serializers.Serializer[Any]):
    """One statement of a recall, with the database's plan for it and no value of the question."""

    stage = serializers.CharField()
    milliseconds = serializers.FloatField()
    lines = serializers.ListField(child=serializers.CharField())


class ExplainedRecallSerializer(serializers.Serializer[Any]):
    """A recall that was done once more."""

    recall_id = serializers.UUIDField()
    profile = serializers.CharField()
    milliseconds = serializers.FloatField()
    statements = StatementPlanSerializer(many=True)


class ExperimentDraftSerializer(Strict):
    """What is to be compared."""

    label = RawText(help_text="What it is called, at most 100 characters.")  # type: ignore[assignment]
    control = ProfileName(help_text="The profile that agents have otherwise.")
    variant = ProfileName(help_text="The profile that some of them try.")
    share = Unit(required=False, help_text="The share of agents that try it, 0 to 1; a half when left out.")
    agents = serializers.ListField(
        child=Identifier(), required=False, max_length=1000, help_text="Agents that try it whatever the share."
    )


class ExperimentSerializer(serializers.Serializer[Any]):
    """An experiment."""

    id = serializers.UUIDField()
    label = LegibleField()  # type: ignore[assignment]
    control = serializers.CharField()
    variant = serializers.CharField()
    share = serializers.FloatField()
    agents = serializers.ListField(child=serializers.UUIDField())
    started_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class ExperimentPageSerializer(serializers.Serializer[Any]):
    """A page of experiments, newest first."""

    items = ExperimentSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class ArmSerializer(serializers.Serializer[Any]):
    """One arm of an experiment."""

    profile = serializers.CharField()
    agents = serializers.IntegerField(help_text="How many agents have recalled in it.")
    summary = SummarySerializer()


class DifferenceSerializer(serializers.Serializer[Any]):
    """How much more the variant has than the control."""

    value = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    verdict = serializers.CharField(help_text="`higher`, `lower`, `unclear`, or `too_few` where an arm has few agents.")


class ExperimentResultsSerializer(serializers.Serializer[Any]):
    """An experiment with what has come out of it."""

    experiment = ExperimentSerializer()
    until = serializers.DateTimeField()
    control = ArmSerializer()
    variant = ArmSerializer()
    differences = serializers.DictField(
        child=DifferenceSerializer(), help_text="By measure: `found`, `helpful`, `ndcg`, `p50_ms`, `p95_ms`."
    )
    method = serializers.CharField(help_text="How the intervals are made.")
    least_agents = serializers.IntegerField(help_text="How many agents an arm needs for an interval.")


class TunerStatusSerializer(serializers.Serializer[Any]):
    """Where the tuner stands."""

    enabled = serializers.BooleanField()
    threshold = serializers.FloatField()
    ndcg = serializers.FloatField(allow_null=True)
    recalls = serializers.IntegerField(help_text="Context blocks since it last began or moved.")
    looked_until = serializers.DateTimeField(allow_null=True)


class TunerChangeSerializer(serializers.Serializer[Any]):
    """A change that the tuner has made."""

    id = serializers.UUIDField()
    setting = serializers.CharField()
    before = serializers.FloatField()
    after = serializers.FloatField()
    ndcg = serializers.FloatField()
    recalls = serializers.IntegerField()
    reason = serializers.CharField(help_text="`quality.low` or `quality.high`.")
    at = serializers.DateTimeField(source="created_at")
    undone_at = serializers.DateTimeField(allow_null=True)


class TunerChangePageSerializer(serializers.Serializer[Any]):
    """A page of changes, newest first, and where the tuner stands."""

    status = TunerStatusSerializer()
    items = TunerChangeSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
