"""Owners, whose memories everything is, and the logins that may be joined to them."""

from __future__ import annotations

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.functions import RandomUUID
from django.db import models

from memory.ids import new_id
from memory.models.tenancy import TenantModel


class User(AbstractUser):
    """A login of a person."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)


class Owner(models.Model):
    """The person or account whose memories these are.

    The row holds no personal data and stands outside row-level security, since it is looked up to find the owner.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    user = models.OneToOneField(User, null=True, blank=True, on_delete=models.PROTECT, related_name="owner")
    created_at = models.DateTimeField(auto_now_add=True)
    # The name of the owner's audit, which survives the owner. Random, so that it tells nothing.
    pseudonym = models.UUIDField(unique=True, db_default=RandomUUID(), editable=False)
    # Set once a purge has begun; from then on nothing of this owner is read or written.
    purging_at = models.DateTimeField(null=True, blank=True, editable=False)

    def __str__(self) -> str:
        return f"owner {self.id}"


class OwnerSettings(TenantModel):
    """An owner's choices; names and meanings stand in `memory.services.settings`."""

    values = models.JSONField(default=dict)
    version = models.PositiveIntegerField(default=1)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="owner_settings_once")]


class OwnerActivity(TenantModel):
    """Durable counters of an owner; a row of its own, since it changes with every turn."""

    turns_since_consolidation = models.PositiveIntegerField(default=0)
    last_consolidated_at = models.DateTimeField(null=True, blank=True)
    last_turn_at = models.DateTimeField(null=True, blank=True)
    last_slept_at = models.DateTimeField(null=True, blank=True)
    last_forgotten_at = models.DateTimeField(null=True, blank=True)
    last_summarised_at = models.DateTimeField(null=True, blank=True)
    last_reflected_at = models.DateTimeField(null=True, blank=True)
    # After an error: no run of itself before that moment, and how many errors came one after the other.
    consolidate_after = models.DateTimeField(null=True, blank=True)
    consolidation_errors = models.PositiveSmallIntegerField(default=0, db_default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="owner_activity_once")]
