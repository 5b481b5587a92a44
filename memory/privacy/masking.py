"""Texts as lists show them to people: with personal data covered, until somebody asks to see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from memory.privacy import meaning, pii
from memory.privacy.pii import PiiTier

LEAST_VALUE: Final = 4
NOTHING: Final[Mapping[str, str]] = MappingProxyType({})
_TIER_WORDS: Final = {PiiTier.SENSITIVE: "Sensitive", PiiTier.CONFIDENTIAL: "Confidential"}


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


def values_of(text: str, tier: int) -> dict[str, str]:
    """Give the values that the patterns find in a text, with their kinds; none where its tier says that there are none.

    Values under four characters are left out: they stand anywhere.
    """
    if tier == PiiTier.CLEAR:
        return {}
    found = ((text[match.start : match.end], match.kind) for match in pii.scan(text).matches)
    return {value: kind for value, kind in found if len(value) >= LEAST_VALUE}


def masked_value(value: Any, known: Mapping[str, str] = NOTHING) -> Any:
    """Cover personal data in a label, or in every text of a JSON value; anything else stays as it is.

    Args:
        value: the label or JSON value.
        known: values with their kinds, see `values_of`: alone in a label a number may have lost what gives it away.
    """
    if isinstance(value, str):
        for hidden in sorted(known, key=len, reverse=True):
            value = value.replace(hidden, f"[{known[hidden].upper()}]")
        return pii.redact(value)
    if isinstance(value, Mapping):
        return {masked_value(str(name), known): masked_value(inner, known) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [masked_value(inner, known) for inner in value]
    return value
