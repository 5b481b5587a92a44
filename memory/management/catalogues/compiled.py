"""Catalogues as programs read them: the format of GNU gettext's `.mo` files."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final

from memory.management.catalogues.portable import Entry

MAGIC: Final = 0x950412DE
HEAD_BYTES: Final = 28


def compiled(entries: Sequence[Entry]) -> bytes:
    """Compile a catalogue; the same entries give the same bytes everywhere. Entries that are not done are left out."""
    pairs = sorted((_key(entry), "\0".join(entry.translations).encode()) for entry in entries if _is_used(entry))
    count = len(pairs)
    keys, values = [key for key, _ in pairs], [value for _, value in pairs]
    first = HEAD_BYTES + 16 * count
    tables, texts = [], bytearray()
    for strings in (keys, values):
        for text in strings:
            tables += [len(text), first + len(texts)]
            texts += text + b"\0"
    head = struct.pack("<7I", MAGIC, 0, count, HEAD_BYTES, HEAD_BYTES + 8 * count, 0, first)
    return head + struct.pack(f"<{len(tables)}I", *tables) + bytes(texts)


def _is_used(entry: Entry) -> bool:
    return entry.done and not entry.unsure


def _key(entry: Entry) -> bytes:
    sentence = entry.sentence
    context = "" if sentence.context is None else f"{sentence.context}\x04"
    many = "" if sentence.many is None else f"\0{sentence.many}"
    return f"{context}{sentence.text}{many}".encode()
