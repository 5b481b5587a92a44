"""Texts as lists show them to people: with personal data covered, until somebody asks to see it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from memory.privacy import meaning, pii
from memory.privacy.pii import PiiTier

_TIER_WORDS = {PiiTier.SENSITIVE: "Sensitive", PiiTier.CONFIDENTIAL: "Confidential"}


@dataclass(frozen=True, slots=True)
class Masked:
    """A text as it is shown, and whether something of it is hidden."""

    text: str
    hidden: bool


def masked(text: str, pii_kinds: Iterable[str], tier: int) -> Masked:
    """Cover the personal data of a text.

    Args:
        text: a stored text.
        pii_kinds: the kinds that are stored with it.
        tier: the tier that is stored with it.

    Returns:
        What the patterns found is replaced by its kind, as in `[EMAIL]`. What is personal by its meaning goes as a
        whole, since no part of it can be shown for sure: `Confidential: health`.
    """
    by_meaning = meaning.kinds_in(pii_kinds)
    if by_meaning:
        named = ", ".join(kind.replace("_", " ") for kind in by_meaning)
        return Masked(f"{_TIER_WORDS[meaning.tier_of(by_meaning)]}: {named}", True)
    if tier == PiiTier.CLEAR:
        return Masked(text, False)
    shown = pii.redact(text)
    return Masked(shown, shown != text)


def masked_value(value: Any) -> Any:
    """Cover what the patterns find in a label, or in every text of a JSON value; anything else stays as it is."""
    if isinstance(value, str):
        return pii.redact(value)
    if isinstance(value, dict):
        return {pii.redact(str(name)): masked_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(inner) for inner in value]
    return value
