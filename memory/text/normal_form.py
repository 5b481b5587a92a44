"""The compatibility form of texts, held to a length that the text as written allows for."""

from __future__ import annotations

import unicodedata
from typing import Final

MOST_GROWTH: Final = 2
SPARE_CHARACTERS: Final = 64
# A row of dots as one sign leads the eye in tables of contents; it holds no word and need not grow threefold.
_ELLIPSIS: Final = {ord("…"): " "}


def compatible(text: str) -> str:
    """Bring a text to NFKC, cut at twice its own length and 64 characters more.

    One character can have 18 in this form (U+FDFA), so that a bound on a text would not bound the work on its form.
    What people write hardly grows; a text that is mostly such characters loses its end, the same way each time. An
    ellipsis gives a space.

    Args:
        text: any text; cost is linear in its length.

    Returns:
        At most 2 * len(text) + 64 characters.
    """
    return unicodedata.normalize("NFKC", text.translate(_ELLIPSIS))[: MOST_GROWTH * len(text) + SPARE_CHARACTERS]
