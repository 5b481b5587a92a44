"""Names of people: first names that differ are two people, whatever their surnames; short forms are asked about."""

from __future__ import annotations

from memory.consolidation.resolution.alike import is_near, is_slip, words_alike
from memory.consolidation.resolution.names import Name
from memory.consolidation.resolution.scores import ASKED, Finding
from memory.consolidation.resolution.vocabulary import short_forms_of


def people(one: Name, other: Name) -> Finding:
    """Say how two names of people that differ belong together; never that they are surely the same."""
    first, second = one.words, other.words
    if sorted(first) == sorted(second):
        return "order", ASKED["order"]
    if not first or not second:
        # One of them is a number alone, such as a call sign, and the other one has a name beside it.
        return "part", 0.0
    if len(first) == 1 and len(second) == 1:
        return _first_names(first[0], second[0]) or ("first_name", 0.0)
    if 1 in (len(first), len(second)):
        return _part(*sorted((first, second), key=len))
    doubts = [_first_names(first[0], second[0]), _surnames(first[-1], second[-1]), _middle(first[1:-1], second[1:-1])]
    names = ("first_name", "surname", "initial")
    for doubt, rule in zip(doubts, names, strict=True):
        if doubt is None:
            return rule, 0.0
    found = [doubt for doubt in doubts if doubt is not None and doubt[1] < 1.0]
    # Each doubt beyond the first makes it less likely that all of them are slips.
    rule, score = min(found, key=lambda doubt: (doubt[1], doubt[0]))
    return rule, score - 0.05 * (len(found) - 1)


def _part(short: tuple[str, ...], long: tuple[str, ...]) -> Finding:
    """A first name or a surname alone: one of those who bear it, perhaps."""
    return ("part", ASKED["part"]) if short[0] in (long[0], long[-1]) else ("part", 0.0)


def _first_names(first: str, second: str) -> Finding | None:
    if first == second:
        return "exact", 1.0
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) == 1:
        return ("initial", ASKED["initial"]) if longer.startswith(shorter) and len(longer) > 1 else None
    if longer in short_forms_of(shorter):
        return "nickname", ASKED["nickname"]
    return _near(first, second)


def _surnames(first: str, second: str) -> Finding | None:
    if first == second:
        return "exact", 1.0
    shorter, longer = sorted((first, second), key=len)
    if len(shorter) == 1 and longer.startswith(shorter) and len(longer) > 1:
        return "initial", ASKED["initial"]
    return _near(first, second)


def _middle(first: tuple[str, ...], second: tuple[str, ...]) -> Finding | None:
    if first == second:
        return "exact", 1.0
    if not first or not second:
        return "middle", ASKED["middle"]
    if len(first) != len(second):
        return None
    parts = [_surnames(one, other) for one, other in zip(first, second, strict=True)]
    known = [part for part in parts if part is not None]
    return min(known, key=lambda part: part[1]) if len(known) == len(parts) else None


def _near(first: str, second: str) -> Finding | None:
    if is_near(first, second) or is_slip(first, second):
        return "near", min(words_alike([first], [second]), ASKED["near"])
    return None
