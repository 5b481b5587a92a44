"""Searches that a person keeps under a name."""

from __future__ import annotations

from django.db import models

from memory.models.encrypted import EncryptedTextField
from memory.models.tenancy import TenantModel


class SavedSearch(TenantModel):
    """A search under a name: its question, and what else its address holds."""

    name = EncryptedTextField()
    question = EncryptedTextField()
    choices = EncryptedTextField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at"], name="saved_search_by_time")]
