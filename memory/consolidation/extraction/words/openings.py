"""Words before what a sentence says, and those that show that it is not meant as a fact."""

from __future__ import annotations

import re
from typing import Final

from memory.text.stopwords import word_set

_OPENINGS: Final = """
    yeah, yes, yep, yup, no, nope, nah, well, so, and, but, also, oh, hey, hi, hello, wow, thanks, thank you, actually,
    honestly, btw, by the way, ok, okay, of course, sure, sorry, plus, anyway, anyways, hmm, haha, right, exactly,
    totally, definitely, for me, personally, fun fact, for the record, just so you know, you know, i mean, luckily,
    as for me, good morning, morning, in general, generally, usually, these days, nowadays, at the moment, right now,
    currently, now, still, then, true, agreed, me too, same here, absolutely, great, cool, nice, awesome, note that,
    fyi, to be honest, tbh, please note, news, woah, whoa, guess what, on another note, on a different note, in the
    meantime, lately,
    long time no see, no worries, oh man, oh wow, man, yay, haha, aww, just so, in other news, speaking of which
"""
_LISTED: Final = "|".join(" ".join(words.split()) for words in _OPENINGS.split(","))
OPENING: Final = re.compile(
    rf"(?:{_LISTED})\b(?:[,!.:]?\s+|\s*[,!.:–—-]+\s*)(?:(?-i:[A-Z])[\w-]{{1,20}}[!,]\s+)?", re.IGNORECASE
)
"""One opening with what follows it, up to a name that is spoken to."""

CLOSING: Final = re.compile(
    r"(?:,\s+(?:you know|you see|as you know|by the way|btw|actually|of course|to be honest|tbh|fyi|though|"
    r"as I (?:said|told you)))+\s*[.!…]*\s*\Z",
    re.IGNORECASE,
)
"""What may follow a statement without changing it."""

ADVERBS: Final = word_set("""
    really also just absolutely still always usually currently now actually personally definitely mostly generally
    truly totally particularly especially simply often recently finally already both genuinely secretly mainly honestly
    only normally originally sincerely deeply dearly even probably kinda maybe recently temporarily
    """)
UNSURE: Final = frozenset({"probably", "even", "kinda", "maybe"})
"""Adverbs after which nothing is taken as a fact."""

HYPOTHETICAL: Final = re.compile(
    r"^(?:if|unless|suppose|imagine|assuming|what if|as if|in case|whenever|when|once|until|say|let's say|pretend|"
    r"had i|were i|should i|i wish|if only|maybe|perhaps|hopefully|i guess|i hope|i'm not sure|not sure|it's like|"
    r"it feels|it felt)\b|\bif (?:I|we) (?:were|was|had|lived|could|would|did)\b",
    re.IGNORECASE,
)
REPORTING: Final = re.compile(
    r"\b(?:said|says|say|told|tells|asked|asks|claims|claimed|thinks|thought|heard|wrote|writes|quoted|replied|"
    r"according to|believes|believed|mentioned|pretends|lyrics|song goes)\b",
    re.IGNORECASE,
)
TO_SOMEBODY: Final = re.compile(r"\b(?:you|your|yours|yourself|you're|you've|you'll|you'd|ya|u)\b", re.IGNORECASE)
"""What is said about the one who is spoken to is no statement about anybody who is known here."""
