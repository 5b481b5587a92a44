"""Splits a text into sentences and clauses, with bounded work however long or strange the text is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memory.consolidation.extraction.words.people import TITLES
from memory.text.signals import is_question

MAX_CHARACTERS: Final = 20_000
"""Only so much of one passage is read; the callers split longer ones."""
MAX_SENTENCES: Final = 300
LONGEST_SENTENCE: Final = 600
"""Characters of one sentence that are read for statements; longer runs are lists or no sentences at all."""
MAX_CLAUSES: Final = 12

_UNSOUND: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u200b-\u200f\u2028-\u202e\ufeff]")
_PLAIN: Final = str.maketrans(
    # The last four are small or capital forms of i, s and k to a search without case, and of nothing to a look-up.
    {
        "İ": "I",
        "ı": "i",
        "ſ": "s",
        "\u212a": "K",
        "’": "'",
        "‘": "'",
        "ʼ": "'",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "\u00a0": " ",
        "\t": " ",
    }
)
_FENCED: Final = re.compile(r"```.{0,20000}?(?:```|\Z)", re.DOTALL)
_END: Final = re.compile(r"[.!?…]{1,8}[\"')\]]{0,3}(?=\s|\Z)|[。！？]|\n+")
_LAST_WORD: Final = re.compile(r"([^\W\d_]{1,5})\Z")
_CLAUSE: Final = re.compile(
    r"""\s*[;—–]\s*|:\s+(?=(?:I|I'm|we|my)\b)|\s+--?\s+
    | ,?\s+(?:and|but|so|though|although|yet)\s+(?=(?:I|I'm|I've|we|we're|my|our|he|she|it|it's|
        they|that's|there|you)\b)
    | ,?\s+(?:and|but)\s+(?=(?:also\s+|now\s+)?(?:live|lives|work\s+(?:at|for|as|in)|works|loves|hate|hates|prefer|
        prefers|speak|
        speaks|own|owns|dislike|dislikes|enjoy|enjoys|moved|can't\s+stand)\b)
    | ,?\s+(?:and\s+)?(?<=[,d]\s)(?=[A-Z][\w-]{1,20}\.?(?:\s[A-Z][\w-]{1,20}){0,2}\s(?:is|does|has|leads|
        runs|manages|works|lives|
        likes|loves|hates|plays|eats|prefers|owns|speaks|moved)\b)
    | ,\s+(?=(?:I|I'm|I've|we|we're|my|it|it's|that's|they|which|he|she)\b)""",
    re.VERBOSE,
)

_GAP: Final = re.compile(
    r"(\bis\s(?:my|our)\s[\w-]{2,20}(?:\s[\w-]{2,20})?,?\s(?:and\s)?[A-Z][\w-]{1,20}\.?(?:\s[A-Z][\w-]{1,20}){0,2})"
    r"\s(?=(?:my|our)\s)"
)


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a text with the place where it begins; `asks` tells a question."""

    text: str
    start: int
    asks: bool


def readable(text: str, *, speaker: str | None = None) -> str:
    """Give the part of a text that is read, each character in its place.

    Marks of quotation and apostrophes take one form; what no text should have, fenced blocks and the name of the
    speaker before what he says become spaces.
    """
    text = text[:MAX_CHARACTERS].translate(_PLAIN)
    text = _UNSOUND.sub(" ", text)
    if "```" in text:
        text = _FENCED.sub(lambda found: " " * len(found.group()), text)
    prefix = f"{speaker}:"
    if speaker and text.startswith(prefix):
        text = " " * len(prefix) + text[len(prefix) :]
    return text


def sentences(text: str) -> list[Sentence]:
    """Split a text at full stops, marks of question and exclamation, and ends of lines; at most 300 sentences."""
    found: list[Sentence] = []
    begin = 0
    for match in _END.finditer(text):
        if match.group().startswith(".") and _abbreviates(text, match.start()):
            continue
        _add(found, text, begin, match.end())
        begin = match.end()
        if len(found) >= MAX_SENTENCES:
            return found
    _add(found, text, begin, len(text))
    return found[:MAX_SENTENCES]


def clauses(sentence: str) -> list[str]:
    """Split a sentence where a new subject or verb begins; at most 12 clauses.

    A verb that is left out is put back first: "Tom is my dentist, Jane my doctor".
    """
    sentence = _GAP.sub(r"\1 is ", sentence)
    return [part.strip(" ,;") for part in _CLAUSE.split(sentence, maxsplit=MAX_CLAUSES - 1) if part.strip(" ,;")]


def _add(found: list[Sentence], text: str, begin: int, end: int) -> None:
    whole = text[begin:end]
    said = whole.strip()
    if not said or not any(character.isalnum() for character in said[:200]):
        return
    start = begin + len(whole) - len(whole.lstrip())
    said = said[:LONGEST_SENTENCE]
    found.append(Sentence(said, start, is_question(said)))


def _abbreviates(text: str, place: int) -> bool:
    """Tell whether a full stop belongs to a title, an initial or a short form."""
    word = _LAST_WORD.search(text[max(0, place - 6) : place])
    if word is None:
        return False
    short = word.group(1)
    return short.casefold() in TITLES or (len(short) == 1 and short.isupper() and short != "I")
