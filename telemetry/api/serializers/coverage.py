"""The coverage report over REST."""

from __future__ import annotations

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from memory.api.serializers.base import PageQuery, Query
from memory.api.serializers.fields import Identifier, Moment, Word
from telemetry.api.csv_answers import form_field
from telemetry.api.serializers.events import TurnEventShownSerializer
from telemetry.models import Stream
from telemetry.services.coverage.reporting import DEFAULT_DAYS, DEFAULT_TOP_N

_NO_NUMBER: Final = "This has to be a whole number."
_SHARE: Final = "0 to 1, four decimal places."


class _Window(Query):
    days = serializers.IntegerField(
        required=False,
        help_text=f"How many days it looks back, at most as many as events are kept; {DEFAULT_DAYS} when left out.",
        error_messages={"invalid": _NO_NUMBER},
    )
    until = Moment(required=False, help_text="The end of its window; the end of this minute when left out.")
    agent = Identifier(required=False, help_text="The turns of one agent only.")
    stream = Word(Stream.values, required=False, help_text="The one that events go to now when left out.")


class ReportQuery(_Window):
    """Which report is wanted."""

    top_n = serializers.IntegerField(
        required=False,
        help_text=f"How many clusters, bars and failures it lists, 1 to 100; {DEFAULT_TOP_N} when left out.",
        error_messages={"invalid": _NO_NUMBER},
    )
    format = form_field()


class ClusterQuery(PageQuery, _Window):
    """Of which report the cluster is, and which page is wanted."""


class ClusterSerializer(serializers.Serializer[Any]):
    """Requests that belong together."""

    key = serializers.CharField(help_text="Names it in addresses, as long as it holds the same requests.")
    label = serializers.CharField()  # type: ignore[assignment]
    count = serializers.IntegerField(help_text="Its turns.")
    fallback_count = serializers.IntegerField(help_text="Those where nothing fitted.")
    failure_count = serializers.IntegerField(help_text="Those that failed or ran out of time.")
    missed_count = serializers.IntegerField(help_text="Those of the latter that a real spoke had taken.")
    fallback_rate = serializers.FloatField(help_text=_SHARE)
    failure_rate = serializers.FloatField(help_text=_SHARE)
    matched_spokes = serializers.ListField(child=serializers.CharField(), help_text="The most frequent first.")
    sample_request = serializers.CharField(help_text="One of the longest, with personal data covered.")
    sample_requests = serializers.ListField(
        child=serializers.CharField(), help_text="The newest different ones, at most five of 200 characters."
    )
    by_vector = serializers.BooleanField(help_text="Whether its requests are alike; else they only share the spoke.")


class SpokeCoverageSerializer(serializers.Serializer[Any]):
    """What one spoke took."""

    count = serializers.IntegerField()
    failure_count = serializers.IntegerField()
    failure_rate = serializers.FloatField(help_text=_SHARE)
    share = serializers.FloatField(help_text=f"Of all turns, {_SHARE}")
    is_fallback = serializers.BooleanField(help_text="Whether it stands for nothing having fitted.")


class BarSerializer(serializers.Serializer[Any]):
    """A bar of the Pareto chart."""

    key = serializers.CharField(help_text="Of its cluster; empty for all clusters that have no bar of their own.")
    label = serializers.CharField()  # type: ignore[assignment]
    count = serializers.IntegerField()
    share = serializers.FloatField(help_text=f"Of all fallbacks, {_SHARE}")
    cumulative = serializers.FloatField(help_text="This share and those before it.")
    fallback_count = serializers.IntegerField()


class DaySerializer(serializers.Serializer[Any]):
    """One day of UTC."""

    day = serializers.DateField()
    turns = serializers.IntegerField()
    fallbacks = serializers.IntegerField()
    fallback_rate = serializers.FloatField(help_text=_SHARE)


class NextSpokeSerializer(serializers.Serializer[Any]):
    """The cluster that one more spoke would cover best."""

    key = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    covers = serializers.IntegerField(help_text="How many fallbacks.")
    fallback_rate_after = serializers.FloatField(help_text=_SHARE)


class CoverageReportSerializer(serializers.Serializer[Any]):
    """The coverage report."""

    total_turns = serializers.IntegerField()
    fallback_rate = serializers.FloatField(help_text=_SHARE)
    failure_rate = serializers.FloatField(help_text=_SHARE)
    clusters = ClusterSerializer(many=True, help_text="By fallback rate, then by turns.")
    cluster_count = serializers.IntegerField(help_text="How many there are in all.")
    fallback_clusters = serializers.IntegerField(help_text="How many of them hold a fallback.")
    top_failures = ClusterSerializer(
        many=True, help_text="Clusters with turns that failed although a real spoke had taken them."
    )
    coverage_by_spoke = serializers.SerializerMethodField(help_text="By the spoke's name, the most turns first.")
    decision_hint = serializers.CharField()
    window_days = serializers.IntegerField()
    since = serializers.DateTimeField()
    until = serializers.DateTimeField()
    stream = serializers.CharField()
    test_mode = serializers.BooleanField(help_text="Whether events go to the test stream now.")
    pending = serializers.BooleanField(help_text="Whether vectors of requests are still being made.")
    pending_requests = serializers.IntegerField(help_text="How many different requests have none.")
    degraded = serializers.CharField(help_text="The code of why vectors cannot be made now; else empty.")
    enabled = serializers.BooleanField(
        help_text="Whether turn events are kept in this installation; else the report is of those that came before."
    )
    as_of = serializers.DateTimeField(help_text="When it was made.")
    pareto = BarSerializer(many=True)
    trend = DaySerializer(many=True)
    next_spoke = NextSpokeSerializer(allow_null=True)
    version = serializers.IntegerField(help_text="It rises whenever another report would come out.")

    @extend_schema_field(serializers.DictField(child=SpokeCoverageSerializer()))
    def get_coverage_by_spoke(self, report: Any) -> dict[str, Any]:
        """Describe each spoke under its name."""
        return {name: SpokeCoverageSerializer(one).data for name, one in report.coverage_by_spoke.items()}


class ClusterEventsSerializer(serializers.Serializer[Any]):
    """A page of a cluster's events, newest first."""

    items = TurnEventShownSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
