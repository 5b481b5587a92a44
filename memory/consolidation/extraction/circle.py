"""Finds the people and animals of somebody's circle where a text names them: "my sister Jule", "a cat named Luna"."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from memory.consolidation.extraction.words.noise import NOISE
from memory.consolidation.extraction.words.openings import ADVERBS
from memory.consolidation.extraction.words.people import LEADING, PETS, RELATIVES, kin_label
from memory.consolidation.extraction.words.things import NATIONAL
from memory.text.timewords import CALENDAR_WORDS

GROWN: Final = {"puppy": "dog", "pup": "dog", "kitten": "cat", "kitty": "cat", "bunny": "rabbit", "pony": "horse"}
"""What young animals become, and pet names for them: whoever spoke of a puppy speaks of a dog later."""

_NAME: Final = r"(?P<name>(?:(?-i:Dr|Prof|Mrs|Mr|Ms)\.?\s)?(?-i:[A-Z])[\w-]+(?:\s(?-i:[A-Z])[\w-]+)?)"
_RELATIVE: Final = re.compile(
    rf"\b(?:my|our)\s+(?:(?:older|younger|elder|big|little|twin|best|old|eldest|youngest|oldest|late|"
    rf"good|close|new)\s+)?"
    rf"(?P<kind>{'|'.join(sorted({*RELATIVES, *LEADING}, key=len, reverse=True))})(?P<link>,\s*|\s+(?:is\s+)?(?:named|"
    rf"called)\s+|'s\s+name\s+is\s+|\s+is\s+|\s+){_NAME}",
    re.IGNORECASE,
)
_IS: Final = re.compile(r"\b(?:is|was|are)\s+\Z")
_FORMER: Final = re.compile(r"\w+\s+(?:old|late)\b", re.IGNORECASE)
_PET: Final = re.compile(
    rf"\b(?P<whose>my|our|an?|new|the|her|his|"
    rf"their)\s+(?:[\w-]+\s+){{0,2}}?(?P<kind>{'|'.join(sorted(PETS, key=len, reverse=True))})"
    rf"(?P<link>,\s*|\s+(?:is\s+)?(?:named|called)\s+(?:him\s+|her\s+|it\s+)?|'s\s+name\s+is\s+|\s+){_NAME}",
    re.IGNORECASE,
)
_OWNER: Final = re.compile(r".*\b(?:I|[Ww]e|(?:[Mm]y|[Oo]ur) family)\b", re.DOTALL)
_ANOTHER: Final = re.compile(
    rf"\b(?:that|who|whose|he|she|they|has|(?:my|our)\s+(?:\w+\s+)?(?:{'|'.join(RELATIVES)})|[A-Z][\w-]*)\b"
)
_GETTING: Final = frozenset({"got", "adopted", "bought", "have", "had", "rescued", "met", "welcomed", "named"})


_TOO: Final = re.compile(r"\s*,?\s*(?:too|as\s+well)\b", re.IGNORECASE)
_NAMESAKE: Final = re.compile(
    r"(?<!\w)(?P<whose>my|our|(?-i:[A-Z])[\w-]+(?:\s(?-i:[A-Z])[\w-]+)?(?='s))(?:'s)?\s+"
    rf"(?P<kind>{'|'.join(sorted(RELATIVES, key=len, reverse=True))})"
    rf"\s+is\s+(?P<also>also\s+)?(?:named|called)\s+{_NAME}"
    r"(?P<too>\s*,?\s*(?:too|as\s+well)\b)?",
    re.IGNORECASE,
)


class Kin(NamedTuple):
    """Somebody of the circle: the name, the kind, the label that leads there, and where the name stands."""

    name: str
    kind: str
    label: str
    is_pet: bool
    start: int
    end: int


def circle(text: str) -> list[Kin]:
    """List the named people and animals that are said to belong to the speaker, in order, at most ten."""
    found: list[Kin] = []
    for match in _RELATIVE.finditer(text):
        kind = RELATIVES.get(" ".join(match["kind"].casefold().split()), "boss")
        if _is_somebody_else(match, text) or (kind == "boss" and _FORMER.match(match.group())):
            # An old boss is none now.
            continue
        _add(found, match, kind, kin_label(kind), is_pet=False)
    for match in _PET.finditer(text):
        named = any(word in match["link"].casefold() for word in ("named", "called", "name is"))
        mine = match["whose"].casefold() in ("my", "our")
        had = match["whose"].casefold() in ("a", "an", "new") and _is_speakers(text[: match.start()])
        if mine or (named and had):
            _add(found, match, match["kind"].casefold(), "has_pet", is_pet=True)
    return found[:10]


def _is_somebody_else(match: re.Match[str], text: str) -> bool:
    """Tell whether the name is not the relative's, or another bears it too.

    "John is my dentist, Jane my doctor" names no dentist Jane.
    """
    link = match["link"]
    if link.startswith(","):
        return _IS.search(text[: match.start()]) is not None
    return ("called" in link.casefold() or "named" in link.casefold()) and _TOO.match(text[match.end() :]) is not None


class Namesake(NamedTuple):
    """Somebody of whom a text says that another bears his name too: whose he is, empty for the speaker's own."""

    whose: str
    kind: str
    name: str
    start: int
    end: int


def namesakes(text: str) -> list[Namesake]:
    """List those who are said to bear the name of another too: "Jule's daughter is called Wren too"; at most ten."""
    return [
        Namesake(
            "" if match["whose"].casefold() in ("my", "our") else match["whose"],
            RELATIVES[match["kind"].casefold()],
            match["name"],
            match.start("name"),
            match.end("name"),
        )
        for match in _NAMESAKE.finditer(text)
        if match["also"] or match["too"]
    ][:10]


def _is_speakers(before: str) -> bool:
    """Tell whether the speaker is who has, got or met what comes next: "I adopted", "Just got"; not "Tom has"."""
    found = _OWNER.search(before)
    if found:
        return _ANOTHER.search(before[found.end() :]) is None
    words = [word for word in re.findall(r"[\w'-]+", before.casefold()) if word not in ADVERBS]
    return not words or words[0] in _GETTING


def _add(found: list[Kin], match: re.Match[str], kind: str, label: str, *, is_pet: bool) -> None:
    name = match["name"]
    words = [word.casefold() for word in name.split()]
    if (
        words[0] in NOISE
        or words[0] in CALENDAR_WORDS
        or words[0] in NATIONAL
        or name.isupper()
        or words[0] in ("i", "i'm")
    ):
        return
    if len(words) > 1 and (words[1] in NOISE or words[1] in CALENDAR_WORDS):
        name = name.split()[0]
    found.append(Kin(name, kind, label, is_pet, match.start("name"), match.start("name") + len(name)))
