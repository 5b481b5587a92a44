"""Runs of consolidation: what each stage did, who holds an owner's lease, and what could not be extracted."""

from __future__ import annotations

from django.db import models

from memory.models.memory import Memory
from memory.models.tenancy import OwnedRow, TenantForeignKey, TenantManager, TenantModel


class RunTrigger(models.TextChoices):
    """What began a run."""

    COUNT = "count"
    SCHEDULE = "schedule"
    HAND = "hand"
    WRITE = "write"


class RunState(models.TextChoices):
    """Where a run stands; `interrupted` is one whose process died and that a later run has taken over from."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    DEFERRED = "deferred"


class RiskClass(models.TextChoices):
    """The most that a run was allowed to do to an owner's memories: read them with a model, or only compute."""

    NONE = "none"
    READ = "read"


class ConsolidationRun(TenantModel):
    """One run of consolidation for one owner; counts and codes only, nothing of what was read.

    `stages` holds a report for each stage in order: its name, state, counts, notes and skipped_reason. The backlog is
    what was left to do when the run ended.
    """

    trigger = models.CharField(max_length=8, choices=RunTrigger.choices)
    state = models.CharField(max_length=11, choices=RunState.choices, default=RunState.RUNNING)
    stage = models.CharField(max_length=24, blank=True, default="")
    stages = models.JSONField(default=list)
    risk_class = models.CharField(max_length=4, choices=RiskClass.choices, default=RiskClass.NONE)
    extractor = models.CharField(max_length=64, blank=True, default="")
    batches = models.PositiveIntegerField(default=0)
    rows_seen = models.PositiveIntegerField(default=0)
    bytes_seen = models.PositiveBigIntegerField(default=0)
    bytes_skipped = models.PositiveBigIntegerField(default=0)
    backlog_rows = models.PositiveIntegerField(default=0)
    backlog_bytes = models.PositiveBigIntegerField(default=0)
    failed_writes = models.PositiveIntegerField(default=0)
    llm_calls = models.PositiveIntegerField(default=0)
    llm_failures = models.PositiveIntegerField(default=0)
    prompt_tokens = models.PositiveBigIntegerField(default=0)
    completion_tokens = models.PositiveBigIntegerField(default=0)
    error_code = models.CharField(max_length=64, blank=True, default="")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-started_at", "-id"], name="run_by_start")]


class ConsolidationLease(models.Model):
    """Which run works for an owner now; one that has not been heard of for a while may be taken over.

    A row and not an advisory lock, which a connection pooler would release on another connection.
    """

    owner = models.OneToOneField("memory.Owner", primary_key=True, on_delete=models.DO_NOTHING, related_name="+")
    run_id = models.UUIDField()
    heartbeat_at = models.DateTimeField()

    objects = TenantManager()

    class Meta:
        base_manager_name = "objects"


class ExtractionFailure(OwnedRow):
    """That nothing could be drawn from a memory yet; it is kept, listed and tried again at `next_at`.

    `next_at` is null when no further attempt is made by itself.
    """

    pk = models.CompositePrimaryKey("owner_id", "memory_id")
    memory = TenantForeignKey(Memory)
    code = models.CharField(max_length=64)
    attempts = models.PositiveSmallIntegerField(default=1)
    failed_at = models.DateTimeField()
    next_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-failed_at"], name="failure_by_time")]
