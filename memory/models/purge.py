"""Purges: what is to be erased, how far that is, and the receipt. The rows outlive the owners that they are about."""

from __future__ import annotations

from django.db import models

from memory.ids import new_id


class PurgeSubject(models.TextChoices):
    """What a purge is about."""

    OWNER = "owner"
    AGENT = "agent"
    SOURCE = "source"
    MEMORY = "memory"


class PurgeState(models.TextChoices):
    """How far a purge is."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


class Purge(models.Model):
    """One purge. It holds ids, counts and times only, and no id of the owner any more once an owner's purge is done.

    Outside row-level security, since workers look for purges that wait, and a receipt is read by whoever holds its
    token when nobody can log in any more.

    `target` holds ids and keyed hashes; `position` says where to go on after an interruption; `samples` are sealed
    values and vectors that the verification looks for, and are removed with its end. `proof` signs what the purge is
    about, so that nobody has somebody erased by writing a row.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    of_owner = models.UUIDField(null=True)
    pseudonym = models.UUIDField()
    subject = models.CharField(max_length=8, choices=PurgeSubject.choices)
    target = models.JSONField(default=dict)
    state = models.CharField(max_length=8, choices=PurgeState.choices, default=PurgeState.WAITING)
    stage = models.CharField(max_length=64, blank=True, default="")
    position = models.JSONField(default=dict)
    expected = models.JSONField(default=dict)
    erased = models.JSONField(default=dict)
    samples = models.JSONField(null=True)
    requested_by = models.CharField(max_length=64)
    requested_at = models.DateTimeField()
    began_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    attempts = models.PositiveIntegerField(default=0)
    error_code = models.CharField(max_length=64, blank=True, default="")
    not_before = models.DateTimeField(null=True)
    token_digest = models.BinaryField(max_length=32)
    proof = models.BinaryField(max_length=64, default=bytes)
    receipt = models.JSONField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["requested_at"], name="purge_open", condition=models.Q(state__in=["waiting", "running"])
            ),
            models.Index(fields=["of_owner", "-requested_at"], name="purge_by_owner"),
        ]
        constraints = [models.UniqueConstraint(fields=["token_digest"], name="purge_token_once")]
