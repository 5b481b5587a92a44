"""Brings what a statement is about into one form, so that the same thing is told as the same."""

from __future__ import annotations

import re
from typing import Final

from memory.text.stopwords import word_set

MAX_VALUE: Final = 80
MAX_WORDS: Final = 8

_CUT: Final = re.compile(
    r"\s*(?:[,;:!?()–—\"]|\.(?=\s|\Z)|\s-{1,2}\s|\b(?:because|since|when|while|although|though|but|so|"
    r"which|where|who|as|"
    r"after|before|until|if|and (?:I|it|it's|they|that|we|he|she|I'm|the)|especially|whenever|every|"
    r"ever|for (?:a|the|about|over|"
    r"almost|nearly|some|many|\d|two|three|four|five|six|seven|eight|nine|ten)|more than|over|with my|with our|than|"
    r"thanks to|due to|at (?:least|all)|in (?:19|20)\d\d|these days|right now|at the moment|anymore|"
    r"any more)(?![\w']))"
    r".*\Z",
    re.IGNORECASE | re.DOTALL,
)
_TAIL: Final = re.compile(
    r"\s+(?:a lot|so much|very much|too|as well|now|these days|nowadays|though|lately|anymore|most|the most|the best|"
    r"together|again|myself|in general|of course|right now|recently|today|yesterday|tonight|already|also|a bit|really|"
    r"(?:last|next|this) (?:week|month|year|summer|winter|spring|fall|autumn|weekend|night))\Z",
    re.IGNORECASE,
)
_HEAD: Final = re.compile(
    r"\A(?:to |the |an? |my |our |some |any |all |both |really |eating |to eat |having |drinking |drink |eat |"
    r"good |lots of |kinds? of |all kinds of )+",
    re.IGNORECASE,
)
_VAGUE: Final = re.compile(
    r"\A(?:it|this|that|these|those|them|him|her|his|their|its|you|your|yours|how|what|when|where|who|"
    r"why|the way|the fact|"
    r"everything|anything|nothing|something|someone|being|seeing|hearing|there|here|to (?:see|hear|"
    r"think|be|know|say|have|"
    r"get|help)|when|me|us|all of|one|one of|each|another|such|if|talking|chatting|catching|getting|"
    r"knowing|watching you|"
    r"more|most|so|how|both|every (?:minute|bit|second|moment)|doing|having (?:you|such|a))(?![\w-])",
    re.IGNORECASE,
)
_POINTING: Final = re.compile(
    r"\b(?:this|these|those|that)\b|\b(?:it|them|one|ones|stuff|thing|things|ton|lot)\Z", re.IGNORECASE
)
_HALF: Final = re.compile(r"\b(?:an?|the|my|our)\s+\w+\Z", re.IGNORECASE)
_EMPTY: Final = word_set("to do so and or of a i we be being both all much lot lots")
_NOT_WORDS: Final = re.compile(r"[^\w\s'+#&./-]+")
_PAIR: Final = re.compile(r"\s*(?:,\s*(?:and\s+)?|\s+and\s+|\s+as well as\s+|\s*&\s*)\s*")
_ONE_THING: Final = re.compile(
    r"mac and cheese|fish and chips|rock and roll|bed and breakfast|salt and pepper|peanut butter and|arts and crafts|"
    r"black and white|r&b|drum and bass|country and western|dungeons and dragons|ben and jerry",
    re.IGNORECASE,
)
_PLURALS: Final = (
    (re.compile(r"(?<=[a-z]{2})ies\Z"), "y"),
    (re.compile(r"(?<=s|x|z)es\Z|(?<=ch|sh)es\Z|(?<=to)es\Z"), ""),
    (re.compile(r"(?<=[a-z]{2}[^sui])s\Z"), ""),
)
_VERBAL: Final = re.compile(r"\A(?:to|that)\b", re.IGNORECASE)


def trimmed(tail: str) -> str:
    """Cut from a tail what no longer says which thing is meant: reasons, times, adverbs."""
    value = _CUT.sub("", tail.strip()).strip()
    rest = tail.strip()[len(value) :]
    if _HALF.search(value) and re.match(r",\s+[a-z]+\s+[a-z]+", rest):
        # A second adjective: "a safe, inviting place".
        value += "," + _CUT.sub("", rest[1:])
    while True:
        shorter = _TAIL.sub("", value)
        if shorter == value:
            return value.strip(" .!,;:'")
        value = shorter


def normal(value: str) -> str:
    """Give the compared form of a value: small letters, without articles and marks, at most 80 characters."""
    bare = _NOT_WORDS.sub(" ", value).casefold()
    bare = " ".join(bare.split())
    return _HEAD.sub("", bare).strip(" .'-")[:MAX_VALUE].strip()


def one_of(value: str) -> str:
    """Give the singular of an English plural in normal form: "peanuts" becomes "peanut", "shellfish" stays."""
    for pattern, ending in _PLURALS:
        shorter = pattern.sub(ending, value)
        if shorter != value:
            return shorter
    return value


def is_vague(value: str) -> bool:
    """Tell whether a value names nothing outside its conversation: "it", "your photo", "how that looks"."""
    if _POINTING.search(value):
        return True
    bare = normal(value)
    if not bare or bare in _EMPTY or _VAGUE.match(bare):
        return True
    return not value or len(value.split()) > MAX_WORDS or _VAGUE.match(value) is not None


def is_pointing(text: str) -> bool:
    """Tell whether a text points at something said before instead of naming it."""
    return _POINTING.search(text) is not None or re.search(r"\b(?:it|here|there|them)\b", text) is not None


def several(value: str) -> list[str]:
    """Split a list of up to five short things into each of them; anything else stays whole."""
    if _ONE_THING.search(value) or _VERBAL.match(value):
        return [value]
    parts = [part.strip() for part in _PAIR.split(value) if part.strip()]
    if not 2 <= len(parts) <= 5 or any(len(part.split()) > 3 for part in parts):
        return [value]
    if len(parts) == 2 and len(parts[0].split()) < len(parts[1].split()):
        # The second noun may be meant for both: "action and fantasy films".
        return [value]
    return parts
