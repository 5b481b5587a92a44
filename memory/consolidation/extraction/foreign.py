"""Reads the commonest statements of languages other than English, by their cues."""

from __future__ import annotations

from typing import Final

from memory.consolidation.extraction.clause import Subject
from memory.consolidation.extraction.drafts import HEALTH, IDENTITY, LIKING, PLACE, TRADE, TRAIT, Draft, Rank
from memory.consolidation.extraction.gathering import USER
from memory.consolidation.extraction.voice import statement
from memory.consolidation.extraction.words.cues import Cue, Language
from memory.consolidation.extraction.words.dutch import DUTCH
from memory.consolidation.extraction.words.french import FRENCH
from memory.consolidation.extraction.words.german import GERMAN
from memory.consolidation.extraction.words.italian import ITALIAN
from memory.consolidation.extraction.words.portuguese import PORTUGUESE
from memory.consolidation.extraction.words.spanish import SPANISH

LANGUAGES: Final[dict[str, Language]] = {
    one.language: one for one in (GERMAN, FRENCH, SPANISH, PORTUGUESE, ITALIAN, DUTCH)
}
MOST_WORDS: Final = 6

# Of each attribute: how it ranks, whether it has one value, the relation's label and the type of what it leads to.
_KINDS: Final[dict[str, tuple[Rank, bool, str, str]]] = {
    "likes": (LIKING, False, "likes", "topic"),
    "lives_in": (PLACE, True, "lives_in", "concept"),
    "works_at": (TRADE, True, "works_at", "organization"),
    "job": (TRADE, True, "", "concept"),
    "named": (IDENTITY, True, "", "person"),
    "birthday": (IDENTITY._replace(importance=0.8), True, "", "concept"),
    "age": (TRAIT, True, "", "concept"),
    "allergic_to": (HEALTH, False, "allergic_to", "topic"),
    "speaks": (TRAIT, False, "speaks", "topic"),
}
_PROPER: Final = frozenset({"lives_in", "works_at", "named"})
_POINTING: Final = frozenset(
    [
        "es",
        "das",
        "dies",
        "diese",
        "dieser",
        "dieses",
        "dich",
        "euch",
        "ihn",
        "sie",
        "alles",
        "wie",
        "was",
        "deine",
        "dein",
        "ça",
        "cela",
        "ce",
        "cette",
        "ces",
        "tout",
        "ton",
        "ta",
        "tes",
        "toi",
        "te",
        "comment",
        "esto",
        "eso",
        "esta",
        "este",
        "todo",
        "tu",
        "tus",
        "ti",
        "cómo",
        "que",
        "isto",
        "isso",
        "este",
        "esta",
        "tudo",
        "teu",
        "tua",
        "questo",
        "questa",
        "quello",
        "tutto",
        "tuo",
        "tua",
        "come",
        "dit",
        "dat",
        "deze",
        "die",
        "alles",
        "jou",
        "jouw",
        "hoe",
        "het",
    ]
)


def foreign_drafts(sentence: str, names: tuple[str, ...], speaker: Subject) -> list[Draft]:
    """Read a sentence by the cues of the languages that it may be in.

    Args:
        sentence: no question.
        names: its languages as `memory.text.languages` calls them; those without cues give nothing.
        speaker: who speaks.
    """
    for name in names:
        known = LANGUAGES.get(name)
        found = _read(known, sentence, speaker) if known else []
        if found:
            return found
    return []


def _read(known: Language, sentence: str, speaker: Subject) -> list[Draft]:
    said = known.openings.sub("", sentence.strip()).rstrip(" .!…")
    if known.not_meant.match(said):
        return []
    said = known.cut.sub("", said)
    for cue in known.cues:
        match = cue.said.match(said)
        if match:
            return _draft(known, cue, match["v"].strip(" .,!\"'"), speaker)
    return []


def _draft(known: Language, cue: Cue, value: str, speaker: Subject) -> list[Draft]:
    words = value.split()
    if not words or len(words) > MOST_WORDS or words[0].casefold().strip("'") in _POINTING:
        return []
    if cue.attribute in _PROPER:
        if not value[0].isupper():
            return []
        value = _leading_name(words)
    rank, single, label, kind = _KINDS[cue.attribute]
    who = known.user if speaker.entity == USER else speaker.said
    text = statement(cue.told.format(who=who, v=value))
    if label == "likes" and cue.polarity < 0:
        label = "dislikes"
    return [
        Draft(
            rank,
            cue.attribute,
            known.articles.sub("", value),
            cue.polarity,
            single=single,
            label=label,
            target_type=kind,
            text=text,
            confidence=0.85,
        )
    ]


def _leading_name(words: list[str]) -> str:
    """Keep the capitalised words that a value begins with."""
    kept = []
    for word in words:
        if not word[0].isupper() and word not in ("de", "da", "do", "am", "an", "der", "den", "la", "le", "du"):
            break
        kept.append(word)
    while kept and not kept[-1][0].isupper():
        kept.pop()
    return " ".join(kept)
