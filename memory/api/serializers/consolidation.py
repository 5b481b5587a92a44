"""How consolidation stands, its runs, and extractions that failed."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from memory.api.serializers.base import Strict
from memory.api.serializers.fields import Switch, Words
from memory.services.consolidation.groups import Group

AGENTS_NULL = "Counted over all agents, and told to persons only; null for agents."


class Number(serializers.IntegerField):
    """A number that agents are not told."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_null=True, help_text=AGENTS_NULL, **kwargs)


class RunBodySerializer(Strict):
    """A run to ask for."""

    groups = Words(Group, required=False, min_length=1, help_text="All that are switched on when left out.")
    wait = Switch(
        required=False,
        help_text="Run before answering, for at most thirty seconds; what is left is done by a worker.",
    )


class StageSerializer(serializers.Serializer[Any]):
    """What one stage did."""

    name = serializers.CharField()
    group = serializers.CharField()
    state = serializers.CharField(help_text="waiting, done, skipped, stopped or failed.")
    counts = serializers.DictField(child=serializers.IntegerField(), help_text="Empty for agents.")
    notes = serializers.ListField(child=serializers.CharField(), help_text="Codes; none for agents.")
    skipped_reason = serializers.CharField(allow_blank=True, help_text="A code, where it did nothing or failed.")


class RunSerializer(serializers.Serializer[Any]):
    """A run."""

    id = serializers.UUIDField()
    trigger = serializers.CharField(help_text="count, schedule, hand or write.")
    state = serializers.CharField(help_text="waiting, running, done, failed, interrupted or deferred.")
    stage = serializers.CharField(allow_blank=True, help_text="The stage at work, where the run is running.")
    stages = StageSerializer(many=True)
    risk_class = serializers.CharField(help_text="`read` when a language model was allowed to read texts, else `none`.")
    extractor = serializers.CharField(allow_blank=True)
    error_code = serializers.CharField(allow_blank=True, help_text="Why it failed or ended early.")
    asked_at = serializers.DateTimeField(allow_null=True, help_text="While it waits for a worker.")
    started_at = serializers.DateTimeField(allow_null=True, help_text="null while it waits for a worker.")
    finished_at = serializers.DateTimeField(allow_null=True)
    batches = Number()
    rows_seen = Number()
    bytes_seen = Number()
    bytes_skipped = Number()
    backlog_rows = Number()
    backlog_bytes = Number()
    failed_writes = Number()
    llm_calls = Number()
    llm_failures = Number()
    prompt_tokens = Number()
    completion_tokens = Number()


class RunPageSerializer(serializers.Serializer[Any]):
    """A page of runs, the newest first."""

    items = RunSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")


class ConsolidationSerializer(serializers.Serializer[Any]):
    """How consolidation stands."""

    enabled = serializers.BooleanField()
    settings = serializers.DictField(help_text="The settings on which it depends; change them under /settings.")
    groups = serializers.ListField(child=serializers.CharField(), help_text="The groups that are switched on.")
    pending_rows = Number()
    pending_bytes = Number()
    next_run_at = serializers.DateTimeField(allow_null=True, help_text="null when nothing is to do.")
    failures_in_a_row = serializers.IntegerField(help_text="Runs that failed since one was done.", source="errors")
    running = RunSerializer(allow_null=True)
    asked = serializers.ListField(child=serializers.UUIDField(), help_text="Runs that wait for a worker.")
    last_run = RunSerializer(allow_null=True)


class FailureSerializer(serializers.Serializer[Any]):
    """A memory from which nothing could be drawn yet."""

    memory_id = serializers.UUIDField()
    code = serializers.CharField()
    attempts = serializers.IntegerField()
    failed_at = serializers.DateTimeField()
    next_at = serializers.DateTimeField(allow_null=True, help_text="null when it is not tried again by itself.")


class FailurePageSerializer(serializers.Serializer[Any]):
    """A page of failures, the newest first."""

    items = FailureSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page; null on the last.")
