"""What letters in disguise stand for: accents, look-alikes, digits for letters, letters one by one, hidden tags."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from memory.privacy.folded import fold_character

# Cyrillic, Greek and other letters that look like Latin ones, in the order of the Latin letters beside them.
_LOOK_ALIKES: Final = str.maketrans(
    "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456\u0458\u0455\u0501\u04bb\u051b\u051d"
    "\u0410\u0412\u0415\u041a\u041c\u041d\u041e\u0420\u0421\u0422\u0425\u0406\u0405\u0408\u0423"
    "\u043a\u0442\u043c\u0432\u043f\u0433\u044c"
    "\u03bf\u03b1\u03b9\u03bd\u03c1\u03c4\u03ba\u03c5\u03b5\u03b7\u03c3\u03c7\u03b2\u03b3\u03c9\u03bc"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0131\u0251\u0261\u0269\u0585\u057d\u0578\u0570\u04cf",
    "aeopcyxijsdhqwABEKMHOPCTXISJYktmbnrboaivptkuenoxbywuABEZHIKMNOPTYXiagiounhl",
)
_SMALL_CAPITALS: Final = dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz", strict=True))
_SPELT: Final = {
    **_SMALL_CAPITALS,
    **{chr(base + at): chr(ord("a") + at) for base in (0x1F150, 0x1F170, 0x1F1E6) for at in range(26)},
    "ß": "ss",
    "ẞ": "SS",
    "æ": "ae",
    "Æ": "AE",
    "œ": "oe",
    "ø": "o",
    "Ø": "O",
    "ł": "l",
    "Ł": "L",
    "đ": "d",
    "【": "[",
    "】": "]",
    "〔": "[",
    "〕": "]",
    "‹": "<",
    "›": ">",
    "▁": "_",
    "¦": "|",
    "∣": "|",
    "ǀ": "|",
}
_TAGS: Final = range(0xE0020, 0xE007F)
_LEET_WORD: Final = re.compile(
    r"[a-z][013457@$!]+[a-z]|(?<![a-z0-9])[013457@$!][a-z]{2}|[a-z]{2}[0134@$!](?![a-z0-9])", re.I
)
_LEET: Final = str.maketrans("013457@$!_", "oieastasi ")
_ONE_BY_ONE: Final = re.compile(r"(?<![A-Za-z0-9])(?:[A-Za-z](?:[ .\-_*|/,~:;!?\"'()\[\]]{1,6}+|(?![A-Za-z0-9]))){8,}+")
_DROP: Final = (
    r"(?:ignore|disregard)(?:all|any|the|my|your|every|of|these|everything){0,4}(?:previous|prior|above|earlier|preceding)"
    r"(?:instructions?|rules?|prompts?|guidelines?|directives?)"
)
_UNSPACED: Final[tuple[tuple[str, re.Pattern[str]], ...]] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        ("ignore_previous", _DROP),
        (
            "you_are_now",
            r"youarenow(?:dan|an?(?!member|user|customer)|jailbroken|unrestricted|indevelopermode|theadmin)",
        ),
        ("system_prefix", r"system(?:prompt|message|override|note)?you(?:must|are|should|will)"),
        ("forget_everything", r"forget(?:everything|all)(?:you|about|above|your|previous|instructions)"),
        ("new_instructions", r"(?:new|updated|revised)(?:system)?instructions?"),
        (
            "override",
            r"override(?:the|all|any){0,2}(?:system|safety|your(?:rules|programming|instructions|guidelines))",
        ),
        ("bypass", r"bypass(?:the|all|any|your){0,2}(?:safety|content|guard|filters)"),
        ("pretend", r"pretend(?:tobe|youare|thatyouare)"),
    )
)


@lru_cache(maxsize=8192)
def bare_character(char: str) -> str:
    """Fold one character as for personal data, and further: no accents and strokes, styled letters plain.

    A tag, which no screen shows, becomes the character that it hides.
    """
    if ord(char) in _TAGS:
        return chr(ord(char) - 0xE0000)
    spelt = _SPELT.get(char)
    if spelt is not None:
        return spelt
    folded = fold_character(char)
    if folded.isascii():
        return folded
    parts = unicodedata.normalize("NFD", folded) if len(folded) == 1 else folded
    return "".join(_SPELT.get(part, part) for part in parts if unicodedata.category(part) not in ("Mn", "Me"))


def latin(text: str) -> str:
    """Read look-alike letters as Latin ones; the length stays."""
    return text if text.isascii() else text.translate(_LOOK_ALIKES)


def spelt_out(text: str) -> str | None:
    """Read digits and signs inside of words as letters, and underscores as spaces; the length stays.

    Returns:
        None where no word has any.
    """
    if "_" not in text and not _LEET_WORD.search(text):
        return None
    return text.translate(_LEET)


def find_one_by_one(text: str) -> Iterator[tuple[str, int, int]]:
    """Find phrases whose letters stand apart, with their kind."""
    for run in _ONE_BY_ONE.finditer(text):
        at = [index for index in range(run.start(), run.end()) if text[index].isalpha()]
        joined = "".join(text[index] for index in at)
        for kind, pattern in _UNSPACED:
            for match in pattern.finditer(joined):
                yield kind, at[match.start()], at[match.end() - 1] + 1
