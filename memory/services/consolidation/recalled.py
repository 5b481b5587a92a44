"""Our own words coming back: a context block that an agent has put into a turn is nothing new."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from memory.services.context import FORMATS

# What every line of a form begins with: where it is from, its kind and its day.
LINES: Final[Mapping[str, re.Pattern[str]]] = {
    "prax": re.compile(r"- \[[^\]\n]{1,80}, \d{4}-\d\d-\d\d\] "),
    "praxis": re.compile(r"- \([a-z]{1,16}\) \d{4}-\d\d-\d\d: "),
    "cortex": re.compile(r"\[[a-z]{1,16}\] \d{4}-\d\d-\d\d: "),
}


def without_blocks(text: str) -> str:
    """Give a text without the context blocks that stand in it: their first lines, their memories and their ends.

    A line counts as a memory's only below the first line of a block, so nobody's own list is taken for one. The cost
    is linear in the text.
    """
    if not any(form.head in text for form in FORMATS.values()):
        return text
    kept: list[str] = []
    inside: str | None = None
    for line in text.splitlines():
        bare = line.strip().lstrip("> ")
        begun = next((name for name, form in FORMATS.items() if bare == form.head), None)
        if begun is not None:
            inside = begun
        elif inside is not None and LINES[inside].match(bare):
            continue
        elif inside is not None and FORMATS[inside].foot and bare == FORMATS[inside].foot:
            inside = None
        else:
            inside = None if bare else inside
            kept.append(line)
    return "\n".join(kept).strip()
