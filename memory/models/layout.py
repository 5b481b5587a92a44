"""Where things stand in the picture of the graph, so that they stand there again on the next visit."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from memory.models.graph import Entity
from memory.models.memory import Memory
from memory.models.tenancy import TenantForeignKey, TenantManager, TenantModel


class GraphLayout(models.Model):
    """The newest layout of an owner's graph, and the version of the graph that it was made of."""

    owner = models.OneToOneField("memory.Owner", primary_key=True, on_delete=models.DO_NOTHING, related_name="+")
    graph_version = models.BigIntegerField()
    nodes = models.PositiveIntegerField()
    computed_at = models.DateTimeField()

    objects = TenantManager()

    class Meta:
        base_manager_name = "objects"


class GraphPosition(TenantModel):
    """The place of one memory or entity; its id is that of the row that it is the place of, and it goes with that row.

    The plane has no unit: neighbours stand about one apart.
    """

    memory = TenantForeignKey(Memory, null=True, blank=True)
    entity = TenantForeignKey(Entity, null=True, blank=True)
    x = models.FloatField()
    y = models.FloatField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(memory__isnull=False, entity=None) | Q(memory=None, entity__isnull=False),
                name="position_of_one_thing",
            )
        ]
        indexes = [
            # For the database, which looks for the place of each row that is deleted.
            models.Index(fields=["owner", "memory"], condition=Q(memory__isnull=False), name="position_by_memory"),
            models.Index(fields=["owner", "entity"], condition=Q(entity__isnull=False), name="position_by_entity"),
        ]
