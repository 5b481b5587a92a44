"""What pages show of a memory's words: masked, unless they were asked to reveal it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from memory.models import Memory
from memory.privacy.masking import Masked, masked, masked_value, values_of


def cover(row: Memory) -> Masked:
    """Give the text of a memory as lists show it, with the speaker before it."""
    shown = masked(row.text, row.pii_kinds, row.pii_tier)
    if not row.speaker:
        return shown
    speaker = coverer(row)(row.speaker)
    return Masked(f"{speaker}: {shown.text}", shown.hidden or speaker != row.speaker)


def coverer(row: Memory) -> Callable[[Any], Any]:
    """Make what covers personal data in the labels of a memory: what patterns find, and values that its text holds."""
    return partial(masked_value, known=values_of(row.text, row.pii_tier))


def is_covered(row: Memory) -> bool:
    """Tell whether a page of this memory hides anything: of its text, or of what stands beside it."""
    labels = [row.speaker, row.source, row.tags, row.topics, row.tool_name]
    return masked(row.text, row.pii_kinds, row.pii_tier).hidden or bool(coverer(row)(labels) != labels)


def former_text(text: str, kinds: Iterable[str]) -> str:
    """Give what a memory said before as its history shows it; each text is scanned, since its kinds are not kept."""
    return masked(text, kinds, 1).text
