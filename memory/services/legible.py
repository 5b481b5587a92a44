"""Names that may not open: shown where they can be, so that one damaged value does not hide everything beside it."""

from __future__ import annotations

import logging
from typing import Final

from django.db import models
from django.utils.translation import gettext_noop

from memory.errors import KeysUnavailable

# What people are shown instead.
UNREADABLE: Final = gettext_noop("name cannot be read")

logger = logging.getLogger(__name__)


def legible(row: models.Model, field: str) -> str | None:
    """Give an encrypted text of a loaded row, None where it does not open with its owner's key; that is logged.

    For lists of names and labels only. What a caller acts on is read as an attribute, which raises KeysUnavailable.
    """
    try:
        value: str = getattr(row, field)
    except KeysUnavailable as error:
        logger.error("%s of %s %s does not open: %s", field, row._meta.verbose_name, row.pk, error.machine_code)
        return None
    return value
