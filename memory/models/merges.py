"""Merges of entities, kept whole so that they can be undone."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from memory.models.encrypted import EncryptedJSONField
from memory.models.graph import Entity, GraphRow
from memory.models.tenancy import OwnedRow, TenantForeignKey


class EntityMerge(GraphRow):
    """That one entity was merged into another.

    `record` holds the entity that went and every row that was moved, dropped or changed for it.
    """

    kept = TenantForeignKey(Entity)
    merged_id = models.UUIDField()
    record = EncryptedJSONField()
    score = models.FloatField(null=True, blank=True)
    rule = models.CharField(max_length=32)
    actor = models.CharField(max_length=64)
    merged_at = models.DateTimeField()
    undone_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = [models.Index(fields=["owner", "-merged_at", "-id"], name="merge_by_time")]


class EntitiesApart(OwnedRow):
    """That two entities are not the same, as a person has said; `first` is the one with the smaller id."""

    pk = models.CompositePrimaryKey("owner_id", "first_id", "second_id")
    first = TenantForeignKey(Entity)
    second = TenantForeignKey(Entity)
    decided_at = models.DateTimeField()

    class Meta:
        constraints = [models.CheckConstraint(condition=Q(first__lt=F("second")), name="apart_in_order")]
        indexes = [models.Index(fields=["owner", "second"], name="apart_by_second")]
