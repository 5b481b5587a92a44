"""What services say of errors and of health, in the language of the page.

Services write English and know of no language. A sentence without values is in the catalogues as it stands; one with
values is there with places for them, and is found again by what stands between.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from django.utils.translation import gettext, pgettext
from django.utils.translation.trans_real import DjangoTranslation, catalog

from memory.palace.numbers import local
from memory.text.composed import PART, SENTENCE, Composed, composed, first_match

MARK: Final = f"{SENTENCE}\x04"
"""How a catalogue parts a context from its sentence."""
NUMBER: Final = re.compile(r"-?(\d{1,3}(,\d{3})+|\d+)(\.\d+)?%?")
END: Final = re.compile(r"(?<=[.!?]) ")
DEEPEST: Final = 3
"""How often a sentence may stand as a value in another one."""


def said(written: str) -> str:
    """Say a sentence of a service, or several, in the language of the page; as it is where no catalogue has it."""
    return _said(written, DEEPEST)


def _said(written: str, depth: int) -> str:
    whole = gettext(written) if written else ""
    if whole != written or not depth:
        return whole
    filled = _filled(written, depth)
    if filled is not None:
        return filled
    parts = END.split(written)
    return " ".join(_said(part, depth - 1) for part in parts) if len(parts) > 1 else written


def _filled(written: str, depth: int) -> str | None:
    found = first_match(_known(catalog()), written)
    if found is None:
        return None
    text, values = found
    return pgettext(SENTENCE, text) % {name: _value(value, depth - 1) for name, value in values.items()}


def _value(value: str, depth: int) -> str:
    """Say what stands in a sentence: another sentence, words, or a number; everything else is left as it is."""
    words = value.strip()
    if NUMBER.fullmatch(words):
        return value.replace(words, local(words))
    if not words or not depth:
        return value
    if words.endswith("."):
        return value.replace(words, _said(words, depth))
    known = pgettext(PART, words)
    if known == words:
        known = _filled(words, depth) or (gettext(words) if " " in words else words)
    return value.replace(words, known)


@lru_cache(maxsize=8)
def _known(translation: DjangoTranslation) -> list[Composed]:
    """Give the sentences with places of a catalogue, prepared for the search."""
    keys = translation._catalog.keys()  # type: ignore[attr-defined]
    return composed(key.removeprefix(MARK) for key in keys if isinstance(key, str) and key.startswith(MARK))
