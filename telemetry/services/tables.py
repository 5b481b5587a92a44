"""Tables as CSV, for whoever puts them into a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any, Final

# What a spreadsheet takes for the beginning of a formula, and the white space that it passes over before one.
FORMULA: Final = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def table(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Write a table as CSV, with its header first; see `cell`."""
    text = io.StringIO()
    writer = csv.writer(text)
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
    return f"'{text}" if text.lstrip(" ").startswith(FORMULA) else text
