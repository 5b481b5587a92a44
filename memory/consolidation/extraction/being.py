"""What clauses with "to be" say of people: names, trades, origins, states, fondness."""

from __future__ import annotations

import re
from typing import Final

from memory.consolidation.extraction.clause import Clause
from memory.consolidation.extraction.drafts import HEALTH, IDENTITY, LIKING, PLACE, RELATED, TRADE, TRAIT, Draft
from memory.consolidation.extraction.values import is_vague, several, trimmed
from memory.consolidation.extraction.words.noise import NOISE
from memory.consolidation.extraction.words.people import LEADING, RELATIVES, kin_label
from memory.consolidation.extraction.words.things import NATIONAL, ORGANIZATIONS, PLACES
from memory.consolidation.extraction.words.verbs import DIETS, OCCUPATIONS
from memory.graph.labels import SINGLE_VALUED
from memory.text.timewords import CALENDAR_WORDS

_NAME: Final = r"((?-i:[A-Z])[\w'-]*(?:\s(?-i:[A-Z])[\w'-]*){0,3})"
_ALLERGIC: Final = re.compile(r"(?:\w+\s+)?allergic\s+to\s+(.+)", re.IGNORECASE | re.DOTALL)
_INTOLERANT: Final = re.compile(r"(lactose|gluten|histamine|fructose)[\s-]intolerant\b", re.IGNORECASE)
_FOND: Final = re.compile(
    r"(?:so\s+|very\s+|pretty\s+|really\s+|quite\s+|super\s+)?(?:into|(?:a\s+)?(?:big|huge|"
    r"massive)?\s*fan\s+of|a\s+(?:big\s+|huge\s+)?(?:fan|lover)\s+of|"
    r"fond\s+of|keen\s+on|obsessed\s+with|passionate\s+about|crazy\s+about|addicted\s+to|a\s+sucker\s+for)\s+(.+)",
    re.IGNORECASE | re.DOTALL,
)
_FROM: Final = re.compile(rf"(?:originally\s+)?from\s+(?:the\s+)?{_NAME}")
_BASED: Final = re.compile(rf"(?:based|located|living)\s+in\s+(?:the\s+)?{_NAME}")
_EMPLOYED: Final = re.compile(rf"(?:employed|hired)\s+(?:by|at|with)\s+(?:the\s+)?{_NAME}")
_BORN_IN: Final = re.compile(rf"born\s+(?:and\s+raised\s+)?in\s+(?:the\s+)?{_NAME}")
_BORN_ON: Final = re.compile(r"born\s+(?:on\s+|in\s+)(?=.*\d)(.+)", re.IGNORECASE | re.DOTALL)
_AGE: Final = re.compile(
    r"(\d{1,3})(?![.,]\d)(?:\s+years?\s+old)?(?=\s*(?:\Z|[.,!;]|and\b|now\b|years?\b))", re.IGNORECASE
)
_STATUS: Final = re.compile(
    r"(?:happily\s+|recently\s+|newly\s+)?(married|divorced|single|engaged|widowed|separated|pregnant|"
    r"retired)(?:\s+to\s+(?:my\s+\w+\s+)?"
    rf"{_NAME})?(?=\s*(?:\Z|[.,!;]|and\b|with\b|for\b|since\b|now\b|again\b))",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(
    r"(?:an?\s+)?(diabetic|colou?r[\s-]blind|left[\s-]handed|right[\s-]handed|dyslexic|deaf|blind|"
    r"asthmatic|autistic|epileptic|coeliac|"
    r"celiac|transgender|nonbinary|non-binary|gay|lesbian|bisexual)\b",
    re.IGNORECASE,
)
_ROLE: Final = re.compile(
    rf"(?:an?|the|one\s+of\s+the)\s+(?P<role>[\w\s/-]{{2,50}}?)(?:\s+(?:at|for|"
    rf"with)\s+(?:the\s+)?(?P<where>{_NAME}).*|\s+(?:in|by|from|on|who|and|of|but|since|now)\b.*|\s*[,.!;].*|\s*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_NAMED: Final = re.compile(rf"(?:named\s+|called\s+)?{_NAME}(?=\s*(?:\Z|[,.!;]|and\b|from\b|by\b))")
_APPOSED: Final = re.compile(
    r",\s+(?:an?\s+)?(?P<role>[\w\s/-]{2,40}?)(?:\s+(?:at|"
    r"for)\s+(?P<where>(?:[A-Z][\w&'-]*\s?){1,4}))?(?:\s+in\s+(?P<place>(?:[A-Z][\w'-]*\s?){1,3}))?(?:[,.]|\Z)"
)
_OURS: Final = re.compile(
    r"(?:my|our)\s+((?:\w+\s+)?[\w-]+(?:\s+(?:manager|lead|engineer|owner|partner|student))?)\s*(?:\Z|"
    r"[,.!;]|and\b|in\b|at\b|any\s?(?:more|longer)\b)",
    re.IGNORECASE,
)
_AFRAID: Final = re.compile(r"(?:afraid|scared|terrified)\s+of\s+(.+)", re.IGNORECASE | re.DOTALL)
_FLUENT: Final = re.compile(
    r"(?:fluent\s+in|a\s+native\s+speaker\s+of)\s+([A-Z]\w+(?:(?:,\s*|\s+and\s+)[A-Z]\w+){0,4})"
)


def being(clause: Clause) -> list[Draft]:
    """List what a clause with a form of "to be" says of its subject."""
    if clause.tense in ("past", "former"):
        return _birth(clause)
    for read in (_health, _fondness, _places, _state, _fluency, _name, _trade, _ours):
        found = read(clause)
        if found:
            return found
    return []


def _birth(clause: Clause) -> list[Draft]:
    if clause.negated or clause.tense == "former":
        return []
    match = _BORN_IN.match(clause.tail)
    if match and match[1].isalpha() and match[1].casefold() not in CALENDAR_WORDS:
        return [Draft(TRAIT, "born_in", match[1], single=True, label="born_in")]
    if match := _BORN_ON.match(clause.tail):
        return [Draft(IDENTITY._replace(importance=0.8), "birthday", trimmed(match[1]), single=True)]
    return []


def _health(clause: Clause) -> list[Draft]:
    sign = -1 if clause.negated else 1
    if match := _ALLERGIC.match(clause.tail):
        value = trimmed(match[1])
        label = "allergic_to" if sign > 0 else ""
        base = Draft(HEALTH, "allergic_to", value, sign, label=label, target_type="topic")
        parts = several(value)
        if is_vague(value) or len(parts) == 1:
            return [] if is_vague(value) else [base]
        return [base.but(value=part, tail=f"allergic to {part}") for part in parts]
    if match := _INTOLERANT.match(clause.tail):
        return [Draft(HEALTH, "intolerant_of", match[1], sign)]
    if match := _CONDITION.match(clause.tail):
        return [Draft(TRAIT._replace(importance=0.8), "is", match[1], sign)]
    return []


def _fondness(clause: Clause) -> list[Draft]:
    match = _FOND.match(clause.tail)
    if match is None:
        return []
    value = trimmed(match[1])
    sign = -1 if clause.negated else 1
    if is_vague(value) or (value.casefold().startswith("the ") and not re.search(r"[A-Z]", value[4:])):
        return []
    return [Draft(LIKING, "likes", value, sign, label="likes" if sign > 0 else "dislikes", target_type="topic")]


def _places(clause: Clause) -> list[Draft]:
    sign = -1 if clause.negated else 1
    if match := _FROM.match(clause.tail):
        return [Draft(TRAIT, "comes_from", match[1], sign, single=sign > 0, label="comes_from" if sign > 0 else "")]
    if match := _BASED.match(clause.tail):
        label = "lives_in" if sign > 0 or clause.ended else ""
        return [Draft(PLACE, "lives_in", match[1], sign, single=sign > 0, label=label, ended=clause.ended)]
    if (match := _EMPLOYED.match(clause.tail)) and (sign > 0 or clause.ended):
        base = Draft(TRADE, "works_at", match[1], sign, single=sign > 0, label="works_at", ended=clause.ended)
        return [base.but(target_type="organization")]
    return []


def _state(clause: Clause) -> list[Draft]:
    if clause.negated:
        return []
    if (match := _AGE.match(clause.tail)) and 0 < int(match[1]) < 120 and clause.tense == "present":
        return [Draft(TRAIT, "age", match[1], single=True)]
    match = _STATUS.match(clause.tail)
    if match is None:
        return []
    found = [Draft(RELATED, "status", match[1], single=True)]
    if match[2] and match[1].casefold() == "married":
        found.append(
            Draft(RELATED, "married_to", match[2], single=True, label="married_to", target_type="person", silent=True)
        )
    return found


def _fluency(clause: Clause) -> list[Draft]:
    if (match := _FLUENT.match(clause.tail)) and not clause.negated:
        spoken = [word for word in re.findall(r"[A-Z]\w+", match[1]) if word.casefold() in NATIONAL]
        return [Draft(TRAIT, "speaks", word, label="speaks", tail=f"fluent in {word}") for word in spoken]
    if (match := _AFRAID.match(clause.tail)) and not is_vague(trimmed(match[1])):
        return [Draft(TRAIT, "fears", trimmed(match[1]), -1 if clause.negated else 1)]
    return []


def _name(clause: Clause) -> list[Draft]:
    """Read "I am Ines, backend engineer at Kranich Freight in Leipzig"."""
    match = _NAMED.match(clause.tail)
    if match is None or clause.negated or not clause.subject.own or clause.subject.plural:
        return []
    low = match[1].casefold()
    known = NATIONAL | CALENDAR_WORDS | NOISE | PLACES | ORGANIZATIONS
    if low in known or low.split()[0] in known or match[1].isupper() or clause.told != "is":
        return []
    said = clause.subject.said
    found = [Draft(IDENTITY, "named", match[1], single=True, text=f"{said} is named {match[1]}.", confidence=0.8)]
    if low == said.casefold():
        found = []
    more = _APPOSED.match(clause.tail[match.end() :])
    if more and _is_trade(more["role"]):
        role, employer, place = more["role"].strip(), (more["where"] or "").strip(), (more["place"] or "").strip()
        text = (
            f"{said} works as {role}"
            + (f" at {employer}" if employer else "")
            + (f" in {place}" if place else "")
            + "."
        )
        found.append(Draft(TRADE, "job", role, single=True, text=text))
        if employer:
            base = Draft(TRADE, "works_at", employer, single=True, label="works_at", target_type="organization")
            found.append(base.but(silent=True))
    return found


def _trade(clause: Clause) -> list[Draft]:
    match = _ROLE.match(clause.tail)
    if bare := re.match(r"(vegan|vegetarian|pescatarian)\b", clause.tail, re.IGNORECASE):
        return [
            Draft(
                LIKING._replace(importance=0.8), "diet", bare[1], -1 if clause.negated else 1, single=not clause.negated
            )
        ]
    if match is None:
        return []
    role = match["role"].strip()
    last = role.split()[-1].casefold()
    if last in DIETS:
        return [
            Draft(LIKING._replace(importance=0.8), "diet", role, -1 if clause.negated else 1, single=not clause.negated)
        ]
    if clause.negated or not _is_trade(role):
        return []
    found = [Draft(TRADE, "job", role)]
    if match["where"]:
        place = match["where"].strip()
        found.append(
            Draft(TRADE, "works_at", place, single=True, label="works_at", target_type="organization", silent=True)
        )
    return found


def _ours(clause: Clause) -> list[Draft]:
    """Read "Lotte Asmussen is our product manager", "Jule is my sister"."""
    match = _OURS.match(clause.tail)
    if match is None or (clause.negated and not clause.ended) or clause.subject.own:
        return []
    sign = -1 if clause.ended else 1
    role = re.sub(r"\s+(?:now|anymore|too|again|today)\Z", "", match[1].strip().casefold())
    last = "boss" if role in LEADING else role.split()[-1]
    if last in RELATIVES and (
        role in LEADING or len(role.split()) == 1 or RELATIVES[last] not in ("boss", "coach", "assistant")
    ):
        kind = RELATIVES[last]
        label = kin_label(kind)
        base = Draft(RELATED, "role", role, sign, label=f"of:{label}", target_type="person", ended=clause.ended)
        return [base.but(single=label in SINGLE_VALUED and sign > 0)]
    base = Draft(RELATED, "role", role, sign, label="of:works_with", target_type="person", ended=clause.ended)
    return [base] if _is_trade(role) or last in ("dba", "lead", "manager", "sre") else []


def _is_trade(role: str) -> bool:
    words = role.casefold().split()
    return bool(words) and len(words) <= 5 and words[-1] in OCCUPATIONS and words[0] not in ("only", "same", "best")
