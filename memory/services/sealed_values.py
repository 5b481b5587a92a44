"""Sealed values whose key is gone."""

from __future__ import annotations

from django.db import models

from memory.crypto.keyring import keyring
from memory.models import current_owner


def is_closed(row: models.Model, name: str) -> bool:
    """Tell whether a sealed value of a row of the current owner opens no more, its text-key version being destroyed.

    Args:
        row: as it was loaded.
        name: of the field; one that is empty, deferred or set anew is not closed.
    """
    version = getattr(row.__dict__.get(name), "version", None)
    return version is not None and version not in keyring().of(current_owner()).keys.text_seeds
