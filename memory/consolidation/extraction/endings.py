"""What clauses say that is over: "I stopped playing the cello", "I gave up smoking", "I'm divorced from Tom"."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from memory.consolidation.extraction.clause import Clause, Subject
from memory.consolidation.extraction.drafts import LEARNING, LIKING, RELATED, Draft
from memory.consolidation.extraction.values import is_vague, trimmed
from memory.consolidation.extraction.voice import statement
from memory.consolidation.extraction.words.people import PARTNERS, RELATIVES, kin_label
from memory.consolidation.extraction.words.themes import TOPICS
from memory.consolidation.extraction.words.verbs import FORMS

PARTED: Final = tuple(sorted({kin_label(kind) for kind in PARTNERS}))
"""Labels of which one ends when two part; which of them holds is not told."""

LABELS: Final = {
    "plays": "plays", "speaks": "speaks", "owns": "owns", "collects": "collects", "teaches": "teaches",
    "uses": "uses", "learns": "studies", "lives_in": "lives_in", "works_at": "works_at",
}  # fmt: skip
"""Attributes whose relation ends when somebody says that they are so no longer, with its label."""

_VERB: Final = re.compile(r"(?:up\s+)?([a-z]+ing)\b\s*(.*)\Z", re.IGNORECASE | re.DOTALL)
_THING: Final = re.compile(r"(?:up\s+)?(?:(?:the|my)\s+)?(.+)\Z", re.IGNORECASE | re.DOTALL)
_FOR_NOW: Final = re.compile(
    r"\b(?:for\s+(?:now|today|an?\s+(?:while|moment|minute|bit|day|week|month|few|couple)|the\s+(?:day|night|moment))|"
    r"today|tonight|yesterday|when|while|until)\b",
    re.IGNORECASE,
)
_HABITS: Final = frozenset({"smoking", "vaping", "drinking", "gambling"})
_PLAYED: Final = frozenset({"sport", "music", "games", "art"})
_EATEN: Final = frozenset(
    {"meat", "sugar", "alcohol", "coffee", "dairy", "gluten", "wheat", "fish", "wine", "beer", "caffeine", "tea"}
)
_NAME: Final = r"(?P<name>(?-i:[A-Z])[\w-]+(?:\s(?-i:[A-Z])[\w-]+)?)"
_KIND: Final = rf"(?:(?:my|our)\s+(?P<kind>{'|'.join(sorted(RELATIVES, key=len, reverse=True))}),?\s+)?"
_END: Final = (
    r"(?=\s*(?:\Z|[,.!;]|and\b|in\b|last\b|after\b|because\b|\w+\s+ago\b|two\b|three\b|this\b|again\b|at\b|on\b))"
)
_PARTED_WITH: Final = re.compile(rf"(?:up\s+with|from|with)\s+{_KIND}{_NAME}{_END}")
_DIVORCED: Final = re.compile(
    rf"(?:(?:now|finally|recently|officially|legally)\s+)?(?P<how>divorced|separated)\s+from\s+{_KIND}{_NAME}{_END}"
)
_OBJECT: Final = re.compile(rf"{_KIND}{_NAME}{_END}")
_PARTING: Final = re.compile(r"\b(?:(?:broke|broken|split)\s+up|divorced|separated|parted\s+ways)\b", re.IGNORECASE)
_BOTH: Final = re.compile(
    rf"\A{_KIND}{_NAME}\s+and\s+I\s+(?:have\s+|just\s+|finally\s+|recently\s+|are\s+|were\s+|got\s+|get\s+)*"
    r"(?P<how>broke\s+up|broken\s+up|split\s+up|separated|divorced|parted\s+ways)\b",
    re.IGNORECASE,
)


def stopped(clause: Clause) -> Clause | Draft | None:
    """Read what somebody stopped, quit or gave up.

    Args:
        clause: with one of these verbs.

    Returns:
        What is so no longer as a clause of its verb, which tells the end in the words that were said, or as a draft;
        None where it is over for a while only, or cannot be told.
    """
    tail = clause.tail
    if clause.tense not in ("past", "perfect") or clause.negated or _FOR_NOW.search(tail):
        return None
    if clause.verb == "give" and not re.match(r"up\s+(?!on\b)", tail, re.IGNORECASE):
        return None
    verb = _VERB.match(tail)
    if verb is None:
        thing = _THING.match(tail)
        return _thing(trimmed(thing[1])) if thing and clause.verb != "stop" else None
    form, rest = verb[1].casefold(), verb[2]
    base, tense = FORMS.get(form, ("", ""))
    if tense == "going" and rest:
        return replace(clause, verb=base, tense="present", tail=rest, negated=True, ended=True)
    if form in _HABITS:
        return Draft(LIKING._replace(importance=0.7), "does", form, -1)
    known = TOPICS.get(form)
    return _played(known[0]) if known and known[1] in _PLAYED else None


def parted(clause: Clause) -> list[Draft]:
    """Read from whom somebody parted: "I broke up with Nina", "I divorced Tom", "She's divorced from Tom"."""
    if clause.negated:
        return []
    if clause.verb in ("be", "get"):
        match = _DIVORCED.match(clause.tail)
        if match is None or clause.tense == "former":
            return []
        married = match["how"].casefold() == "divorced"
        found = _parting(match["kind"], match["name"], married=married)
        status = Draft(RELATED, "status", match["how"].casefold(), single=True)
        return [*found, status.but(text=statement(f"{clause.subject.said} is {match['how'].casefold()}"))]
    if clause.tense not in ("past", "perfect"):
        return []
    match = (_OBJECT if clause.verb == "divorce" else _PARTED_WITH).match(clause.tail)
    return _parting(match["kind"], match["name"], married=clause.verb == "divorce") if match else []


def tells_parting(sentence: str) -> bool:
    """Tell whether a sentence says that people parted, so that whom it calls a partner is one no longer."""
    return _PARTING.search(sentence) is not None


def both_parted(said: str, speaker: Subject) -> list[Draft]:
    """Read "Nina and I broke up" as a statement about the one who says it."""
    match = _BOTH.match(said)
    if match is None:
        return []
    how = " ".join(match["how"].casefold().split()).replace("broken", "broke")
    text = statement(f"{match['name']} and {speaker.said} {how}")
    return [draft.but(text=text) for draft in _parting(match["kind"], match["name"], married=how == "divorced")]


def over(clause: Clause, draft: Draft) -> Draft:
    """Let a denial end the relation: one that was there, or whichever stands where nothing is said of an end."""
    label = LABELS.get(draft.attribute, "")
    if draft.polarity > 0 or draft.label or not label:
        return draft
    return draft.but(label=label, ended=True, supposed=not clause.ended)


def _parting(kind: str | None, name: str, *, married: bool) -> list[Draft]:
    label = kin_label(RELATIVES[kind.casefold()]) if kind else "married_to" if married else ""
    if label and label not in PARTED:
        return []
    first = Draft(RELATED, label or "has_partner", name, -1, label=label or "has_partner", ended=True)
    first = first.but(target=name, target_type="person")
    # Who parted may have been told under another of these; no more than what stands ends.
    others = [first.but(label=other, silent=True, supposed=True) for other in PARTED if other != first.label]
    return [first if label else first.but(supposed=True), *([] if label and not married else others)]


def _thing(value: str) -> Draft | None:
    known = TOPICS.get(value.casefold())
    if value.casefold() in _EATEN:
        return Draft(LIKING._replace(importance=0.7), "does", value, -1)
    return _played(known[0]) if known and known[1] in _PLAYED and not is_vague(value) else None


def _played(value: str) -> Draft:
    return Draft(LEARNING, "plays", value, -1, label="plays", target_type="topic", ended=True)
