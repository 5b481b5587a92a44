"""Phrases that address a model instead of telling it something: found in stored text, replaced in what enters a prompt.

Three cumulative levels with the kinds that Engram publishes: ten of instructions, eight of disguised roles and
directives, five of active content. It is a first layer. It reads through compatibility forms, look-alike letters,
invisible characters and odd spacing, but not through other words or another language; text from memory stays data all
the same.

The published kinds are broad on purpose, and some hit harmless sentences ("You are now a member", "they act as one").
So stored text is only marked, and the phrase is replaced only on its way into a prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Final

from memory.privacy.folded import FoldedView


class Level(IntEnum):
    """How much is taken for an injection; each level holds those before it."""

    STANDARD = 1
    STRICT = 2
    PARANOID = 3


@dataclass(frozen=True, slots=True)
class _Kind:
    name: str
    level: Level
    pattern: re.Pattern[str]
    hints: tuple[str, ...]


# Between two words: spaces, line ends and the marks of emphasis or quoting, as many as there are.
_GAP: Final = r"[\s\-_.,*\"'`~|]++"
_FILLER: Final = rf"(?:(?:all|any|every|of|the|my|your|his|our|these|those|this|that|and|what){_GAP}){{0,5}}"
_EARLIER: Final = r"(?:previous|prior|preceding|earlier|above|foregoing|former|past)"
_ORDERS: Final = (
    r"(?:instruction|prompt|rule|direction|directive|guideline|order|command|message|context|conversation)s?"
)
_ROLE: Final = r"(?:system|assistant|user|human|developer|tool|instructions?|admin)"


def _kind(name: str, level: Level, pattern: str, *hints: str) -> _Kind:
    return _Kind(name, level, re.compile(pattern, re.IGNORECASE | re.MULTILINE), hints)


_KINDS: Final[tuple[_Kind, ...]] = (
    _kind(
        "ignore_previous",
        Level.STANDARD,
        rf"\bignore{_GAP}{_FILLER}(?:{_EARLIER}{_GAP}(?:[a-z]{{1,16}}{_GAP})?{_ORDERS}\b|{_ORDERS}{_GAP}(?:above|before)\b)",
        "ignore",
    ),
    _kind("you_are_now", Level.STANDARD, rf"\byou(?:{_GAP}are|'re|re){_GAP}now{_GAP}an?\b", "now"),
    _kind("system_prefix", Level.STANDARD, r"\bsystem\s*+:\s*+you\s++(?:are|must|should|will|shall)\b", "system"),
    _kind(
        "forget_everything",
        Level.STANDARD,
        rf"\bforget{_GAP}(?:everything|all)(?:{_GAP}(?:that|of|the|your))?{_GAP}"
        rf"(?:you|about|above|before|{_EARLIER}|{_ORDERS})\b",
        "forget",
    ),
    _kind("new_instructions", Level.STANDARD, rf"\bnew{_GAP}instructions?\s*+:", "instruction"),
    _kind(
        "override",
        Level.STANDARD,
        rf"\boverrid(?:e|ing){_GAP}(?:(?:the|all|any){_GAP}){{0,3}}(?:system|safety|your)\b",
        "overrid",
    ),
    _kind(
        "bypass",
        Level.STANDARD,
        rf"\bbypass(?:ing)?{_GAP}{_FILLER}(?:safety|content|guard|filter)[a-z]{{0,16}}",
        "bypass",
    ),
    _kind(
        "pretend", Level.STANDARD, rf"\bpretend{_GAP}(?:that{_GAP})?(?:you(?:{_GAP}are|'re)|to{_GAP}be)\b", "pretend"
    ),
    _kind("closing_brackets", Level.STANDARD, r"\]\][^\S\n]*+\n\s*+\[\s*+system\s*+\]", "]]"),
    _kind("system_tag", Level.STANDARD, r"<\|\s*+/?(?:system|user|assistant|im_start|im_end|end\w{0,16})\s*+\|>", "<|"),
    _kind("heading_role", Level.STRICT, rf"^[ \t]{{0,3}}\#{{1,6}}[ \t]*+{_ROLE}\b[ \t]*+:?", "#"),
    _kind("bold_role", Level.STRICT, rf"(?:\*\*|__)[ \t]*+{_ROLE}[ \t]*+:?[ \t]*+(?:\*\*|__)[ \t]*+:?", "**", "__"),
    _kind("fence_role", Level.STRICT, rf"(?:```|~~~)[ \t]*+{_ROLE}\b", "```", "~~~"),
    _kind(
        "rule_role",
        Level.STRICT,
        rf"^[ \t]{{0,3}}(?:-{{3,}}+|\*{{3,}}+|_{{3,}}+|={{3,}}+)[ \t]*+\n\s*+{_ROLE}\b[ \t]*+:?",
        "\n",
    ),
    _kind("bracket_role", Level.STRICT, rf"[\[<]\s*+/?(?:{_ROLE}|inst|sys)\s*+[\]>]", "[", "<"),
    _kind("act_as", Level.STRICT, rf"\bact{_GAP}as\b", "act"),
    _kind(
        "from_now_on",
        Level.STRICT,
        rf"\bfrom{_GAP}now{_GAP}on{_GAP}(?:you|ignore|always|never|respond|answer|only)\b",
        "from",
    ),
    _kind("disregard", Level.STRICT, rf"\bdisregard{_GAP}{_FILLER}(?:{_EARLIER}|{_ORDERS})\b", "disregard"),
    _kind(
        "data_uri", Level.PARANOID, r"\bdata:[\w.+-]{0,40}/?[\w.+-]{0,60}(?:;[\w=-]{1,40}){0,4},[^\s\"'<>)]*+", "data:"
    ),
    _kind(
        "url",
        Level.PARANOID,
        r"\b(?:[a-z][a-z0-9+.-]{1,15}://|www\.)[^\s<>\"')\]]++|\bjavascript:[^\s<>\"']*+",
        "://",
        "www.",
        "javascript:",
    ),
    _kind("html_tag", Level.PARANOID, r"<!--(?:(?!<!--|-->)[\s\S]){0,2000}(?:-->)?|</?[a-z][^<>]{0,500}>", "<"),
    _kind("base64", Level.PARANOID, r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{24,}+={0,2}(?![A-Za-z0-9+/=])", ""),
    # The fence comes last since its pattern is only the edge; the block between two of them is found by pairing.
    _kind("code_block", Level.PARANOID, r"`{3,}+|~{3,}+", "```", "~~~"),
)

KINDS: Final[tuple[str, ...]] = tuple(kind.name for kind in _KINDS)
"""The 23 kinds by machine name: ten standard, eight strict, five paranoid."""

MARKERS: Final[dict[Level, str]] = {
    Level.STANDARD: "[REDACTED:injection]",
    Level.STRICT: "[REDACTED:directive]",
    Level.PARANOID: "[REDACTED:content]",
}
"""What stands in place of a phrase, by the level that found it."""

# Cyrillic and Greek letters that look like Latin ones, in the order of the Latin letters beside them.
_LOOK_ALIKES: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406"
    "\u03bf\u03b1\u03b9\u03bd\u03c1\u0391\u0395\u0399\u039f\u03a1\u03a4\u0131",
    "aeopcyxijsdhqwABEKMHOPCTXIoaivpAEIOPTi",
)
_BASE64_NAME: Final = "base64"
_MOST_PASSES: Final = 8
_LONG_WINDOW: Final = 100_000
_SHORT_WINDOW: Final = 32_000

_Place = tuple[_Kind, int, int]


def scan(text: str, level: Level = Level.STANDARD) -> tuple[str, ...]:
    """List the kinds of injection in a text.

    Args:
        text: any text; cost is linear in its length.
        level: which kinds are looked for.

    Returns:
        Machine names, distinct, in the order of `KINDS`.
    """
    found = {kind.name for kind, _, _ in _find(FoldedView(text).text, level)}
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
        view = FoldedView(text)
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
    if not text.isascii():
        text = text.translate(_LOOK_ALIKES)
    lowered = text.lower()
    for kind in _KINDS:
        if kind.level > level or not any(hint in lowered for hint in kind.hints):
            continue
        if kind.name == "code_block":
            yield from _blocks(kind, text)
            continue
        for match in kind.pattern.finditer(text):
            if kind.name != _BASE64_NAME or _looks_encoded(match.group()):
                yield kind, match.start(), match.end()


def _blocks(kind: _Kind, text: str) -> Iterator[_Place]:
    """Pair the fences of code blocks; one that is never closed reaches to the end."""
    opened: re.Match[str] | None = None
    for fence in kind.pattern.finditer(text):
        if opened is None:
            opened = fence
        elif fence.group()[0] == opened.group()[0]:
            yield kind, opened.start(), fence.end()
            opened = None
    if opened:
        yield kind, opened.start(), len(text)


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
    places.sort(key=lambda place: place[1:])
    joined: list[tuple[Level, int, int]] = []
    for kind, start, end in places:
        if joined and start < joined[-1][2]:
            level, first, last = joined[-1]
            joined[-1] = (min(level, kind.level), first, max(last, end))
        else:
            joined.append((kind.level, start, end))
    return joined
