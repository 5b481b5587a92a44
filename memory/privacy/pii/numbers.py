"""Finders of numbers: SSN, payment cards, IBAN, phone numbers, IPv4 addresses, official documents.

Every finder takes the folded text and yields places in it. Each repetition is bounded, or begins only where the run of
characters begins, so that the cost is linear whatever the text holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from memory.privacy.pii.checks import IBAN_LENGTHS, is_card, is_iban, is_ssn

Place = tuple[str, int, int]

_SSN = re.compile(r"(?<![0-9])(?<![0-9][-.])[0-9]{3}-[0-9]{2}-[0-9]{4}(?![0-9])(?![-.][0-9])")
_SSN_LABELLED = re.compile(
    r"(?<![a-z])(?:ssn|social[\s_-]security(?:[\s_-](?:number|no\.?|num|#))?)(?:[\s:=#\"']|is|was|num|number){0,8}"
    r"([0-9]{3}[ .-]?[0-9]{2}[ .-]?[0-9]{4})(?![0-9])",
    re.IGNORECASE,
)
# What follows a plus is a phone number.
_DIGIT_GROUPS = re.compile(r"(?<![+0-9])[0-9]+(?:[ .-][0-9]+)*")
_GROUP = re.compile(r"[0-9]+")
_MOST_CARD_DIGITS: Final = 19
_LEAST_CARD_DIGITS: Final = 13

_IBAN_START = re.compile(r"(?<![A-Za-z0-9])[A-Za-z]{2}[0-9]{2}(?=[ -]?[A-Za-z0-9])")
_IBAN_BODY = re.compile(r"[A-Za-z]{2}[0-9]{2}(?:[ -]?[A-Za-z0-9]){11,30}")
_LONGEST_IBAN: Final = 34 * 2

_PHONE_US = re.compile(
    r"(?<![0-9+])(?<![0-9][-. ])(?:1[ .-]?)?(?:\([2-9][0-9]{2}\)[ .-]?|[2-9][0-9]{2}[ .-])"
    r"[0-9]{3}[ .-][0-9]{4}(?![0-9])(?![-.][0-9])"
)
_PHONE_LABELLED = re.compile(
    r"(?<![a-z])(?:phone|mobile|cell|telephone|tel|fax|whatsapp|(?:call|text) me (?:at|on))(?:[\s_]{1,2}(?:number|no))?"
    r"[\s.:=#]{0,3}(?:is[\s:]{1,2}|at\s)?(\+?[0-9(](?:[ ().-]{0,2}[0-9]){6,14})(?![0-9])",
    re.IGNORECASE,
)
_PHONE_WORLD = re.compile(r"(?<![0-9A-Za-z+])\+\(?[1-9](?:[ ()./-]{0,2}[0-9]){7,14}(?![0-9])")

_OCTET: Final = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
_IPV4 = re.compile(
    rf"(?<![0-9A-Za-z_.])(?<!version )(?<!Version )(?<!release )(?:{_OCTET}\.){{3}}{_OCTET}(?![0-9A-Za-z_])(?!\.[0-9])"
)

_DOCUMENT = re.compile(
    r"(?<![a-z])(?:passport|driver'?s?[\s_]licen[cs]e|driving[\s_]licen[cs]e|national[\s_]id(?:entity)?|id(?:entity)?[\s_]card"
    r"|national[\s_]insurance|tax(?:payer)?[\s_]id|personalausweis|reisepass|dni|nie)(?:[\s_](?:card|id))?"
    r"(?:[\s_](?:number|no\.?|num|nr\.?)[\s:=#]{0,3}(?:is[\s:]{1,2})?|[\s:=#]{1,3}(?:is[\s:]{1,2})?)"
    r"((?=[A-Z0-9-]{0,12}[0-9])[A-Z0-9-]{2,20}(?:[ ](?=[A-Z-]{0,3}[0-9])[A-Z0-9-]{1,12}){0,4})(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_LEAST_DOCUMENT: Final = 5


def find_ssn(text: str) -> Iterator[Place]:
    """Find social security numbers, hyphenated of any area, and labelled ones of nine valid digits."""
    for match in _SSN.finditer(text):
        yield "ssn", match.start(), match.end()
    for match in _SSN_LABELLED.finditer(text):
        digits = "".join(char for char in match.group(1) if char.isdigit())
        if is_ssn(digits):
            yield "ssn_digits", match.start(1), match.end(1)


def find_cards(text: str) -> Iterator[Place]:
    """Find payment cards of 13 to 19 digits, unbroken or in groups of three and more."""
    for run in _DIGIT_GROUPS.finditer(text):
        if run.end() - run.start() < _LEAST_CARD_DIGITS:
            continue
        groups = [(match.start(), match.end()) for match in _GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is None:
                first += 1
                continue
            yield "credit_card", groups[first][0], groups[last][1]
            first = last + 1


def _card_from(text: str, groups: list[tuple[int, int]], first: int) -> int | None:
    """Give the last of the groups that make a card from the first one on, the longest card winning."""
    digits, found = "", None
    for index in range(first, len(groups)):
        start, end = groups[index]
        if end - start < 3 or len(digits) + end - start > _MOST_CARD_DIGITS:
            break
        digits += text[start:end]
        if is_card(digits):
            found = index
    return found


def find_ibans(text: str) -> Iterator[Place]:
    """Find IBANs in any grouping by single spaces or hyphens."""
    taken = 0
    for start in _IBAN_START.finditer(text):
        body = _IBAN_BODY.match(text, start.start(), start.start() + _LONGEST_IBAN)
        if start.start() < taken or body is None:
            continue
        taken = _iban_end(text, body.start(), body.end())
        if taken:
            yield "iban", start.start(), taken


def _iban_end(text: str, start: int, limit: int) -> int:
    """Give where the IBAN that begins at a place ends, or 0 when none does."""
    length = IBAN_LENGTHS.get(text[start : start + 2].upper())
    if length is None:
        return 0
    compact = ""
    for at in range(start, limit):
        if not text[at].isalnum():
            continue
        compact += text[at]
        if len(compact) == length:
            at_border = at + 1 == len(text) or not (text[at + 1].isascii() and text[at + 1].isalnum())
            return at + 1 if at_border and is_iban(compact) else 0
    return 0


def find_phones(text: str) -> Iterator[Place]:
    """Find phone numbers: US form, with a country code, or labelled as one."""
    for match in _PHONE_US.finditer(text):
        yield "phone_us", match.start(), match.end()
    if "+" in text:
        for match in _PHONE_WORLD.finditer(text):
            yield "phone_international", match.start(), match.end()
    for match in _PHONE_LABELLED.finditer(text):
        kind = "phone_international" if match.group(1).startswith("+") else "phone_us"
        yield kind, match.start(1), match.end(1)


def find_ip_addresses(text: str) -> Iterator[Place]:
    """Find IPv4 addresses: four parts of 0 to 255, not called a version."""
    for match in _IPV4.finditer(text):
        yield "ip_address", match.start(), match.end()


def find_documents(text: str) -> Iterator[Place]:
    """Find labelled numbers of official documents; a value without a digit is prose."""
    for match in _DOCUMENT.finditer(text):
        if len(match.group(1)) >= _LEAST_DOCUMENT:
            yield "government_id", match.start(1), match.end(1)
