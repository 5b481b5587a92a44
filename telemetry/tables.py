"""Tables as CSV, for whoever puts them into a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

from memory.text.limits import without_invisible

# What a spreadsheet takes for the beginning of a formula.
FORMULA: Final = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
BREAKS: Final = ("\t", "\r", "\n")


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table as CSV, with its header first; see `cell`."""
    text = io.StringIO()
    # All in quotes: some read a semicolon or a tab as the end of a cell, and would find a formula after it.
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(header)
    for row in rows:
        writer.writerow([cell(value) for value in row])
    return text.getvalue()


def cell(value: Any) -> str | int | float:
    """Write a value so that no spreadsheet takes it for a formula: text that begins like one gets an apostrophe."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    # White space and what shows nothing is passed over before a formula.
    begins_like_one = without_invisible(text).lstrip().startswith(FORMULA) or text.lstrip(" ").startswith(BREAKS)
    return f"'{text}" if begins_like_one else text
