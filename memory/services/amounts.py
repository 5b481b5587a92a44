"""How many of what the sentences of errors, checks and commands are about."""

from __future__ import annotations


def owners(number: int) -> str:
    """Say how many owners a sentence is about: `1 owner`, `2,000 owners`."""
    return "1 owner" if number == 1 else f"{number:,} owners"


def memories(number: int) -> str:
    """Say how many memories a sentence is about: `1 memory`, `2,000 memories`."""
    return "1 memory" if number == 1 else f"{number:,} memories"
