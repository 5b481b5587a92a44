"""Communities: which memories and entities belong together more than to the rest."""

from __future__ import annotations

from django.db import models

from memory.models.encrypted import EncryptedTextField
from memory.models.tenancy import TenantManager, TenantModel


class CommunityState(models.Model):
    """The newest division of an owner's graph into communities, and the version of the graph that it was made of."""

    owner = models.OneToOneField("memory.Owner", primary_key=True, on_delete=models.DO_NOTHING, related_name="+")
    graph_version = models.BigIntegerField()
    modularity = models.FloatField()
    communities = models.PositiveIntegerField()
    nodes = models.PositiveIntegerField()
    edges = models.PositiveIntegerField()
    next_number = models.PositiveIntegerField(default=1)
    computed_at = models.DateTimeField()

    objects = TenantManager()

    class Meta:
        base_manager_name = "objects"


class Community(TenantModel):
    """One community; its number stays with it from one division to the next.

    `name` is what a person has called it. Where nobody has, the reader is shown the entities most spoken of in it,
    of those that this reader may see.
    """

    number = models.PositiveIntegerField()
    name = EncryptedTextField(null=True, blank=True)
    memories = models.PositiveIntegerField(default=0)
    entities = models.PositiveIntegerField(default=0)
    inner_weight = models.FloatField(default=0.0)
    outer_weight = models.FloatField(default=0.0)
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "number"], name="community_number_once")]
