"""Draws the statements and relations of one sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memory.consolidation.extraction.clause import Clause, Subject, read_clause, without_closings, without_openings
from memory.consolidation.extraction.drafts import Draft
from memory.consolidation.extraction.endings import both_parted
from memory.consolidation.extraction.english import drafts_of
from memory.consolidation.extraction.gathering import Gathered, Reading
from memory.consolidation.extraction.happenings import when
from memory.consolidation.extraction.names import Mention
from memory.consolidation.extraction.sentences import Sentence, clauses
from memory.consolidation.extraction.special import (
    decisions,
    instructions,
    particulars,
    reminded,
    reminder,
    topics_of,
)
from memory.consolidation.extraction.values import normal, one_of
from memory.consolidation.extraction.voice import possessive, retold, statement
from memory.consolidation.extraction.words.openings import HYPOTHETICAL, REPORTING, TO_SOMEBODY
from memory.consolidation.extraction.words.people import kin_label
from memory.consolidation.extraction.words.verbs import MAKING
from memory.graph.labels import SINGLE_VALUED
from memory.graph.names import canonical
from memory.ports import Claim, ExtractedFact, ExtractedRelation
from memory.text.dates import find_spans

MAX_EVIDENCE: Final = 280
LONGEST_TARGET: Final = 60

_TAIL_END: Final = re.compile(r"\s*(?:\bthough\b|\btoo\b|\bhaha\b|\blol\b|:\)|;\))?\s*[.!…]*\s*\Z")
_COMMAND: Final = re.compile(r"\A(?:please\s+|can\s+you\s+|could\s+you\s+)?([a-z]+)\b", re.IGNORECASE)
_ORDINAL: Final = re.compile(r"(\d)(?:st|nd|rd|th)\b")


def is_command(sentence: str) -> bool:
    """Tell whether a sentence asks for a text, whose contents are no statements."""
    match = _COMMAND.match(sentence)
    return match is not None and match[1].casefold() in MAKING


def draw_statements(gathered: Gathered, reading: Reading, sentence: Sentence, last_person: str) -> None:
    """Draw what one sentence says of people, projects and wishes.

    Args:
        gathered: where it goes.
        reading: the passage.
        sentence: one of its sentences, no question.
        last_person: whom "he" or "she" means there, or empty.
    """
    carried: Subject | None = None
    reported = False
    mentions = reading.named_in(sentence.start, sentence.start + len(sentence.text))
    whole = without_openings(sentence.text)
    parting = both_parted(whole, reading.speaker)
    if parting and not HYPOTHETICAL.search(whole) and not REPORTING.search(whole):
        _keep(gathered, reading, sentence, parting, None, mentions)
    for part in clauses(sentence.text):
        said = without_closings(without_openings(part))
        special = instructions(said, reading.speaker)
        if special:
            _keep(gathered, reading, sentence, special, None, mentions)
            carried = None
            continue
        if HYPOTHETICAL.search(said) or reported:
            return
        reported = REPORTING.search(said) is not None
        wish = reminder(said)
        drafts, clause = _drafts(wish or said, reading, mentions, last_person, carried)
        if wish and not drafts:
            drafts, clause = [reminded(wish, reading.speaker)], None
        carried = clause.subject if clause else None
        if drafts and not (reported and clause is None):
            _keep(gathered, reading, sentence, drafts, clause, mentions)


def _drafts(
    said: str, reading: Reading, mentions: Sequence[Mention], last_person: str, carried: Subject | None
) -> tuple[list[Draft], Clause | None]:
    for read in (decisions, particulars):
        found = read(said, reading.speaker)
        if found:
            return found, None
    clause = read_clause(said, speaker=reading.speaker, mentions=mentions, last_person=last_person, carried=carried)
    if clause is None or TO_SOMEBODY.search(clause.tail):
        return [], clause
    return drafts_of(clause), clause


def _keep(
    gathered: Gathered,
    reading: Reading,
    sentence: Sentence,
    drafts: Sequence[Draft],
    clause: Clause | None,
    mentions: Sequence[Mention],
) -> None:
    subject = clause.subject if clause else reading.speaker
    person = gathered.entity(reading, Mention(subject.entity, "person", 0, 0), importance=0.7)
    if person is None:
        return
    if subject.relation:
        _relate_kin(gathered, reading, sentence, subject)
    for draft in drafts:
        keep_draft(gathered, reading, sentence, draft, person, mentions, clause)


def _relate_kin(gathered: Gathered, reading: Reading, sentence: Sentence, subject: Subject) -> None:
    speaker = gathered.entity(reading, Mention(reading.speaker.entity, "person", 0, 0), importance=0.7)
    if speaker is None:
        return
    unnamed = subject.entity.startswith(f"{possessive(reading.speaker.entity)} ")
    # One whose name is not told must not take the place of one who is known.
    label = f"has_{subject.relation}" if unnamed else kin_label(subject.relation)
    gathered.relation(reading, _relation(reading, sentence, speaker, label, subject.entity, weight=0.8))


def keep_draft(
    gathered: Gathered,
    reading: Reading,
    sentence: Sentence,
    draft: Draft,
    person: str,
    mentions: Sequence[Mention],
    clause: Clause | None,
) -> None:
    """Write a draft out: its statement with its claim, and its relation."""
    text = written(draft, clause, reading.speaker)
    target = _relate(gathered, reading, sentence, draft, person, mentions) if draft.label else None
    if draft.silent or not text:
        return
    names = [name for name in (person, target) if name]
    for mention in mentions:
        if len(names) < 8 and _is_named(mention.name, text) and (name := gathered.entity(reading, mention)):
            names.append(name)
    claim = None
    if draft.claims:
        value = _value(draft, reading)
        if clause and draft.attribute == "allergic_to":
            # "A peanut allergy" and "allergic to peanuts" are one; clauses are English.
            value = one_of(value)
        claim = Claim(
            subject=person, attribute=draft.attribute, value=value, polarity=draft.polarity, single=draft.single
        )
        if target and draft.label.removeprefix("of:") in SINGLE_VALUED and draft.label.startswith("of:"):
            # "Alice is my boss" claims of the speaker what "my boss is Alice" does.
            claim = replace(claim, subject=target, attribute=draft.label[3:], value=normal(person))
    span = when(sentence.text, moment=reading.moment) if draft.attribute in ("lives_in", "works_at") else None
    begins = span.starts_at if span and span.starts_at <= reading.moment else None
    gathered.fact(
        reading,
        ExtractedFact(
            text=text,
            kind=draft.rank.kind,
            category=draft.rank.category,
            importance=draft.rank.importance,
            confidence=draft.confidence,
            entities=tuple(dict.fromkeys(names)),
            topics=topics_of(text),
            occurred_at=reading.moment,
            valid_from=begins if draft.polarity > 0 else None,
            claim=claim,
            evidence=sentence.text[:MAX_EVIDENCE],
            passage=reading.passage.key,
        ),
    )


def written(draft: Draft, clause: Clause | None, speaker: Subject) -> str:
    """Give the statement: the draft's own text, or the clause in the third person."""
    if draft.text or clause is None:
        return draft.text
    tail = draft.tail or _TAIL_END.sub("", clause.tail)
    own = clause.subject.own or bool(clause.subject.relation)
    return statement(clause.subject.said, clause.told, retold(tail, speaker="" if own else speaker.said))


def _value(draft: Draft, reading: Reading) -> str:
    if draft.attribute in ("birthday", "anniversary"):
        spans = find_spans(_ORDINAL.sub(r"\1", draft.value), reference=reading.moment, limit=1)
        if spans:
            day = spans[0].starts_at.astimezone(reading.moment.tzinfo)
            return f"{day:%m-%d}"
    return normal(draft.value)


def _relate(
    gathered: Gathered, reading: Reading, sentence: Sentence, draft: Draft, person: str, mentions: Sequence[Mention]
) -> str | None:
    """Keep the relation of a draft; gives the entity that it leads to."""
    label = draft.label
    if label.startswith("of:"):
        speaker = gathered.entity(reading, Mention(reading.speaker.entity, "person", 0, 0), importance=0.7)
        if speaker:
            of = _relation(reading, sentence, speaker, label[3:], person, weight=0.8, ended=draft.ended)
            gathered.relation(reading, of)
        return speaker
    wanted = normal(draft.target or draft.value)
    meant = next((mention for mention in mentions if normal(mention.name) == wanted), None)
    if meant is None and draft.supposed and draft.target_type != "person":
        # What somebody does not do is no reason to keep that it is there.
        return None
    if meant is None:
        shown = re.sub(
            r"\A(?:to|the|an?|my|our)\s+", "", (draft.target or draft.value).strip(" .\"'"), flags=re.IGNORECASE
        )
        if not shown or len(shown.split()) > 4 or len(shown) > LONGEST_TARGET:
            return None
        if draft.target_type == "organization" and not shown[0].isupper():
            return None
        meant = Mention(shown, draft.target_type, 0, 0, confidence=0.8)
    elif draft.target_type in ("organization", "person") and meant.type == "concept":
        meant = Mention(meant.name, draft.target_type, meant.start, meant.end)
    target = gathered.entity(reading, meant)
    if target is None or canonical(target) == canonical(person):
        return None
    weight = 0.0 if draft.supposed else 0.7
    relation = _relation(
        reading, sentence, person, label, target, weight=weight, ended=draft.ended, confidence=draft.confidence
    )
    gathered.relation(reading, relation)
    return target


def _relation(
    reading: Reading,
    sentence: Sentence,
    source: str,
    label: str,
    target: str,
    *,
    weight: float,
    ended: bool = False,
    confidence: float = 0.9,
) -> ExtractedRelation:
    span = when(sentence.text, moment=reading.moment) if label in ("lives_in", "works_at") else None
    at = span.starts_at if span and span.starts_at <= reading.moment else None
    return ExtractedRelation(
        source=source,
        label=label,
        target=target,
        weight=weight,
        confidence=confidence,
        valid_from=None if ended else at or reading.moment,
        valid_until=(at or reading.moment) if ended else None,
        ended=ended,
        evidence=sentence.text[:MAX_EVIDENCE],
        passage=reading.passage.key,
    )


def kin_statement(speaker: Subject, name: str, kind: str) -> str:
    """Say who somebody of the circle is."""
    return statement(f"{possessive(speaker.said)} {kind} is called {name}")


def _is_named(name: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None
