"""Sentences with values in them, found again in what a service has written, so that services need not know languages.

Services write English by f-strings. A catalogue keeps such a sentence with places instead of its values, marked by a
context; what was written is compared with those, and what stands in its places are the values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

SENTENCE: Final = "with values"
"""The context of a sentence whose values are left out."""
PART: Final = "in a sentence"
"""The context of words that stand as a value in such a sentence."""
PLACE: Final = re.compile(r"%\((\w+)\)s")
INNER_END: Final = re.compile(r"[.!?] ")
"""What a value does not hold, unless it is made of whole sentences itself."""
LONGEST: Final = 500
"""Characters beyond which a sentence is left as it is: the search for its values takes longer with their length."""


@dataclass(frozen=True, slots=True)
class Composed:
    """A sentence with places, and what finds the values in a text that was written by it."""

    text: str
    pattern: re.Pattern[str]

    def values_in(self, written: str) -> Mapping[str, str] | None:
        """Give the values of a text by the names of their places, None where it is another sentence."""
        found = self.pattern.fullmatch(written)
        if found is None or any(INNER_END.search(one) and not one.endswith((".", "!", "?")) for one in found.groups()):
            return None
        return found.groupdict()


def composed(texts: Iterable[str]) -> list[Composed]:
    """Prepare sentences with places for the search, those that say most by themselves first."""
    return [Composed(text, _pattern(text)) for text in sorted(texts, key=lambda one: (-_fixed(one), one))]


def first_match(known: Iterable[Composed], written: str) -> tuple[str, Mapping[str, str]] | None:
    """Find the sentence by which a text was written, and its values; None where there is none."""
    if len(written) > LONGEST:
        return None
    for one in known:
        values = one.values_in(written)
        if values is not None:
            return one.text, values
    return None


def _fixed(text: str) -> int:
    return len(PLACE.sub("", text))


def _pattern(text: str) -> re.Pattern[str]:
    pieces = PLACE.split(text)
    # Every other piece is the name of a place; what stands between them is literal, with %% for %.
    made = [f"(?P<{one}>.*?)" if at % 2 else re.escape(one.replace("%%", "%")) for at, one in enumerate(pieces)]
    return re.compile("".join(made), re.DOTALL)
