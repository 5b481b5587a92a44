"""Finders of what leads to a person: e-mail addresses, names, places and addresses that the text itself announces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory.text.stopwords import word_set

Place = tuple[str, int, int]

# ASCII and letters of Latin, Greek and Cyrillic, so that Chinese or Japanese text around an address is no part of it.
_LETTERS: Final = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u0370-\u03ff\u0400-\u04ff"
_CAPITALS: Final = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0100-\u017f\u0391-\u03a9\u0400-\u042f"
_LOCAL: Final = frozenset("0123456789._%+'-#$&*/=?^`{|}~!")
_LONGEST_LOCAL: Final = 64
_LABEL: Final = rf"[{_LETTERS}0-9](?:[{_LETTERS}0-9-]{{0,61}}[{_LETTERS}0-9])?"
_DOMAIN = re.compile(
    rf"@(?:{_LABEL}\.){{1,8}}(?:[{_LETTERS}]{{2,24}})(?![{_LETTERS}])|@(?:{_LABEL}\.){{1,8}}xn--[A-Za-z0-9-]{{2,59}}"
)
_LETTER = re.compile(f"[{_LETTERS}]")

_WORD: Final = rf"[{_CAPITALS}][{_LETTERS}'-]{{0,40}}"
_NAME = re.compile(
    r"(?<![a-z])(?:my\s{1,2}(?:full\s|first\s|last\s)?name(?:\s{1,2}is|'s|:)|mein\sname\sist|ich\shei(?:ß|ss)e|me\sllamo"
    r"|mi\snombre\ses|je\sm'appelle|mon\snom\sest)\s{1,3}",
    re.IGNORECASE,
)
_NAME_VALUE = re.compile(rf"{_WORD}(?:\s(?:(?:van|von|de|der|da|del|di|la|le|bin|al)\s){{0,2}}{_WORD}){{0,3}}")
_ANY_WORD = re.compile(rf"[{_LETTERS}][{_LETTERS}'-]{{0,40}}|[\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3]{{1,12}}")
_NOT_A_NAME: Final[frozenset[str]] = word_set(
    "a about actually all already also always an and as at because being but called common correct difficult easy "
    "for from hard here how in incorrect irrelevant it just kind known listed long missing mentioned misspelled "
    "mud my no not now of often on only or part pronounced quite rather really secret short so spelled spelt "
    "still taken that the there this to too unusual usually very what when which who with written wrong your "
)

_LIVE = re.compile(
    r"(?<![a-z])(?:i\s(?:currently\s|now\s|still\s)?(?:live|lived|reside)|i(?:'m|\sam)\s(?:currently\s|now\s)?living|we\slive"
    r"|ich\swohne|vivo|j'habite)\s(?:in|at|on|near|en|à)\s(?:the\s)?",
    re.IGNORECASE,
)
_PLACE_WORD: Final = rf"(?!I\b)[{_CAPITALS}0-9](?:[{_LETTERS}0-9'/-]|\.(?=[{_LETTERS}0-9])){{0,40}}"
_PLACE = re.compile(rf"{_PLACE_WORD}(?:,?\s(?:(?:of|de|del|la|le|the|am|an|der)\s){{0,2}}{_PLACE_WORD}){{0,9}}")
_NOT_A_PLACE: Final[frozenset[str]] = word_set(
    "a an all another any apartment bed both but chaos constant denial different fear harmony hell her his home "
    "house it its london-like luxury me mine my neither one our paradise peace places poverty reality same shared "
    "sin small some someone's student such that their there these this those two what which your "
)

_ADDRESS = re.compile(
    r"(?<![a-z])(?<!mail )(?<!ip )(?<!web )(?<!mac )(?<!memory )(?<!contract )"
    r"(?:(?:home|street|postal|mailing|shipping|billing)[\s_])?(?:address|anschrift|dirección|adresse)([\s_]{0,2}[:=]\s{0,3}|\s(?:is|ist|es|est)[\s:]{1,2})",
    re.IGNORECASE,
)
_ADDRESS_VALUE = re.compile(r"(?:(?![.!?](?:\s|$)|\sand\s(?:my|i|the)\b)[^\n;\[]){3,160}", re.IGNORECASE)
_POST_CODE = re.compile(
    r"(?<![a-z])(?:zip|postal|post)(?:[\s_-]?code)?(?:\s{0,2}[:=]\s{0,3}|\sis[\s:]{1,2})"
    r"([A-Z0-9]{0,4}[0-9][A-Z0-9]{0,6}(?:[ -][0-9][A-Z0-9]{1,4})?)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_STREET = re.compile(
    rf"(?<![0-9A-Za-z.,/-])[0-9]{{1,5}}[A-Za-z]?\s(?:[{_CAPITALS}][{_LETTERS}'.]{{1,24}}\s){{1,3}}"
    r"(?:Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Court|Square|Terrace)\b"
)
_STREET_LABELLED = re.compile(
    rf"(?<![a-z])(?i:street|straße)(?:\s{{0,2}}[:=]\s{{0,3}}|\sis[\s:]{{1,2}})({_PLACE_WORD}(?:\s{_PLACE_WORD}){{0,5}})"
)


def find_emails(text: str) -> Iterator[Place]:
    """Find e-mail addresses from their `@`, backwards and forwards; at most 64 characters stand before it."""
    at, taken = text.find("@"), 0
    while at != -1:
        domain = _DOMAIN.match(text, at)
        if domain:
            start = _local_start(text, at, taken)
            if start < at:
                taken = domain.end()
                yield "email", start, taken
        at = text.find("@", at + 1)


def _local_start(text: str, at: int, lowest: int) -> int:
    start = at
    while start > max(lowest, at - _LONGEST_LOCAL) and (text[start - 1] in _LOCAL or _LETTER.match(text[start - 1])):
        start -= 1
    while start < at and not text[start].isalnum():
        start += 1
    return start


def find_names(text: str) -> Iterator[Place]:
    """Find the name after "my name is" and its like in other languages; only the name is the place."""
    for announced in _NAME.finditer(text):
        start = announced.end()
        value = _NAME_VALUE.match(text, start)
        word = _ANY_WORD.match(text, start)
        if value and value.group().split(" ")[0].casefold() not in _NOT_A_NAME:
            yield "person_name", start, value.end()
        elif word and word.group().casefold() not in _NOT_A_NAME:
            yield "person_name", start, word.end()


def find_places(text: str) -> Iterator[Place]:
    """Find the place after "I live in"; only the place is the place."""
    for announced in _LIVE.finditer(text):
        start = announced.end()
        value = _PLACE.match(text, start)
        word = _ANY_WORD.match(text, start)
        if value and value.group().split(" ")[0].casefold() not in _NOT_A_PLACE:
            yield "location", start, value.end()
        elif word and word.group().casefold() not in _NOT_A_PLACE:
            yield "location", start, word.end()


def find_addresses(text: str) -> Iterator[Place]:
    """Find postal addresses, streets and post codes that are announced as such."""
    for announced in _ADDRESS.finditer(text):
        value = _ADDRESS_VALUE.match(text, announced.end())
        if value and _reads_like_an_address(value.group(), verb=announced.group(1).strip(" _")[:1].isalpha()):
            yield "address", value.start(), value.end()
    for match in _POST_CODE.finditer(text):
        yield "address", match.start(1), match.end(1)
    for match in _STREET_LABELLED.finditer(text):
        yield "address", match.start(1), match.end(1)


def find_streets(text: str) -> Iterator[Place]:
    """Find house numbers with the name of a street."""
    for match in _STREET.finditer(text):
        yield "address", match.start(), match.end()


def _reads_like_an_address(value: str, *, verb: bool) -> bool:
    """Tell an address from the rest of a sentence: it holds a number or begins with a capital."""
    first = value.split(" ", 1)[0]
    if "@" in first or "://" in first:
        return False
    return any(char.isdigit() for char in value) or value[0].isupper() or not (verb or value[0].islower())
