"""Personal data in text: which kinds, where, how much care it needs, and the text without it.

A first layer by pattern and checksum. It finds what has a form or is announced ("my name is …"); what only its meaning
makes personal needs a reader.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from memory.privacy.folded import FoldedView
from memory.privacy.pii.kinds import KINDS, Match, PiiReport, PiiTier
from memory.privacy.pii.numbers import (
    find_cards,
    find_documents,
    find_ibans,
    find_ip_addresses,
    find_phones,
    find_ssn,
)
from memory.privacy.pii.people import find_emails, find_names, find_names_in_han
from memory.privacy.pii.places import find_addresses, find_places, find_places_in_han, find_streets
from memory.privacy.pii.secrets import (
    find_credentials,
    find_credentials_in_han,
    find_jwts,
    find_keys,
    find_private_keys,
)

__all__ = ["KINDS", "Match", "PiiReport", "PiiTier", "redact", "scan"]

Finder = Callable[[str], Iterator[tuple[str, int, int]]]

# A finder runs only on texts that hold one of its words (folded to lower case), which most texts do not.
_BY_WORD: Final[tuple[tuple[Finder, tuple[str, ...]], ...]] = (
    (find_keys, ("key", "token", "secret", "akia", "asia", "_", "sk-", "pat-", "xox", "aiza", "pypi-", "sg.", "api")),
    (
        find_credentials,
        (
            *("pass", "pwd", "pw", "secret", "token", "key", "code", "pin", "contrase", "phrase", "://", "kennwort"),
            *("mot de", "senha", "wachtwoord", "has\u0142o", "парол"),
        ),
    ),
    (
        find_names,
        (
            *("name", "ich hei", "me llamo", "nombre", "appelle", "mon nom", "call", "mi chiamo", "mio nome"),
            *("me chamo", "meu nome", "ik heet", "mijn naam", "nazywam", "na imi", "heter", "namn", "зовут", "имя"),
        ),
    ),
    (
        find_places,
        (
            *("live", "living", "reside", "based", "my home", "wohne", "ich lebe", "wir leben", "vivo", "vivimos"),
            *("habite", "je vis", "abito", "moro", "живу", "ik woon", "mieszkam", "jag bor"),
        ),
    ),
    (
        find_addresses,
        (
            *("adres", "address", "anschrift", "direcci", "endere", "indirizzo", "адрес", "zip", "post", "plz"),
            *("street", "stra", "cep", "индекс", "邮编"),
        ),
    ),
    (find_names_in_han, ("我", "名")),
    (find_places_in_han, ("我", "住", "号", "號", "暮")),
    (find_credentials_in_han, ("密", "口令", "パスワード", "暗証", "비밀")),
    (find_jwts, ("eyj",)),
    (find_private_keys, ("private key",)),
    (find_emails, ("@",)),
)
_BY_DIGIT: Final[tuple[Finder, ...]] = (
    find_ssn,
    find_cards,
    find_ibans,
    find_phones,
    find_ip_addresses,
    find_documents,
    find_streets,
)
_DIGIT: Final = re.compile("[0-9]")

MOST_PASSES: Final = 8
"""Replacements of one text, at most; ordinary texts need one."""

_MARKER: Final = re.compile(r"\[(?:" + "|".join(kind.upper() for kind in KINDS) + r")\]")


def scan(text: str) -> PiiReport:
    """Find personal data in a text.

    Full-width and other scripts' digits, unusual dashes and invisible characters are seen through. Cost is linear.

    Args:
        text: any text.

    Returns:
        The kinds, the highest tier, and the places in the text as given. Where finds overlap, one place covers them
        all, under the kind of the highest tier, and of these the longest.
    """
    view = FoldedView(text)
    places = _outside_markers(view.text, _without_overlap(list(_find(view.text))))
    matches = tuple(Match(kind, *view.span(start, end)) for kind, start, end in places)
    if not matches:
        return PiiReport()
    kinds = {match.kind for match in matches}
    return PiiReport(tuple(sorted(kinds)), max(KINDS[kind] for kind in kinds), matches)


def redact(text: str, report: PiiReport | None = None) -> str:
    """Replace personal data by its kind in brackets, as in `[EMAIL]`; of "my name is X" only X goes.

    Args:
        text: any text.
        report: the scan of this very text where it is at hand already.

    Returns:
        A text in which a scan finds nothing; redacting it again changes nothing.
    """
    return _settled(text, report or scan(text), passes=MOST_PASSES)


def _settled(text: str, found: PiiReport, *, passes: int) -> str:
    """Replace until nothing is found: what one replacement uncovers, the next pass takes."""
    while found.matches:
        if passes == 0:
            # Only a text made for it uncovers ever more; it goes as a whole.
            return f"[{found.matches[0].kind.upper()}]"
        text = _replace(text, found.matches)
        found = scan(text)
        passes -= 1
    return text


def _replace(text: str, matches: tuple[Match, ...]) -> str:
    pieces: list[str] = []
    position = 0
    for match in matches:
        pieces += [text[position : match.start], f"[{match.kind.upper()}]"]
        position = match.end
    return "".join([*pieces, text[position:]])


def _find(text: str) -> Iterator[tuple[str, int, int]]:
    lowered = text.lower()
    for finder, words in _BY_WORD:
        if any(word in lowered for word in words):
            yield from finder(text)
    if _DIGIT.search(text):
        for finder in _BY_DIGIT:
            yield from finder(text)


def _outside_markers(text: str, places: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Leave out places that lie inside a marker of an earlier redaction.

    So every pass of a redaction takes away a character that is in no marker, and it comes to an end.
    """
    if not places or "[" not in text:
        return places
    markers = [match.span() for match in _MARKER.finditer(text)]
    kept = []
    at = 0
    for place in places:
        while at < len(markers) and markers[at][1] <= place[1]:
            at += 1
        if at == len(markers) or not (markers[at][0] <= place[1] and place[2] <= markers[at][1]):
            kept.append(place)
    return kept


def _without_overlap(places: list[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Join overlapping places; the kind of the highest tier names the whole, and of these the longest."""
    places.sort(key=lambda place: (place[1], -place[2]))
    joined: list[tuple[str, int, int]] = []
    best = (0, 0)
    for kind, start, end in places:
        rank = (int(KINDS[kind]), end - start)
        if joined and start < joined[-1][2]:
            name, first, last = joined[-1]
            joined[-1] = (kind if rank > best else name, first, max(last, end))
            best = max(best, rank)
        else:
            joined.append((kind, start, end))
            best = rank
    return joined
