"""The extractor that works by rules: no model, no network, the same result each time."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Final, NamedTuple

from memory.consolidation.extraction.answers import MAX_BEFORE, completed
from memory.consolidation.extraction.causes import causal_link
from memory.consolidation.extraction.drafts import Draft
from memory.consolidation.extraction.foreign import foreign_drafts
from memory.consolidation.extraction.gathering import Gathered, Reading, speaker_of
from memory.consolidation.extraction.guesses import settle_guesses
from memory.consolidation.extraction.happenings import happening
from memory.consolidation.extraction.names import Mention, find_mentions
from memory.consolidation.extraction.relatives import draw_circle
from memory.consolidation.extraction.runs import inner_capitals
from memory.consolidation.extraction.sentences import MAX_CHARACTERS, Sentence, readable, sentences
from memory.consolidation.extraction.special import findings, remembered, slash_command
from memory.consolidation.extraction.statements import draw_statements, is_command, keep_draft
from memory.ports import Extract, ExtractedCause, ExtractedEvent, ExtractedRelation, Passage
from memory.text.languages import possible_languages

SILENT_ROLES: Final = frozenset({"system", "tool"})
MAX_PARTICIPANTS: Final = 6
PAIR_WEIGHT: Final = 0.2
MOST_IN_SENTENCE: Final = 5
"""Names of one sentence that are paired with each other."""


class Known(NamedTuple):
    """What the texts of one call tell of names, in small letters: who speaks, and what has a capital in a sentence."""

    people: set[str]
    inside: set[str]


class RulesExtractor:
    """Draws entities, relations, statements, events and causes from texts by rules.

    What people say of themselves and of those around them is told in the third person, with a claim in normal form
    where one can be told; questions, conditions, reported speech and what is said to somebody give nothing. English is
    read most fully, German, French, Spanish, Portuguese, Italian and Dutch by their commonest phrases; of other
    languages the names are found.

    A turn of an assistant gives what it names and at most one finding; one of a system or a tool gives nothing.
    """

    name = "rules"
    prompts = False

    def extract(self, passages: Sequence[Passage]) -> Extract:
        """Draw from passages; costs about 1 ms for a turn of conversation and is linear in what is read.

        Args:
            passages: with different keys, of one scope; 20,000 characters of each are read, the rest is counted in
                `left_out` as `extraction.characters`.
        """
        gathered = Gathered()
        readings = self._readings(passages, gathered)
        for reading in readings:
            draw(gathered, reading)
        mentions = [mention for reading in readings for mention in reading.mentions]
        speakers = {reading.speaker.entity for reading in readings}
        return settle_guesses(gathered.extract(), mentions=mentions, speakers=speakers)

    def _readings(self, passages: Sequence[Passage], gathered: Gathered) -> list[Reading]:
        heard = [passage for passage in passages if passage.role not in SILENT_ROLES]
        texts = [readable(passage.text, speaker=passage.speaker) for passage in heard]
        spoken = [sentences(text) for text in texts]
        people = {word for passage in heard for word in (passage.speaker or "").casefold().split()}
        inside = set[str]().union(*(inner_capitals(text, said) for text, said in zip(texts, spoken, strict=True)))
        known = Known(people, inside)
        for passage in heard:
            if len(passage.text) > MAX_CHARACTERS:
                gathered.left_out["extraction.characters"] += len(passage.text) - MAX_CHARACTERS
        return [
            Reading(
                passage=passage,
                text=text,
                sentences=said,
                mentions=named,
                speaker=speaker_of(passage),
                moment=passage.occurred_at,
            )
            for passage, text, said, named in zip(heard, texts, spoken, self.named(texts, spoken, known), strict=True)
        ]

    def named(self, texts: Sequence[str], spoken: Sequence[list[Sentence]], known: Known) -> list[list[Mention]]:
        """List what each text names, in order.

        Args:
            texts: the parts that are read.
            spoken: their sentences.
            known: what is known of names from all of them.
        """
        return [
            find_mentions(text, said, people=known.people, inside=known.inside)
            for text, said in zip(texts, spoken, strict=True)
        ]


def draw(gathered: Gathered, reading: Reading) -> None:
    """Draw all that one passage gives."""
    command = slash_command(reading.passage.text)
    if command is not None:
        if command and reading.passage.role != "assistant":
            _keep_own(gathered, reading, remembered(command))
        return
    if reading.passage.role == "assistant":
        found = findings(reading.text, [sentence.text for sentence in reading.sentences])
        for draft in found:
            _keep_own(gathered, reading, draft)
    else:
        draw_circle(gathered, reading)
        _draw_said(gathered, reading)
    for mention in reading.mentions:
        gathered.entity(reading, mention)
    _pair(gathered, reading)


def _whole(reading: Reading) -> Sentence:
    return reading.sentences[0] if reading.sentences else Sentence(reading.text.strip(), 0, False)


def _keep_own(gathered: Gathered, reading: Reading, draft: Draft) -> None:
    """Keep a statement that is no clause of anybody's."""
    person = reading.speaker.entity
    names = [name for mention in reading.mentions[:8] if (name := gathered.entity(reading, mention))]
    if reading.passage.role != "assistant":
        name = gathered.entity(reading, Mention(person, "person", 0, 0), importance=0.7)
    else:
        name = names[0] if names else None
    keep_draft(gathered, reading, _whole(reading), draft, name or "", reading.mentions[:8], None)


def _draw_said(gathered: Gathered, reading: Reading) -> None:
    before = ""
    last_person = ""
    languages = possible_languages(reading.text)
    foreign = tuple(name for name in languages if name != "english")
    given = completed(reading.text, readable(reading.passage.before[-MAX_BEFORE:])) if reading.passage.before else None
    if given:
        draw_statements(gathered, reading, Sentence(given, 0, False), "")
    for sentence in reading.sentences:
        if is_command(sentence.text):
            if sentence.text.endswith(":"):
                return
        elif not sentence.asks:
            draw_statements(gathered, reading, sentence, last_person)
            _draw_foreign(gathered, reading, sentence, foreign)
            _draw_event(gathered, reading, sentence)
            _draw_cause(gathered, reading, sentence, before)
        before = "" if sentence.asks else sentence.text
        last_person = _last_person(reading, sentence)


def _last_person(reading: Reading, sentence: Sentence) -> str:
    """Give the only person whom a sentence names, for "she" and "he" in the next one."""
    named = {
        mention.name
        for mention in reading.named_in(sentence.start, sentence.start + len(sentence.text))
        if mention.type == "person"
    }
    return named.pop() if len(named) == 1 and not sentence.asks else ""


def _draw_foreign(gathered: Gathered, reading: Reading, sentence: Sentence, languages: tuple[str, ...]) -> None:
    if not languages:
        return
    mentions = reading.named_in(sentence.start, sentence.start + len(sentence.text))
    for draft in foreign_drafts(sentence.text, languages, reading.speaker):
        person = gathered.entity(reading, Mention(reading.speaker.entity, "person", 0, 0), importance=0.7)
        if person:
            keep_draft(gathered, reading, sentence, draft, person, mentions, None)


def _participants(gathered: Gathered, reading: Reading, sentence: Sentence, told: str) -> tuple[str, ...]:
    names: list[str] = []
    if reading.speaker.said in told:
        speaker = gathered.entity(reading, Mention(reading.speaker.entity, "person", 0, 0), importance=0.7)
        names += [speaker] if speaker else []
    for mention in reading.named_in(sentence.start, sentence.start + len(sentence.text)):
        name = gathered.entity(reading, mention)
        if name and name not in names:
            names.append(name)
    return tuple(names[:MAX_PARTICIPANTS])


def _draw_event(gathered: Gathered, reading: Reading, sentence: Sentence) -> None:
    found = happening(sentence.text, speaker=reading.speaker, moment=reading.moment)
    if found is None:
        return
    told, at, confidence = found
    gathered.event(
        reading,
        ExtractedEvent(
            text=told,
            occurred_at=at,
            participants=_participants(gathered, reading, sentence, told),
            confidence=confidence,
            passage=reading.passage.key,
        ),
    )


def _draw_cause(gathered: Gathered, reading: Reading, sentence: Sentence, before: str) -> None:
    link = causal_link(sentence.text, before=before, speaker=reading.speaker)
    if link is None:
        return
    gathered.cause(
        reading,
        ExtractedCause(
            cause=link.cause,
            effect=link.effect,
            cause_entity=_about(gathered, reading, link.cause, link.cause_said),
            effect_entity=_about(gathered, reading, link.effect, link.effect_said),
            confidence=0.8,
            passage=reading.passage.key,
        ),
    )


def _about(gathered: Gathered, reading: Reading, told: str, said: str) -> str | None:
    """Give the entity that one side of a cause is about: the first one named, else the speaker."""
    for mention in reading.mentions:
        if mention.name in said:
            return gathered.entity(reading, mention)
    if reading.speaker.said in told:
        return gathered.entity(reading, Mention(reading.speaker.entity, "person", 0, 0), importance=0.7)
    return None


def _pair(gathered: Gathered, reading: Reading) -> None:
    """Relate weakly what one sentence names together."""
    for sentence in reading.sentences:
        named: dict[str, None] = {}
        for mention in reading.named_in(sentence.start, sentence.start + len(sentence.text)):
            known = gathered.known(mention.name)
            if known:
                named[known[0]] = None
        for source, target in combinations(list(named)[:MOST_IN_SENTENCE], 2):
            relation = ExtractedRelation(
                source=source,
                label="mentioned_with",
                target=target,
                weight=PAIR_WEIGHT,
                confidence=0.7,
                evidence=sentence.text[:280],
                passage=reading.passage.key,
            )
            gathered.relation(reading, relation, weak=True)
