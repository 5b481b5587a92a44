"""Draws the people and animals of somebody's circle, with their statements and relations."""

from __future__ import annotations

from memory.consolidation.extraction.circle import GROWN, Namesake, circle, namesakes
from memory.consolidation.extraction.drafts import RELATED, Draft
from memory.consolidation.extraction.endings import PARTED, tells_parting
from memory.consolidation.extraction.gathering import Gathered, Reading
from memory.consolidation.extraction.names import Mention
from memory.consolidation.extraction.sentences import Sentence
from memory.consolidation.extraction.statements import keep_draft, kin_statement
from memory.consolidation.extraction.voice import possessive, statement
from memory.consolidation.extraction.words.people import kin_label
from memory.graph.labels import SINGLE_VALUED


def draw_circle(gathered: Gathered, reading: Reading) -> None:
    """Draw who belongs to the speaker, and who is said to bear another's name, from what one passage says."""
    for sentence in reading.sentences:
        if sentence.asks:
            continue
        for namesake in namesakes(sentence.text):
            _draw_namesake(gathered, reading, sentence, namesake)
        for kin in circle(sentence.text):
            start = sentence.start + kin.start
            _mark(reading, kin.name, kin.kind, kin.is_pet, start, sentence.start + kin.end)
            person = gathered.entity(reading, Mention(reading.speaker.entity, "person", 0, 0), importance=0.7)
            kind = "concept" if kin.is_pet else "person"
            mention = Mention(kin.name, kind, start, start + len(kin.name), kin.kind if kin.is_pet else "")
            if person is None or gathered.entity(reading, mention, importance=0.6) is None:
                continue
            if kin.label in PARTED and tells_parting(sentence.text):
                continue
            text = kin_statement(reading.speaker, kin.name, kin.kind)
            single = kin.label in SINGLE_VALUED
            # A dog and a cat may bear one name.
            value = f"{GROWN.get(kin.kind, kin.kind)} {kin.name}" if kin.is_pet else kin.name
            draft = Draft(
                RELATED,
                kin.label,
                value,
                single=single,
                label=kin.label,
                target=kin.name,
                target_type=kind,
                text=text,
            )
            keep_draft(gathered, reading, sentence, draft, person, [mention], None)


def _mark(reading: Reading, name: str, kind: str, is_pet: bool, start: int, end: int) -> None:
    """Put what is now known of a name in the place of what was guessed."""
    sure = Mention(name, "concept" if is_pet else "person", start, end, kind if is_pet else "")
    reading.mentions = [
        sure if mention.name == name or (mention.start == start and mention.type != "url") else mention
        for mention in reading.mentions
    ]


def _draw_namesake(gathered: Gathered, reading: Reading, sentence: Sentence, namesake: Namesake) -> None:
    """Keep somebody who bears the name of another under whose he is, so that the two are not one."""
    whose = namesake.whose or reading.speaker.entity
    person = gathered.entity(reading, Mention(whose, "person", 0, 0), importance=0.6)
    name = f"{possessive(whose)} {namesake.kind} {namesake.name}"
    start = sentence.start + namesake.start
    _mark(reading, name, namesake.kind, False, start, sentence.start + namesake.end)
    mention = Mention(name, "person", start, sentence.start + namesake.end)
    if person is None or gathered.entity(reading, mention, importance=0.6) is None:
        return
    said = namesake.whose or reading.speaker.said
    text = statement(f"{possessive(said)} {namesake.kind} is also called {namesake.name}")
    label = kin_label(namesake.kind)
    draft = Draft(RELATED, label, namesake.name, label=label, target=name, target_type="person", text=text)
    keep_draft(gathered, reading, sentence, draft.but(single=label in SINGLE_VALUED), person, [mention], None)
