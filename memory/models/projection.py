"""What is to be projected to Neo4j: changes of the graph that wait, and how far each owner's projection is."""

from __future__ import annotations

from django.db import models

from memory.models.tenancy import OwnedRow


class GraphPart(models.IntegerChoices):
    """Of which sort a changed row of the graph is; the numbers are stored.

    What hangs on a row counts as a change of it: names of an entity, evidence of a relation, participants of an event.
    """

    ENTITY = 1
    RELATION = 2
    EVENT = 3
    CAUSE = 4


class GraphChange(OwnedRow):
    """That a row of the graph was made, changed or deleted and is to be projected; ids only.

    Triggers of the database write it in the transaction that changes the row, whatever path that takes, where the
    owner's graph is projected. `seq` and `noted_at` are the database's.
    """

    pk = models.CompositePrimaryKey("owner_id", "seq")
    seq = models.BigIntegerField()
    part = models.PositiveSmallIntegerField(choices=GraphPart.choices)
    row_id = models.UUIDField()
    noted_at = models.DateTimeField()


class ProjectionState(models.TextChoices):
    """Where an owner's projection stands: built from nothing, kept up to date, or given up until it is built again."""

    BUILDING = "building"
    FOLLOWING = "following"
    RESTING = "resting"


class GraphProjection(models.Model):
    """How far the projection of an owner's graph is.

    Ids, counts and times only, outside row-level security, so that what is behind can be told over all owners. Changes
    are noted only of owners with such a row, and not while it rests.

    Attributes:
        generation: drawn anew with each building; Neo4j holds it too.
        text: what stands there in clear, see NEO4J_TEXT.
        place: a code of the Neo4j and the database in which it stands; empty before anything was written there.
        given_up_at: when a Neo4j in which it stood was last given up as gone; receipts of purges say so from then on.
        fence: raised by each worker that takes the projection up; Neo4j refuses what one with a lower number writes.
        projected_seq: raised by every write, at least to the highest change that it brought; Neo4j holds it too.
        position: while it is built, how far that is.
        waiting: changes that waited when last looked.
        behind_since: when the oldest change that waits was noted; null where none waits.
        leased_until: until when the worker with the present fence may work.
        error_code, failures, retry_at: of the last attempts, where they failed, and when the next one may be made.
    """

    owner = models.OneToOneField("memory.Owner", primary_key=True, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=9, choices=ProjectionState.choices, default=ProjectionState.BUILDING)
    generation = models.UUIDField()
    text = models.CharField(max_length=6)
    place = models.CharField(max_length=32, blank=True, default="", db_default="")
    given_up_at = models.DateTimeField(null=True, blank=True)
    fence = models.BigIntegerField(default=0)
    projected_seq = models.BigIntegerField(default=0)
    projected_at = models.DateTimeField(null=True, blank=True)
    position = models.JSONField(default=dict, blank=True)
    waiting = models.BigIntegerField(default=0)
    behind_since = models.DateTimeField(null=True, blank=True)
    leased_until = models.DateTimeField(null=True, blank=True)
    error_code = models.CharField(max_length=64, blank=True, default="")
    failures = models.PositiveIntegerField(default=0)
    retry_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"projection of {self.owner_id}"
