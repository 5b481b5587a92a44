"""Labels of relations: an open vocabulary in one spelling, and those of which only one can hold at a time."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from memory.crypto.keyring import OwnerRing
from memory.errors import InvalidInput
from memory.text import limits

MAX_LABEL_CHARACTERS: Final = 64

SINGLE_VALUED: Final = frozenset(
    {"lives_in", "based_in", "works_at", "employed_by", "married_to", "reports_to", "named", "default_for"}
)
"""Labels with one target at a time (Prax): a new target ends the old relation, which stays in the history."""

OPPOSITES: Final = {"likes": "dislikes", "dislikes": "likes"}
"""Labels that deny each other: the one that began later ends the other between the same two entities."""

SYNONYMS: Final = {
    other: label
    for label, others in {
        "reports_to": "has_boss has_manager has_supervisor has_lead has_team_lead managed_by supervised_by manager",
        "works_at": "employed_by employed_at works_for has_employer employer",
        "married_to": "has_wife has_husband has_spouse spouse wife husband",
        "lives_in": "resides_in lives_at living_in has_home",
    }.items()
    for other in others.split()
}
"""Other words for labels of which one target holds at a time, with the one label that drawn relations get."""

_BETWEEN: Final = re.compile(r"[\s_-]+")
_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def checked_label(label: object, *, field: str = "label") -> str:
    """Bring a label to its one spelling: `Lives in`, `LIVES_IN` and `livesIn` are `lives_in`.

    Raises:
        InvalidInput: no text, nothing visible or an unsound character; `label.too_long` above 64 characters.
        TooLarge: very long ones.
    """
    text = limits.checked_text(label, field=field, max_bytes=8 * MAX_LABEL_CHARACTERS)
    spelled = snake_case(text)
    if not spelled:
        raise InvalidInput("A label needs letters or digits.", code="label.invalid", field=field)
    if len(spelled) > MAX_LABEL_CHARACTERS:
        raise InvalidInput(
            f"A label has at most {MAX_LABEL_CHARACTERS} characters.", code="label.too_long", field=field
        )
    return spelled


def snake_case(text: str) -> str:
    """Write words in lower case, joined by underscores."""
    return _BETWEEN.sub("_", _CAMEL.sub("_", unicodedata.normalize("NFKC", text).strip()).casefold()).strip("_")


def preferred(label: str) -> str:
    """Give the label that stands for all that mean the same, so that two of them do not hold side by side."""
    return SYNONYMS.get(label, label)


def label_hash(ring: OwnerRing, label: str) -> int:
    """Hash a label in its one spelling."""
    return ring.name(f"relation\0{label}")


def opposite_hash(ring: OwnerRing, label: str) -> int | None:
    """Hash the label that denies one; None where there is none."""
    opposite = OPPOSITES.get(label)
    return None if opposite is None else label_hash(ring, opposite)


def spoken(label: str) -> str:
    """Write a label as words of a sentence."""
    return label.replace("_", " ")
