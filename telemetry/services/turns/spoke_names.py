"""Names of the parts of agents, brought to one form, so that what looks the same is counted as the same."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from memory.text.limits import without_invisible

DIRECT: Final = "direct"
"""Where no part was named."""
OTHER: Final = "other"
"""Where an owner has as many spokes as are kept, and a new one is named."""
FALLBACKS: Final = frozenset({"fallback", "delegate_task", "generic"})
"""Names of what takes over where no part fits."""
RESERVED: Final = FALLBACKS | {DIRECT, OTHER}

_SPACE: Final = re.compile(r"\s+")


def one_form(name: str) -> str:
    """Give a name in the form in which it is kept.

    Args:
        name: as it came.

    Returns:
        Its compatible composed form (Unicode Standard Annex 15, NFKC), without characters that show nothing, with
        single spaces and none at its ends; a name of `RESERVED` in small letters, in whatever case it came. Blank where
        nothing shows.
    """
    compatible = unicodedata.normalize("NFKC", without_invisible(_SPACE.sub(" ", name)))
    # What was between two spaces may be gone.
    single = _SPACE.sub(" ", compatible).strip()
    folded = single.casefold()
    return folded if folded in RESERVED else single
