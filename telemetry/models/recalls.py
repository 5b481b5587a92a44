"""How recall works in use: one row for each recall, what people said of its hits, comparisons, and tuning."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from memory.models.encrypted import EncryptedTextField
from memory.models.tenancy import TenantForeignKey, TenantModel


class RecallExperiment(TenantModel):
    """Two profiles compared: some agents use the one, the others the other."""

    label = EncryptedTextField()
    control = models.CharField(max_length=32)
    variant = models.CharField(max_length=32)
    # Share of agents that use the variant, 0 to 1; which ones is decided by a keyed hash of their ids.
    share = models.FloatField(default=0.5)
    # Agents that use the variant whatever the hash says; none: the share alone decides.
    agents = ArrayField(models.UUIDField(), default=list)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=models.Q(ended_at=None), name="one_running_experiment")
        ]


class RecallObservation(TenantModel):
    """One recall, without its question: how long it took, what it gave, and in which arm of an experiment. Its id is
    that of the recall.
    """

    agent = TenantForeignKey("memory.Agent", null=True, blank=True, when_deleted="CASCADE")
    sort = models.CharField(max_length=32)
    profile = models.CharField(max_length=32)
    experiment = TenantForeignKey(RecallExperiment, null=True, blank=True, when_deleted="SET NULL")
    # `control`, `variant`, or empty outside experiments.
    experiment_arm = models.CharField(max_length=7, blank=True, default="")
    hits = models.PositiveSmallIntegerField()
    wanted = models.PositiveSmallIntegerField()
    considered = models.PositiveIntegerField(default=0)
    # Of the first 20 hits in their order, 0 to 1.
    relevances = ArrayField(models.FloatField(), default=list)
    threshold = models.FloatField(default=0.0)
    gate = models.CharField(max_length=32, blank=True, default="")
    fallback = models.BooleanField(default=False)
    degraded = ArrayField(models.CharField(max_length=64), default=list)
    duration_us = models.PositiveBigIntegerField()
    # Microseconds by stage.
    stages = models.JSONField(default=dict)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at"], name="observation_by_time")]


class RecallFeedback(TenantModel):
    """Whether a recall, or one of its hits, helped."""

    recall_id = models.UUIDField()
    memory = TenantForeignKey("memory.Memory", null=True, blank=True, when_deleted="CASCADE")
    # The hit's place, from 1; null for the recall as a whole.
    rank = models.PositiveSmallIntegerField(null=True, blank=True)
    helpful = models.BooleanField()
    caller = models.UUIDField()
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "recall_id", "memory", "caller"], name="feedback_once", nulls_distinct=False
            )
        ]
        indexes = [models.Index(fields=["owner", "-created_at"], name="feedback_by_time")]


class TunerChange(TenantModel):
    """One change that the tuner made to an owner's threshold, with its reason; it can be undone."""

    setting = models.CharField(max_length=40)
    before = models.FloatField()
    after = models.FloatField()
    # The smoothed NDCG that led to it, and the recalls that it rests on.
    ndcg = models.FloatField()
    recalls = models.PositiveIntegerField()
    reason = models.CharField(max_length=200)
    created_at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at"], name="tuner_change_by_time")]


class TunerState(TenantModel):
    """Where the tuner stands with an owner; a row of its own, since it changes with every look."""

    ndcg = models.FloatField(null=True, blank=True)
    recalls = models.PositiveIntegerField(default=0)
    looked_until = models.DateTimeField(null=True, blank=True)
    # The owner's threshold when it last looked; another one now was chosen by a person, and the tuner begins anew.
    threshold = models.FloatField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="tuner_state_once")]
