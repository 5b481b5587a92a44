"""Retells what somebody says of himself as a statement about him that stands by itself."""

from __future__ import annotations

import re
from typing import Final

from memory.consolidation.extraction.words.verbs import BASES, FORMS

LONGEST: Final = 280

_PRONOUN: Final = re.compile(
    r"\b(?:I was|I am|I'm|I've|I'd|I'll|I|we're|we've|we'd|we'll|we|me|my|mine|myself|us|our|ours|ourselves)\b",
    re.IGNORECASE,
)
_TOLD: Final = {
    "i was": "they were", "i am": "they are", "i'm": "they're", "i've": "they've", "i'd": "they'd", "i'll": "they'll",
    "i": "they", "we're": "they're", "we've": "they've", "we'd": "they'd", "we'll": "they'll", "we": "they",
    "me": "them", "my": "their", "mine": "theirs", "myself": "themselves", "us": "them", "our": "their",
    "ours": "theirs", "ourselves": "themselves",
}  # fmt: skip
_BY_NAME: Final = {"my": "'s", "our": "'s", "me": "-", "us": "-", "mine": "'s", "ours": "'s"}
_LEADING_VERB: Final = re.compile(
    r"((?:[a-z]+ly\s+|just\s+|also\s+|always\s+|still\s+|often\s+|already\s+)*)([a-z']+)", re.IGNORECASE
)
_SPACES: Final = re.compile(r"\s+")
_IRREGULAR: Final = {
    "be": "is", "am": "is", "are": "is", "have": "has", "do": "does", "don't": "doesn't", "go": "goes",
    "haven't": "hasn't", "were": "was", "weren't": "wasn't", "aren't": "isn't", "can't": "can't", "cannot": "cannot",
    "will": "will", "must": "must", "can": "can",
}  # fmt: skip


def retold(text: str, *, speaker: str = "") -> str:
    """Replace the first person by the third: "my dog and I" becomes "their dog and they".

    Args:
        text: what somebody says.
        speaker: his name, where the statement is about somebody else, so that "our manager" is his manager.
    """

    def replace(match: re.Match[str]) -> str:
        said = match.group()
        if speaker and (named := _BY_NAME.get(said.casefold())) and said != "US":
            return f"{speaker}{named}" if named == "'s" else speaker
        # The country, and the pronoun, are told apart by the capitals.
        return said if said == "US" else _TOLD[said.casefold()]

    return _PRONOUN.sub(replace, text)


def third_person(verb: str) -> str:
    """Give the form of a verb that goes with "she": love, loves; study, studies; have, has."""
    low = verb.casefold()
    if low in _IRREGULAR:
        return _IRREGULAR[low]
    if low.endswith(("s", "sh", "ch", "x", "z", "o")):
        return f"{low}es"
    if low.endswith("y") and low[-2:-1] not in "aeiou":
        return f"{low[:-1]}ies"
    return f"{low}s"


def agreeing(rest: str) -> str:
    """Make the verb that begins a text, after adverbs, go with a third person: "also love it", "also loves it"."""
    match = _LEADING_VERB.match(rest)
    if match is None:
        return rest
    verb = match[2].casefold()
    known = FORMS.get(verb)
    if verb in _IRREGULAR or verb in BASES or (known and known[1] == "present" and verb == known[0]):
        return f"{match[1]}{third_person(verb)}{rest[match.end(2) :]}"
    return rest


def possessive(name: str) -> str:
    """Give the name of someone with what marks his own."""
    return f"{name}'s"


def statement(*parts: str) -> str:
    """Join parts to one sentence with a full stop, at most 280 characters and an ellipsis."""
    joined = _SPACES.sub(" ", " ".join(part for part in parts if part)).strip(" ,;:-")
    if not joined:
        return ""
    joined = joined[0].upper() + joined[1:]
    if joined[-1] == '"' and joined[-2:-1] in ".!?":
        return cut(joined)
    joined = joined.rstrip("!.…?")
    return cut(f"{joined}.")


def cut(text: str) -> str:
    """Cut a text at 280 characters and show it by an ellipsis."""
    return text if len(text) <= LONGEST else text[:LONGEST].rstrip() + "…"
