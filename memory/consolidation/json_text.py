"""Read the JSON that a model was asked for: strictly first, then what can be made of a damaged text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

import json_repair

from memory.consolidation.reasoning import without_fence, without_tags

LONGEST: Final = 400_000
LONGEST_REPAIRED: Final = 64_000
MOST_BLOCKS: Final = 20

_FENCED: Final = re.compile(r"(`{3,}|~{3,})[^\n`]{0,40}\n(.*?)\n[ \t]*\1", re.DOTALL)
# A bracket with which a JSON value begins, and not one in prose.
_BEGIN: Final = re.compile(r"\{\s*+(?:[\"'}]|\w{1,64}\s*+:)|\[\s*+[\[{\"\]\d-]")
_BRACKET: Final = re.compile(r"[\[{]")
_STRUCTURE: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{}"]', re.DOTALL)
_CLOSERS: Final = {"{": "}", "[": "]"}


class Unreadable(ValueError):
    """No JSON object or list can be read from an answer."""


@dataclass(frozen=True, slots=True)
class Read:
    """A value that was read; `complete` is False where the text broke off and its last parts are left out."""

    value: Any
    complete: bool = True


def read(text: str, *, cut_off: bool = False) -> Read:
    """Read an object or a list.

    In this order: the text as it is; without thoughts and fences; a JSON value among other text; the whole parts of
    one that breaks off; what json-repair makes of it. A text that breaks off is never completed by guessing, since the
    half of a sentence says something else than the whole.

    Args:
        text: what a model answered.
        cut_off: whether the server said that the answer reached its bound.

    Raises:
        Unreadable: nothing of this kind, a number alone, or a text that is too long.
    """
    if len(text) > LONGEST:
        raise Unreadable("The answer is too long.")
    bare = without_fence(text)
    spoken = without_fence(without_tags(text))
    for candidate in (bare, spoken):
        value = _strict(candidate)
        if value is not None:
            return Read(value)
    value = _among(spoken)
    if value is not None and not cut_off:
        return Read(value)
    begin = _BEGIN.search(spoken) or _BRACKET.search(spoken)
    if begin is None:
        raise Unreadable("The answer holds no JSON.")
    return _mended(spoken[begin.start() :].rstrip(), cut_off)


def _strict(text: str) -> Any:
    """Parse an object or a list; None for anything else."""
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON.")


def _among(text: str) -> Any:
    """Find a JSON value in prose: in a fence, else the largest of those that follow one another."""
    for found in list(_FENCED.finditer(text))[:MOST_BLOCKS]:
        value = _strict(found.group(2))
        if value is not None:
            return value
    decoder = json.JSONDecoder(parse_constant=_refuse)
    largest: tuple[int, Any] = (0, None)
    begin = _BEGIN.search(text)
    for _ in range(MOST_BLOCKS):
        if begin is None:
            break
        try:
            value, end = decoder.raw_decode(text, begin.start())
        except (ValueError, RecursionError):
            # What follows is inside a damaged value: a part of it must not pass for the whole.
            return None
        largest = max(largest, (end - begin.start(), value), key=lambda found: found[0])
        begin = _BEGIN.search(text, end)
    return largest[1]


def _mended(text: str, cut_off: bool) -> Read:
    if cut_off or text[-1] != _CLOSERS[text[0]]:
        broken_off, whole = _whole_parts(text)
        if broken_off:
            value = _strict(whole)
            if value is None:
                raise Unreadable("The answer breaks off.")
            return Read(value, complete=False)
    if len(text) > LONGEST_REPAIRED:
        raise Unreadable("The JSON of the answer is damaged.")
    try:
        value = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError):
        value = None
    if not isinstance(value, dict | list) or not value:
        raise Unreadable("The JSON of the answer is damaged.")
    return Read(value)


def _whole_parts(text: str) -> tuple[bool, str]:
    """Tell whether a text breaks off, and give it up to the last whole item, with its brackets closed.

    An item is what stands in the outermost list, or a member of the outermost object: of an item that is not whole
    nothing is kept.
    """
    stack: list[str] = []
    kept = ""
    for found in _STRUCTURE.finditer(text):
        mark = found.group()
        if mark in _CLOSERS:
            stack.append(mark)
        elif mark in _CLOSERS.values():
            if not stack or _CLOSERS[stack.pop()] != mark or not stack:
                return False, text
            if len(stack) == 1 or (len(stack) == 2 and stack[-1] == "["):
                kept = text[: found.end()] + "".join(_CLOSERS[bracket] for bracket in reversed(stack))
    return True, kept
