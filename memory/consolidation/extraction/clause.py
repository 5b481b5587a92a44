"""Reads a clause: who it is about, what verb it has, and what follows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from memory.consolidation.extraction.contractions import verb_of, written_out
from memory.consolidation.extraction.names import Mention
from memory.consolidation.extraction.voice import possessive, third_person
from memory.consolidation.extraction.words.openings import ADVERBS, CLOSING, OPENING, UNSURE
from memory.consolidation.extraction.words.people import RELATIVES
from memory.consolidation.extraction.words.verbs import FORMS

MAX_OPENINGS: Final = 4

_FIRST: Final = re.compile(r"\A(I|we)\s+(.*)\Z", re.IGNORECASE | re.DOTALL)
_PRONOUN: Final = re.compile(r"\A(he|she)\s+(.*)\Z", re.IGNORECASE | re.DOTALL)
_RELATIVE: Final = re.compile(
    r"\A(my|our)\s+((?:older|younger|elder|big|little|twin|best|old|dear|eldest|youngest|oldest|late|new|good)\s+)?"
    rf"({'|'.join(sorted(RELATIVES, key=len, reverse=True))})\b(?!')"
    r"(?:,?\s+((?-i:[A-Z])[\w-]+(?:\s(?-i:[A-Z])[\w-]+)?),?)?\s+(.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_NEGATED: Final = re.compile(
    r"\A(don't|do not|doesn't|does not|didn't|did not|no longer|never|cannot|can't|can not|couldn't|"
    r"am not|is not|isn't|"
    r"are not|aren't|was not|wasn't|have not|haven't|has not|hasn't|have never|has never)\s+(.*)\Z",
    re.IGNORECASE | re.DOTALL,
)
_WORD: Final = re.compile(r"\A([\w'-]+)\s*(.*)\Z", re.DOTALL)
_NO_LONGER: Final = re.compile(r"no\s+longer\s+(.+)\Z", re.IGNORECASE | re.DOTALL)
_ANY_MORE: Final = re.compile(r"\b(?:anymore|any more|any longer)\b", re.IGNORECASE)
_THIRD_FORMS: Final = frozenset(
    [
        "loves",
        "likes",
        "enjoys",
        "adores",
        "prefers",
        "hates",
        "dislikes",
        "detests",
        "lives",
        "works",
        "owns",
        "uses",
        "speaks",
        "plays",
        "studies",
        "drives",
        "collects",
        "teaches",
        "wants",
        "needs",
        "moved",
        "eats",
        "drinks",
        "is",
        "has",
        "can't",
    ]
)


@dataclass(frozen=True, slots=True)
class Subject:
    """Whom a clause is about.

    Attributes:
        said: how the statement names him, for example "Ana", "Ana and others", "Ana's sister Jule".
        entity: the name of his entity.
        plural: his verb has the plural form.
        relation: how he is related to the speaker, where the clause says so.
        own: he is the speaker, alone or with others.
    """

    said: str
    entity: str
    plural: bool = False
    relation: str = ""
    own: bool = False


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause in its parts.

    Attributes:
        subject: whom it is about.
        verb: the verb's base form.
        tense: `present`, `past`, `going` (progressive), `perfect` or `former` ("used to").
        negated: it says that something is not so.
        ended: it says that something is so no longer.
        told: the verb with its adverbs as it goes with the subject told in the third person.
        tail: what follows the verb, as written.
        unsure: the speaker does not vouch for it.
    """

    subject: Subject
    verb: str
    tense: str
    told: str
    tail: str
    negated: bool = False
    ended: bool = False
    unsure: bool = False


def without_openings(text: str) -> str:
    """Take off what only leads to the statement: "Yeah, Maria, by the way, I live here"."""
    for _ in range(MAX_OPENINGS):
        match = OPENING.match(text)
        if match is None or match.end() == len(text):
            break
        text = text[match.end() :]
    return text


def without_closings(text: str) -> str:
    """Take off what only ends the statement: "I live here, you know"."""
    return CLOSING.sub("", text) or text


def read_clause(
    text: str, *, speaker: Subject, mentions: Sequence[Mention], last_person: str, carried: Subject | None
) -> Clause | None:
    """Read a clause without its openings.

    Args:
        text: the clause.
        speaker: who speaks.
        mentions: what the passage names; a person who opens the clause is its subject.
        last_person: whom "he" or "she" means, or empty.
        carried: the subject of the clause before, for "and work at Acme".

    Returns:
        Its parts, or None when it is not about a person who is known.
    """
    found = _subject(written_out(text), speaker, mentions, last_person, carried)
    if found is None:
        return None
    subject, rest = found
    return _verb(subject, rest)


def _subject(
    text: str, speaker: Subject, mentions: Sequence[Mention], last_person: str, carried: Subject | None
) -> tuple[Subject, str] | None:
    first = _FIRST.match(text)
    if first:
        plural = first[1].casefold() == "we"
        return replace(speaker, said=f"{speaker.said} and others", plural=True) if plural else speaker, first[2]
    relative = _RELATIVE.match(text)
    if relative:
        return _relative(relative, speaker)
    pronoun = _PRONOUN.match(text)
    if pronoun:
        return (Subject(last_person, last_person), pronoun[2]) if last_person else None
    for mention in mentions:
        if mention.type == "person" and text.startswith(mention.name) and not text[len(mention.name) :][:1].isalnum():
            rest = text[len(mention.name) :]
            if rest.startswith("'s ") and (verb := verb_of(rest[3:])):
                rest = f" {verb}{rest[2:]}"
            return (Subject(mention.name, mention.name), rest.strip()) if rest.startswith(" ") else None
    word = _WORD.match(text)
    if word and word[1].casefold() in _THIRD_FORMS and word[1] != "is":
        return carried or speaker, text
    if carried and word and word[1].casefold() in FORMS:
        return carried, text
    return None


def _relative(match: re.Match[str], speaker: Subject) -> tuple[Subject, str] | None:
    word = match[3].casefold()
    kind = RELATIVES[word]
    described = " ".join(part.strip() for part in (match[2] or "", match[3]) if part).casefold()
    name = (match[4] or "").strip()
    if name.casefold() in FORMS:
        return None
    said = f"{possessive(speaker.said)} {described}" + (f" {name}" if name else "")
    entity = name or f"{possessive(speaker.entity)} {word}"
    former = kind == "boss" and (match[2] or "").strip().casefold() in ("old", "late")
    return Subject(said, entity, relation="" if former else kind), match[5]


def _verb(subject: Subject, rest: str) -> Clause | None:
    adverbs, rest, unsure = _adverbs(rest)
    if rest.casefold().startswith("used to "):
        word = _WORD.match(rest[8:])
        known = FORMS.get(word[1].casefold()) if word else None
        return (
            Clause(subject, known[0], "former", f"{adverbs}used to {word[1]}", word[2], ended=True)
            if known and word
            else None
        )
    negated = _NEGATED.match(rest)
    if negated:
        return _negative(subject, adverbs, negated, unsure)
    return _positive(subject, adverbs, rest, unsure)


def _adverbs(rest: str) -> tuple[str, str, bool]:
    """Take the adverbs off the front: the adverbs with a space after them, what remains, and whether they doubt."""
    taken: list[str] = []
    while len(taken) < 4:
        word = _WORD.match(rest)
        if word is None or word[1].casefold() not in ADVERBS or not word[2]:
            break
        taken.append(word[1].casefold())
        rest = word[2]
    return "".join(f"{word} " for word in taken), rest, not UNSURE.isdisjoint(taken)


def _positive(subject: Subject, adverbs: str, rest: str, unsure: bool) -> Clause | None:
    word = _WORD.match(rest)
    known = FORMS.get(word[1].casefold()) if word else None
    if word is None or known is None:
        return None
    base, tense = known
    form, tail = word[1].casefold(), word[2]
    if base in ("be", "have") and tense == "present":
        further = _after_auxiliary(base, tail)
        if further is not None:
            base_further, tense_further, told, tail = further
            helper = third_person(base) if not subject.plural else ("are" if base == "be" else "have")
            return Clause(subject, base_further, tense_further, f"{adverbs}{helper} {told}", tail, unsure=unsure)
    if base == "be" and tense == "present":
        told = "are" if subject.plural else "is"
    elif tense == "present" and not subject.plural:
        told = third_person(base)
    else:
        told = {"were": "was"}.get(form, form) if not subject.plural else form
    if base == "be" and tense == "present" and (gone := _NO_LONGER.match(tail)):
        return _over(subject, f"{adverbs}{told} no longer", gone[1], unsure)
    if base == "be":
        more, tail, doubt = _adverbs(tail)
        told, unsure = f"{told} {more}".strip(), unsure or doubt
    return Clause(subject, base, tense, f"{adverbs}{told}", tail, unsure=unsure)


def _after_auxiliary(base: str, tail: str) -> tuple[str, str, str, str] | None:
    """Read "am learning", "have loved", "have been living"."""
    adverbs, rest, _ = _adverbs(tail)
    word = _WORD.match(rest)
    if word is None:
        return None
    form = word[1].casefold()
    if base == "have" and form == "been":
        following = _WORD.match(word[2])
        known = FORMS.get(following[1].casefold()) if following else None
        if following and known and known[1] == "going":
            return known[0], "perfect", f"{adverbs}been {following[1]}", following[2]
        return "be", "perfect", f"{adverbs}been", word[2]
    if base == "have" and form == "got":
        return "have", "present", f"{adverbs}got", word[2]
    known = FORMS.get(form)
    if known and known[1] == "going" and base == "be":
        return known[0], "going", f"{adverbs}{form}", word[2]
    if known and known[1] == "past" and base == "have":
        return known[0], "perfect", f"{adverbs}{form}", word[2]
    return None


def _over(subject: Subject, told: str, tail: str, unsure: bool) -> Clause:
    """Read what follows "is no longer": a trade, a place, or what somebody was doing."""
    word = _WORD.match(tail)
    base, tense = FORMS.get(word[1].casefold(), ("", "")) if word else ("", "")
    if word and tense == "going":
        return Clause(subject, base, tense, f"{told} {word[1]}", word[2], True, True, unsure)
    return Clause(subject, "be", "present", told, tail, True, True, unsure)


def _negative(subject: Subject, adverbs: str, match: re.Match[str], unsure: bool) -> Clause | None:
    denial = match[1].casefold()
    more, rest, doubt = _adverbs(match[2])
    if denial in ("cannot", "can't", "can not", "couldn't"):
        stand = re.match(r"(stand|bear)\s+(.*)\Z", rest, re.IGNORECASE | re.DOTALL)
        eaten = re.match(r"(eat|drink|have)\s+(.*)\Z", rest, re.IGNORECASE | re.DOTALL)
        if stand:
            return Clause(subject, "hate", "present", f"{adverbs}{denial} {more}{stand[1]}", stand[2], unsure=unsure)
        if eaten and denial != "couldn't" and eaten[1].casefold() != "have":
            told = f"{adverbs}{denial} {more}{eaten[1]}"
            return Clause(subject, eaten[1].casefold(), "present", told, eaten[2], negated=True, unsure=unsure)
        return None
    if denial.partition(" ")[0] in ("am", "is", "isn't", "are", "aren't"):
        told = f"{adverbs}{'are' if subject.plural else 'is'} not"
        if _ANY_MORE.search(rest):
            return _over(subject, told, f"{more}{rest}", unsure or doubt)
        return Clause(subject, "be", "present", told, f"{more}{rest}", True, False, unsure or doubt)
    word = _WORD.match(rest)
    known = FORMS.get(word[1].casefold()) if word else None
    if word is None or known is None or denial.startswith(("was", "ha", "did")):
        return None
    ended = denial == "no longer" or _ANY_MORE.search(word[2]) is not None
    verb = word[1].casefold()
    if denial in ("no longer", "never"):
        told = f"{denial} {more}{third_person(known[0]) if not subject.plural else verb}"
    else:
        told = f"{'do not' if subject.plural else 'does not'} {more}{known[0]}"
    return Clause(
        subject, known[0], known[1], f"{adverbs}{told}", word[2], negated=True, ended=ended, unsure=unsure or doubt
    )
