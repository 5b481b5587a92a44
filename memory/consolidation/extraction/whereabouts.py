"""What clauses say of where people live and work, and of where they come from."""

from __future__ import annotations

import re
from typing import Final

from memory.consolidation.extraction.clause import Clause
from memory.consolidation.extraction.drafts import PLACE, TRADE, TRAIT, WORK, Draft
from memory.consolidation.extraction.values import is_vague, trimmed
from memory.consolidation.extraction.words.things import ORGANIZATION_WORDS, ORGANIZATIONS, PLACES, SURE_TOOLS

_PROPER: Final = re.compile(r"(?:the\s+)?((?:[A-Z][\w.'&-]*|of|de|la|le|del|el|do|das|am|der|den)(?:\s+|\Z)){1,6}")
_LIVES: Final = re.compile(r"(?:\w+\s+){0,3}?in\s+(.+)", re.DOTALL)
_WORKS: Final = re.compile(
    r"(?:full[- ]time\s+|part[- ]time\s+)?(?:as\s+(?:an?|the)\s+([\w\s-]{2,40}?)\s+)?(?:at|for|with)\s+(.+)", re.DOTALL
)
_WORKS_AS: Final = re.compile(r"(?:full[- ]time\s+|part[- ]time\s+)?as\s+(?:an?|the)\s+(.+)", re.DOTALL)
_WORKS_ON: Final = re.compile(r"on\s+(.+)", re.DOTALL)
_NO_EMPLOYER: Final = re.compile(
    r"(?:the\s+moment|home|night|nights|weekends?|least|all|first|it|that|this|myself|my\s|them|him|"
    r"her|him|you|people|kids|"
    r"clients|children|a\s+(?:while|long|few|lot|better|team|group|local\s+organi)|\d|two|three|hours|"
    r"years|so\b|many|free|"
    r"students|some|others|his|these|our)",
    re.IGNORECASE,
)
_FROM_TO: Final = re.compile(r"(?:back\s+|here\s+|out\s+|over\s+)?from\s+(.+?)\s+to\s+(.+)", re.DOTALL)
_TO_FROM: Final = re.compile(r"(?:back\s+|out\s+|over\s+)?to\s+(.+?)(?:\s+from\s+(.+))?\Z", re.DOTALL)
_VISITED: Final = re.compile(
    r"\b(?:early|late|at|around|before|after|to\s+go|with|yesterday|today|again)\b", re.IGNORECASE
)
_OUT_OF: Final = re.compile(r"(?:away\s+from|out\s+of|from)\s+(.+)", re.DOTALL)


def lives(clause: Clause) -> list[Draft]:
    """Read where somebody lives, lived, or lives no longer."""
    match = _LIVES.match(clause.tail)
    place = proper(match[1]) if match else ""
    if not place or clause.tense == "past":
        return []
    base = Draft(PLACE, "lives_in", place, single=True, label="lives_in", target_type="concept")
    if clause.ended or clause.tense == "former":
        return [base.but(polarity=-1, single=False, ended=True)]
    if clause.negated:
        return [base.but(polarity=-1, single=False, label="")]
    return [base]


def works(clause: Clause) -> list[Draft]:
    """Read where somebody works, as what and on what."""
    if clause.tense == "past" or (clause.negated and not clause.ended):
        return []
    found: list[Draft] = []
    at, as_ = _WORKS.match(clause.tail), _WORKS_AS.match(clause.tail)
    gone = clause.ended or clause.tense == "former"
    if at and not _NO_EMPLOYER.match(at[2]) and proper(at[2]).casefold() not in SURE_TOOLS:
        place = proper(at[2]) or trimmed(at[2])
        if not is_vague(place) and len(place.split()) <= 6:
            base = Draft(TRADE, "works_at", place, single=True, label="works_at", target_type="organization")
            found.append(base.but(polarity=-1, single=False, ended=True) if gone else base)
    trade = at[1] if at and at[1] else (re.split(r"\s+(?:at|for|in|with)\s+", as_[1])[0] if as_ else "")
    if trade and not gone and not is_vague(trimmed(trade)):
        found.append(Draft(TRADE, "job", trimmed(trade), single=True, silent=bool(found)))
    on = _WORKS_ON.match(clause.tail)
    if (
        on
        and not found
        and clause.tense in ("present", "going")
        and names_something(on[1])
        and not is_vague(trimmed(on[1]))
    ):
        found.append(Draft(WORK, "works_on", trimmed(on[1]), label="works_on", target_type="project", confidence=0.8))
    return [] if found and not found[0].claims else found


def moves(clause: Clause) -> list[Draft]:
    """Read from where to where somebody moved."""
    if clause.tense not in ("past", "perfect") or clause.negated:
        return []
    old = new = ""
    if match := _FROM_TO.match(clause.tail):
        old, new = proper(match[1]), proper(match[2])
    elif match := _TO_FROM.match(clause.tail):
        new, old = proper(match[1]), proper(match[2] or "")
    elif match := _OUT_OF.match(clause.tail):
        old = proper(match[1])
    found = []
    if new:
        found.append(Draft(PLACE, "lives_in", new, single=True, label="lives_in"))
    if old:
        gone = Draft(PLACE, "lives_in", old, -1, label="lives_in", ended=True)
        found.append(gone.but(silent=bool(new)))
    return found


def leaves(clause: Clause) -> list[Draft]:
    """Read which employer somebody left."""
    match = re.match(
        r"(?:(?:my\s+)?(?:job|position|role)\s+(?:at|with)|from(?:\s+my\s+(?:job|position|role)\s+at)?|working\s+(?:at|for))"
        r"\s+(.+)",
        clause.tail,
        re.DOTALL,
    )
    place = proper(match[1] if match else clause.tail)
    named = match or ORGANIZATION_WORDS.intersection(place.casefold().split()) or place.casefold() in ORGANIZATIONS
    if not place or not named or clause.tense not in ("past", "perfect") or clause.negated:
        return []
    gone = Draft(TRADE, "works_at", place, -1, label="works_at", target_type="organization", ended=True)
    if match:
        return [gone]
    # "I left the museum at noon" tells of a visit; without a word for work only what is known to be the employer ends.
    return [] if clause.subject.plural or _VISITED.search(clause.tail) else [gone.but(supposed=True)]


def starts(clause: Clause) -> list[Draft]:
    """Read where somebody began to work."""
    match = re.match(
        r"(?:working|(?:a|my)\s+(?:new\s+)?(?:job|position|role))\s+(?:at|with|for)\s+(.+)", clause.tail, re.DOTALL
    )
    place = proper(match[1]) if match else ""
    if not place or clause.tense not in ("past", "perfect") or clause.negated:
        return []
    return [Draft(TRADE, "works_at", place, single=True, label="works_at", target_type="organization")]


def joins(clause: Clause) -> list[Draft]:
    """Read which employer somebody joined and as what."""
    match = re.match(r"(.+?)\s+as\s+(?:an?|the|their|its)\s+(.+)", clause.tail, re.DOTALL)
    place = proper(match[1]) if match else ""
    if not place or clause.tense not in ("past", "perfect") or clause.negated:
        return []
    return [Draft(TRADE, "works_at", place, single=True, label="works_at", target_type="organization")]


def comes(clause: Clause) -> list[Draft]:
    """Read where somebody comes from."""
    match = re.match(r"from\s+(.+)", clause.tail, re.DOTALL)
    place = proper(match[1]) if match else ""
    if not place or clause.tense != "present":
        return []
    return [
        Draft(
            TRAIT,
            "comes_from",
            place,
            -1 if clause.negated else 1,
            single=not clause.negated,
            label="" if clause.negated else "comes_from",
        )
    ]


def reports(clause: Clause) -> list[Draft]:
    """Read whom somebody reports to."""
    match = re.match(r"to\s+(.+)", clause.tail, re.DOTALL)
    boss = proper(match[1]) if match else ""
    gone = clause.ended or clause.tense == "former"
    if not boss or clause.tense not in ("present", "going", "former") or (clause.negated and not gone):
        return []
    base = Draft(TRADE, "reports_to", boss, single=True, label="reports_to", target_type="person")
    return [base.but(polarity=-1, single=False, ended=True) if gone else base]


def proper(text: str) -> str:
    """Give the name that a text begins with, or that follows a few common words of place."""
    text = re.sub(r"\A(?:(?:downtown|central|north|south|east|west|northern|southern|beautiful|sunny)\s+)+", "", text)
    match = _PROPER.match(text)
    if match:
        name = re.sub(r"(?:\s+(?:of|de|la|le|del|el|do|das|am|der|den))+\Z", "", match.group().strip())
        name = re.sub(r"(?:'s)?[.,]*\Z", "", re.sub(r"\A[Tt]he\s+", "", name))
        return name if name[:1].isupper() and name not in ("I", "I'm", "I've") else ""
    first = re.match(r"[\w-]+", text)
    return first.group() if first and first.group().casefold() in PLACES else ""


def names_something(text: str) -> bool:
    """Tell whether a text holds a name or a code, so that it says which one is meant."""
    return re.search(r"\b[A-Z][\w+#.-]*|`|\w_\w|\w-\w*\d|\d", text) is not None or any(
        word.casefold() in SURE_TOOLS for word in re.findall(r"[\w+#.-]+", text)
    )
