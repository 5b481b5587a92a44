"""Switches of the whole installation."""

from __future__ import annotations

from django.conf import settings

from memory.errors import MemoryDisabled


def require_memory() -> None:
    """Raise MemoryDisabled where the operator has switched memory off."""
    if not settings.MEMORY_ENABLED:
        raise MemoryDisabled
