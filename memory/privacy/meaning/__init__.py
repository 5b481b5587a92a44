"""Personal data that only its meaning shows, such as what somebody is ill with: the second layer, for a language model.

Everything here is pure: what is asked, how an answer is read, which parts of a long text are shown, and where the
phrases that an answer names stand in the text. Asking and storing is done by services.
"""

from __future__ import annotations

from memory.privacy.meaning.kinds import KINDS, kinds_in, leading, tier_of
from memory.privacy.meaning.phrases import Place, places_of, without
from memory.privacy.meaning.question import INSTRUCTION, LEAST_CONFIDENCE, SCHEMA, Verdict, read
from memory.privacy.meaning.windows import MOST_WINDOWS, WINDOW_CHARACTERS, windows

__all__ = [
    "INSTRUCTION",
    "KINDS",
    "LEAST_CONFIDENCE",
    "MOST_WINDOWS",
    "SCHEMA",
    "WINDOW_CHARACTERS",
    "Place",
    "Verdict",
    "kinds_in",
    "leading",
    "places_of",
    "read",
    "tier_of",
    "windows",
    "without",
]
