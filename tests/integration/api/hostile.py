"""Texts that nobody means and that have brought down servers, for every parameter and field there is."""

from __future__ import annotations

HOSTILE = [
    "\x00",
    "tea\x00",
    "\ufffd",
    "%",
    "'",
    "\\",
    "\x1b[2J",
    "\x85",
    "\u202e",
    "\u2028",
    "\U0010ffff",
    "\ufdd0",
    "NaN",
    "-1",
    "1e999",
    "9" * 400,
    "²",
    "٣",
    "{{ 7 }}",
    "a" * 70_000,
    "0001-01-01T00:00:00+23:59",
    "9999-12-31T23:59:59-23:59",
]
# As bytes of an address: halves of a surrogate pair, an overlong NUL, and what is no UTF-8 at all.
RAW = ["%ED%A0%80", "%ED%BF%BF", "%C0%80", "%FF%FE", "%F4%90%80%80", "%u0000", "%0d%0aX:%20y"]
