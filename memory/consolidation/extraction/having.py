"""What clauses with "to have" say of people: pets, relatives, allergies, conditions, things."""

from __future__ import annotations

import re
from typing import Final

from memory.consolidation.extraction.clause import Clause
from memory.consolidation.extraction.drafts import HEALTH, POSSESSION, RELATED, Draft
from memory.consolidation.extraction.words.people import PETS, RELATIVES

_COUNT: Final = r"(an?|one|two|three|four|five|six|\d{1,2})"
_PLURALS: Final = {
    **{f"{word}s": kind for word, kind in RELATIVES.items()}, "kids": "child", "children": "child", "wives": "wife"
}  # fmt: skip
_PEOPLE: Final = "|".join(sorted({*RELATIVES, *_PLURALS}, key=len, reverse=True))
_PETS: Final = "|".join(sorted(PETS, key=len, reverse=True))
_PET: Final = re.compile(rf"{_COUNT}\s+((?:[\w-]+\s+){{0,3}}?)({_PETS})\b", re.IGNORECASE)
_NAMED: Final = re.compile(r"\s+(?:named|called)\s+[A-Z]")
_RELATIVE: Final = re.compile(rf"{_COUNT}\s+((?:[\w-]+\s+){{0,2}}?)({_PEOPLE})\b", re.IGNORECASE)
_ALLERGY: Final = re.compile(
    r"(?:an?\s+)?(?:(?:severe|bad|mild|serious)\s+)?(?:([\w-]+)\s+)?allerg(?:y|ies)(?:\s+to\s+([\w\s-]{2,40}))?",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"(?:type\s+[12]\s+|chronic\s+|mild\s+|severe\s+)?(diabetes|asthma|epilepsy|adhd|celiac\s+disease|"
    r"coeliac\s+disease|arthritis|"
    r"migraines?|insomnia|anxiety|depression|hypertension|high\s+blood\s+pressure|dyslexia)\b",
    re.IGNORECASE,
)
_THING: Final = re.compile(
    r"an?\s+((?:[\w-]+\s+){0,3}?(?:car|bike|bicycle|house|flat|apartment|boat|motorcycle|piano|guitar|"
    r"violin|garden|studio|shop|cabin|"
    r"degree|phd|master's|driving\s+licen[cs]e|pilot's\s+licen[cs]e|laptop|camera|kiln|telescope))\b",
    re.IGNORECASE,
)


def having(clause: Clause) -> list[Draft]:
    """List what a clause with "to have" says of its subject."""
    if clause.tense != "present" or clause.negated:
        return []
    tail = clause.tail
    if (match := _ALLERGY.match(tail)) and (match[1] or match[2]):
        cause = (match[2] or match[1]).strip()
        if cause.casefold() in ("an", "a", "no", "any", "some", "many", "the", "food", "seasonal", "several"):
            return [Draft(HEALTH, confidence=0.8)]
        return [Draft(HEALTH, "allergic_to", cause, label="allergic_to", target_type="topic")]
    if match := _CONDITION.match(tail):
        return [Draft(HEALTH, "has_condition", match[1], label="has_condition", target_type="topic")]
    if match := _PET.match(tail):
        if clause.subject.own and _NAMED.match(tail[match.end() :]):
            # What bears a name is told with it.
            return []
        return [Draft(POSSESSION, "has_pet", f"{match[1]} {match[3]}", confidence=0.85)]
    if match := _RELATIVE.match(tail):
        kind = _PLURALS.get(match[3].casefold()) or RELATIVES.get(match[3].casefold(), "")
        return [Draft(RELATED, f"has_{kind}", f"{match[1]} {match[3]}", confidence=0.85)] if kind else []
    if match := _THING.match(tail):
        return [Draft(POSSESSION, "owns", match[1], label="owns", confidence=0.85)]
    return []
