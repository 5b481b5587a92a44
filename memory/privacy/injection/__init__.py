"""Phrases that address a model instead of telling it something: found in stored text, replaced in what enters a prompt.

Three cumulative levels with the kinds that Engram publishes: ten of instructions, eight of disguised roles and
directives, five of active content. The ten are known in seven languages besides English. It is a first layer. It reads
through compatibility forms, look-alike letters, accents, digits for letters, invisible characters and odd spacing, but
not through other words; text from memory stays data all the same.

Where a published kind hits what people say every day ("You are now a member"), the rule knows the everyday form and
lets it pass. What is left is only marked when stored, and replaced on its way into a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from memory.privacy.folded import FoldedView
from memory.privacy.injection.directives import PARANOID, STRICT
from memory.privacy.injection.disguises import bare_character, find_one_by_one, latin, spelt_out
from memory.privacy.injection.languages import TRANSLATED
from memory.privacy.injection.rules import ENGLISH, Level, Rule

__all__ = ["KINDS", "MARKERS", "Level", "clean", "level_for_window", "level_of", "scan"]

_RULES: Final[tuple[Rule, ...]] = (*ENGLISH, *TRANSLATED, *STRICT, *PARANOID)

KINDS: Final[tuple[str, ...]] = tuple(dict.fromkeys(rule.kind for rule in (*ENGLISH, *STRICT, *PARANOID)))
"""The 23 kinds by machine name: ten standard, eight strict, five paranoid."""

MARKERS: Final[dict[Level, str]] = {
    Level.STANDARD: "[REDACTED:injection]",
    Level.STRICT: "[REDACTED:directive]",
    Level.PARANOID: "[REDACTED:content]",
}
"""What stands in place of a phrase, by the level that found it."""

_BEFORE: Final = 48
_BASE64_NAME: Final = "base64"
_CODE_NAME: Final = "code_block"
_MOST_PASSES: Final = 8
_LONG_WINDOW: Final = 100_000
_SHORT_WINDOW: Final = 32_000
# Names a place only where nothing else does.
_LAST: Final = len(Level) + 1

_Place = tuple[str, int, int, int]


_LEVELS: Final[dict[str, Level]] = {rule.kind: rule.level for rule in (*ENGLISH, *STRICT, *PARANOID)}


def level_of(kind: str) -> Level:
    """Give the level from which a kind is looked for.

    Raises:
        KeyError: no kind has that name.
    """
    return _LEVELS[kind]


def scan(text: str, level: Level = Level.STANDARD) -> tuple[str, ...]:
    """List the kinds of injection in a text.

    Args:
        text: any text; cost is linear in its length.
        level: which kinds are looked for.

    Returns:
        Machine names, distinct, in the order of `KINDS`.
    """
    found = {kind for kind, _, _, _ in _find(FoldedView(text, bare_character).text, level)}
    return tuple(name for name in KINDS if name in found)


def clean(text: str, level: Level = Level.STANDARD) -> str:
    """Replace the phrases that a scan finds by the marker of their level.

    Args:
        text: any text; cost is linear in its length.
        level: which kinds are replaced.

    Returns:
        The text without them; unchanged to the byte where nothing was found. Cleaning it again changes nothing.
    """
    for _ in range(_MOST_PASSES):
        view = FoldedView(text, bare_character)
        places = _joined(list(_find(view.text, level)))
        if not places:
            return text
        pieces: list[str] = []
        position = 0
        for severity, first, last in places:
            start, end = view.span(first, last)
            pieces += [text[position:start], MARKERS[severity]]
            position = end
        text = "".join([*pieces, text[position:]])
    # Only a text made for it uncovers ever more; it goes as a whole.
    return MARKERS[Level.STANDARD] if scan(text, level) else text


def level_for_window(context_tokens: int) -> Level:
    """Choose the level by a model's context window: the smaller the model, the easier it is led astray.

    Args:
        context_tokens: size of the window; from 100,000 on standard, from 32,000 on strict, else paranoid.
    """
    if context_tokens >= _LONG_WINDOW:
        return Level.STANDARD
    return Level.STRICT if context_tokens >= _SHORT_WINDOW else Level.PARANOID


def _find(text: str, level: Level) -> Iterator[_Place]:
    """Give kinds, the rank of the level that names them, and places."""
    read = latin(text)
    yield from _match(read, text, [rule for rule in _RULES if rule.level <= level])
    for kind, start, end in find_one_by_one(read):
        yield kind, Level.STANDARD, start, end
    spelt = spelt_out(read)
    if spelt is not None:
        yield from _match(spelt, spelt, ENGLISH)


def _match(read: str, written: str, rules: Sequence[Rule]) -> Iterator[_Place]:
    lowered, written_lowered = read.lower(), written.lower()
    for rule in rules:
        seen, text = (lowered, read) if rule.latin else (written_lowered, written)
        if not any(hint in seen for hint in rule.hints):
            continue
        if rule.kind == _CODE_NAME:
            yield from _blocks(rule, text)
            continue
        for match in rule.pattern.finditer(text):
            if rule.kind == _BASE64_NAME and not _looks_encoded(match.group()):
                continue
            if rule.unless and rule.unless.search(text[max(0, match.start() - _BEFORE) : match.start()]):
                continue
            yield rule.kind, _LAST if rule.widens else rule.level, match.start(), match.end()


def _blocks(rule: Rule, text: str) -> Iterator[_Place]:
    """Pair the fences of code blocks; one that is never closed reaches to the end."""
    opened: re.Match[str] | None = None
    for fence in rule.pattern.finditer(text):
        if opened is None:
            opened = fence
        elif fence.group()[0] == opened.group()[0]:
            yield rule.kind, rule.level, opened.start(), fence.end()
            opened = None
    if opened:
        yield rule.kind, rule.level, opened.start(), len(text)


def _looks_encoded(run: str) -> bool:
    """Tell base64 from a long word, a path or a hexadecimal number: all of both cases and digits, or padding."""
    if run.endswith("="):
        return True
    return (
        any(char.isdigit() for char in run)
        and any(char.isupper() for char in run)
        and any(char.islower() for char in run)
        and "/" not in run[:1]
    )


def _joined(places: list[_Place]) -> list[tuple[Level, int, int]]:
    """Join overlapping places; the lowest level, which is the surest finding, names the whole."""
    places.sort(key=lambda place: place[2:])
    joined: list[tuple[int, int, int]] = []
    for _, rank, start, end in places:
        if joined and start < joined[-1][2]:
            lowest, first, last = joined[-1]
            joined[-1] = (min(lowest, rank), first, max(last, end))
        else:
            joined.append((rank, start, end))
    return [(Level.STANDARD if rank == _LAST else Level(rank), start, end) for rank, start, end in joined]
