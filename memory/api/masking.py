"""Memories as lists show them to people, for callers that ask for that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from memory.models import Memory
from memory.privacy import meaning
from memory.privacy.masking import masked, masked_value, values_of

LABELS: Final = ("source", "tags", "topics", "speaker", "tool_name", "metadata")
EMPTY: Final[Mapping[str, Any]] = {"tags": [], "topics": [], "metadata": None}
"""What stands in place of labels that could tell what a text hides by its meaning."""


def mask_body(body: dict[str, Any], row: Memory, *, most_characters: int | None) -> dict[str, Any]:
    """Cover the personal data in the body that shows a memory.

    Args:
        body: what would be shown.
        row: the memory.
        most_characters: bound of the text, None for the whole.
    """
    text = masked(row.text, row.pii_kinds, row.pii_tier).text
    known = values_of(row.text, row.pii_tier)
    covered = {name: masked_value(body[name], known) for name in LABELS}
    if meaning.kinds_in(row.pii_kinds):
        covered |= EMPTY
    cut = most_characters is not None and len(text) > most_characters
    return {**body, **covered, "text": text[:most_characters], "text_truncated": cut}
