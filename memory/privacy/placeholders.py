"""Reversible placeholders for personal data in what a provider elsewhere is sent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memory.privacy import pii

_PLACEHOLDER: Final = re.compile(r"\[[A-Z_]{2,32}_[0-9]{1,6}\]")


class Placeholders:
    """Replaces personal data in the texts of one exchange, and puts it back into the answer.

    The same value gets the same placeholder in all of them, so that a reader can still tell who is who. Keep it for
    one exchange only: it holds what it replaced.
    """

    def __init__(self) -> None:
        """Begin without any."""
        self._by_value: dict[tuple[str, str], str] = {}
        self._values: dict[str, str] = {}
        self._counts: dict[str, int] = {}
        self._taken: set[str] = set()

    def __repr__(self) -> str:
        return f"Placeholders({len(self._values)})"

    def conceal(self, text: str) -> str:
        """Replace what a scan for personal data finds, by its kind and a number, as in `[EMAIL_1]`.

        What looks like a placeholder in the text itself is left alone, and is not given out from then on.
        """
        own = set(_PLACEHOLDER.findall(text))
        self._taken |= own
        for _ in range(pii.MOST_PASSES):
            matches = self._outside_placeholders(text, own)
            if not matches:
                return text
            text = self._replace(text, matches)
        # Only a text made for it uncovers ever more; there is no way back from it.
        return pii.redact(text)

    def restore(self, text: str) -> str:
        """Put the values back; a placeholder that was never given out stays as it is."""
        return _PLACEHOLDER.sub(lambda match: self._values.get(match.group(), match.group()), text)

    def _outside_placeholders(self, text: str, own: set[str]) -> list[pii.Match]:
        """Find personal data, without what touches a placeholder that was put in."""
        given = [found.span() for found in _PLACEHOLDER.finditer(text) if found.group() not in own]
        return [
            match
            for match in pii.scan(text).matches
            if not any(match.start < end and start < match.end for start, end in given)
        ]

    def _replace(self, text: str, matches: Sequence[pii.Match]) -> str:
        pieces: list[str] = []
        position = 0
        for match in matches:
            pieces += [text[position : match.start], self._placeholder(match.kind, text[match.start : match.end])]
            position = match.end
        return "".join([*pieces, text[position:]])

    def _placeholder(self, kind: str, value: str) -> str:
        known = self._by_value.get((kind, value))
        if known is not None and known not in self._taken:
            return known
        while True:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            name = f"[{kind.upper()}_{self._counts[kind]}]"
            if name not in self._taken:
                break
        self._by_value[kind, value] = name
        self._values[name] = value
        return name
