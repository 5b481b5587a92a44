"""Make any text safe to hand to a tokenizer or to send as JSON."""

from __future__ import annotations

import re

SURROGATE = re.compile("[\ud800-\udfff]")


def well_formed(text: str, longest: int) -> str:
    """Cut a text to a length and replace what encoders refuse.

    Halves of a surrogate pair that belong together become the character they mean, lone ones U+FFFD, and NUL a space.

    Args:
        text: any string.
        longest: the largest number of characters kept, counted before the replacements.

    Returns:
        a text that encodes as UTF-8, at most `longest` characters.
    """
    cut = text[:longest]
    if SURROGATE.search(cut):
        cut = cut.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return cut.replace("\0", " ")
