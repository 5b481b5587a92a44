"""The forms in which a stored word could stand somewhere, and personal data of every kind to look for."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import quote

from tests.environment import PROJECT

SAMPLES = PROJECT / "bench" / "pii_texts.jsonl"


def forms(word: str) -> Iterator[bytes]:
    """Give a word in the encodings that databases, logs and protocols use."""
    for said in dict.fromkeys((word, word.casefold(), word.upper(), word.capitalize())):
        plain = said.encode()
        yield from (plain, said.encode("utf-16-le"), said.encode("utf-16-be"))
        yield from (plain.hex().encode(), plain.hex().upper().encode(), plain[::-1])
        yield from (quote(said, safe="").encode(), json.dumps(said)[1:-1].encode())
        yield from base64_forms(plain)


def base64_forms(plain: bytes) -> Iterator[bytes]:
    """Give what base64 makes of some bytes wherever they begin in a longer text, without what depends on neighbours."""
    for shift in range(3):
        coded = base64.b64encode(bytes(shift) + plain)
        inner = coded[-(-shift * 8 // 6) : len(coded) - (4 if (shift + len(plain)) % 3 else 0)]
        yield from (inner, inner.translate(bytes.maketrans(b"+/", b"-_")))


def standing_in(content: bytes, words: set[str]) -> set[str]:
    """Give those of some words that stand in a content, in any form."""
    return {word for word in words if any(form in content for form in forms(word))}


@cache
def personal_data() -> dict[str, tuple[str, str]]:
    """Give for each of the kinds of personal data a text and the value in it, from the labelled set of the bench."""
    found: dict[str, tuple[str, str]] = {}
    for line in Path(SAMPLES).read_text(encoding="utf-8").splitlines():
        sample = json.loads(line)
        for start, end, kind in sample["spans"]:
            value = sample["text"][start:end]
            # What is marked as open is nobody's; a place may also be a word of a random name, as those of queued jobs.
            if kind != "open" and value.isascii() and len(value) >= 8 and value not in ("password",):
                found.setdefault(kind, (sample["text"], value))
    return found
