"""Where a memory's text tells something personal by its meaning, kept so that every later embedding leaves it out.

A place is two numbers and a kind, written as one number; it holds nothing of the text, which is encrypted. It stands
beside the memory's labels, which are removed with the memory as these have to be, under a kind that no filter asks for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from memory.models import Memory, MemoryLabel
from memory.privacy import meaning
from memory.privacy.meaning import Place

HIDDEN: Final = 64
"""The kind of these labels; not one of `LabelKind`, whose labels are keyed words."""
_BITS: Final = 24
_MASK: Final = (1 << _BITS) - 1
# Stored, so a number is never given to another kind.
_NUMBERS: Final[Mapping[str, int]] = MappingProxyType(
    {
        "health": 1,
        "biometric": 2,
        "genetic": 3,
        "financial": 4,
        "name": 5,
        "residence": 6,
        "contact": 7,
        "identity": 8,
        "belief": 9,
        "politics": 10,
        "origin": 11,
        "sexual_life": 12,
        "union": 13,
        "criminal": 14,
        "other": 15,
    }
)
_KINDS: Final = {number: kind for kind, number in _NUMBERS.items()}


def keep_places(row: Memory, places: Sequence[Place]) -> None:
    """Note the places of a memory's present text in place of what was noted, within the owner's scope."""
    forget_places(row)
    MemoryLabel.objects.bulk_create(
        [
            MemoryLabel(owner_id=row.owner_id, memory_id=row.pk, kind=HIDDEN, label=_written(place))
            for place in sorted(places)
        ],
        ignore_conflicts=True,
    )


def forget_places(row: Memory) -> None:
    """Remove the places of a memory: its text has changed."""
    MemoryLabel.objects.filter(memory_id=row.pk, kind=HIDDEN).delete()


def redacted_text(row: Memory) -> str:
    """Give a stored text without personal data: what the patterns find, and the places that a model has named.

    Costs a statement where something was found by meaning; call it within the owner's scope.
    """
    if not meaning.kinds_in(row.pii_kinds):
        return meaning.without(row.text, ())
    labels = MemoryLabel.objects.filter(memory_id=row.pk, kind=HIDDEN).values_list("label", flat=True)
    return meaning.without(row.text, [_read(label) for label in labels])


def spoken(row: Memory, redacted: str) -> str:
    """Give the text that is embedded: redacted, with the speaker before it."""
    return f"{row.speaker}: {redacted}" if row.speaker else redacted


def _written(place: Place) -> int:
    return _NUMBERS[place.kind] << 2 * _BITS | place.start << _BITS | place.end


def _read(label: int) -> Place:
    return Place(label >> _BITS & _MASK, label & _MASK, _KINDS[label >> 2 * _BITS])
