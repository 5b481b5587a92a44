"""The two indexes of recall, vectors and postings, and the queue of vectors still to make.

They are partitioned by owner and written and read by SQL of their own, so they have no single-column key.
"""

from __future__ import annotations

from django.db import models
from pgvector.django import HalfVectorField

from memory.models.memory import Memory
from memory.models.tenancy import OwnedRow, TenantForeignKey, TenantManager, TenantModel
from memory.models.vocabulary import SpaceState


class EmbeddingSpace(models.Model):
    """The vectors of one model; two widths never meet. Not owned: it names a model and no person.

    At most one is in use and at most one stands beside it: filling, or kept up after a switch. `pause` is the code of
    why no vectors are made for the one beside it now, blank while they are.
    """

    id = models.AutoField(primary_key=True)
    provider = models.CharField(max_length=32)
    model = models.CharField(max_length=200)
    dimension = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=SpaceState.choices, default=SpaceState.FILLING)
    created_at = models.DateTimeField(auto_now_add=True)
    pause = models.CharField(max_length=64, blank=True, default="", db_default="")
    paused_at = models.DateTimeField(null=True, blank=True)
    switched_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["provider", "model", "dimension"], name="space_once"),
            models.UniqueConstraint(
                fields=["state"], condition=models.Q(state=SpaceState.ACTIVE), name="one_active_space"
            ),
            models.UniqueConstraint(
                models.Value(1),
                condition=models.Q(state__in=[SpaceState.FILLING, SpaceState.STANDBY]),
                name="one_space_beside",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider} {self.model} ({self.dimension})"


class MemoryVector(OwnedRow):
    """The vector of one memory in one space, of its text with personal data replaced by its kind."""

    pk = models.CompositePrimaryKey("owner_id", "memory_id", "space_id")
    memory = TenantForeignKey(Memory)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.DO_NOTHING, db_index=False, related_name="+")
    scope = models.UUIDField()
    live = models.BooleanField(default=True)
    vec = HalfVectorField()


class SpaceFill(models.Model):
    """How far an owner's vectors in one space are: what a turn of filling has counted.

    Ids, counts and times only, outside row-level security, so that health and operators see the whole. `whole_at` is
    when nothing was missing for the first time since something was.
    """

    pk = models.CompositePrimaryKey("owner_id", "space_id")
    owner = models.ForeignKey("memory.Owner", on_delete=models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.DO_NOTHING, related_name="+", db_index=False)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    closed = models.PositiveIntegerField(default=0)
    whole_at = models.DateTimeField(null=True, blank=True)
    updated_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.done} of {self.total} of {self.owner_id} in {self.space_id}"


class LexPosting(OwnedRow):
    """How often one keyed word stands in one memory, and the highest such count and the length of the whole text.

    No positions are kept.
    """

    pk = models.CompositePrimaryKey("owner_id", "term", "memory_id")
    term = models.BigIntegerField()
    memory = TenantForeignKey(Memory)
    tf = models.SmallIntegerField()
    highest_tf = models.SmallIntegerField()
    length = models.SmallIntegerField()
    scope = models.UUIDField()
    live = models.BooleanField(default=True)


class LexStats(models.Model):
    """How many memories of an owner stand in the postings, and their summed length in tokens."""

    owner = models.OneToOneField("memory.Owner", primary_key=True, on_delete=models.DO_NOTHING, related_name="+")
    n = models.BigIntegerField(default=0)
    total = models.BigIntegerField(default=0)

    objects = TenantManager()

    class Meta:
        base_manager_name = "objects"


class TokenVectors(OwnedRow):
    """The vectors of one memory's tokens in one space: reduced, rounded to bytes and sealed, for late interaction.

    They stand for the redacted text, but whoever reads them gets most of its words back; hence the seal.
    """

    pk = models.CompositePrimaryKey("owner_id", "memory_id", "space_id")
    memory = TenantForeignKey(Memory)
    space = models.ForeignKey(EmbeddingSpace, on_delete=models.DO_NOTHING, db_index=False, related_name="+")
    sealed = models.BinaryField()


class MentionedTime(OwnedRow):
    """A span of time that a memory's text speaks of, resolved against the moment it happened.

    `ends_at` is the first moment after the span.
    """

    pk = models.CompositePrimaryKey("owner_id", "memory_id", "starts_at", "ends_at")
    memory = TenantForeignKey(Memory)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["owner", "starts_at", "ends_at", "memory"], name="mentioned_time_by_span")]


class PendingVector(TenantModel):
    """A memory whose vector in the active space is still to be made, because the embedder failed."""

    memory = TenantForeignKey(Memory)
    attempts = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "memory"], name="pending_vector_once")]
        indexes = [models.Index(fields=["owner", "next_at"], name="pending_vector_due")]
