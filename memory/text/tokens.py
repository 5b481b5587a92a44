"""The tokeniser of the lexical index: from text to terms.

Text is brought to NFKC, split into words, folded and stemmed. A compound (`E-4012`, `snake_case`, `dotted.path`,
`CamelCase`, a file name, a URL, an e-mail address) gives itself as a whole and its parts, so that it can be found both
ways. Scripts without spaces give bigrams. Nothing in a query is an operator: `hello* OR world` is three words. A text
whose NFKC is far longer than itself is read as far as `memory.text.normal_form` allows, when stored and when asked.

Every word is stemmed as English, and where a text is or may be in other languages in each of those too, so that a word
found out to be German on one side only still meets its own form on the other. Stems that differ are terms of their own.

Stop words are in the index, so that a text of nothing else ("to be or not to be") can be found; a query leaves them out
as long as it has other words.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import Stemmer

from memory.text.languages import ENGLISH, languages_of, possible_languages, speaks_english
from memory.text.normal_form import compatible
from memory.text.scripts import EMOJI, HAN, MARKS, UNSPACED, fold_diacritics
from memory.text.stopwords import STOP_WORDS

ANALYZER_VERSION: Final = 2
"""Raised whenever the terms of some text change; rows keep the version that their postings were made with."""

MAX_TERM_LENGTH: Final = 64
"""Characters; a longer term is cut and gets a digest of the whole, so that it still equals only itself."""

# One joining character between two word characters keeps a compound together; an ellipsis or a dash does not.
_JOINT = r"(?:://|::|->|[-.@/:\\'&=?#%~+])"
_SUFFIX = r"(?:(?<![A-Za-z]{3})(?:\+\+|\#)(?![\w+\#]))?"
_WORD_ASCII = re.compile(rf"\w+(?:{_JOINT}\w+)*{_SUFFIX}", re.ASCII)
_CHAR = rf"(?:[^\W{UNSPACED}]|[{MARKS}])"
_WORD_ANY = re.compile(
    rf"([{UNSPACED}]+)|([{EMOJI}]|[\U0001f1e6-\U0001f1ff]{{2}})|{_CHAR}+(?:{_JOINT}{_CHAR}+)*{_SUFFIX}"
)
_HAN = re.compile(rf"[{HAN}]")
_OUTER = re.compile(r"://|::|->|[@/\\&=?#%~+:]")
_INNER = re.compile(r"[-._]")
# Runs of one case or of digits inside a word: HTTPServer2 → HTTP, Server, 2.
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[A-Z]|[0-9]+|[^A-Za-z0-9]+")
_THOUSANDS = re.compile(r"(?<=[0-9]),(?=[0-9]{3}(?![0-9]))")
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "`": "'", "´": "'", "\u00ad": None})
_PRONOUN_ENDINGS: Final = frozenset({"s", "re", "ve", "ll", "d", "m"})
_NO_WORDS: Final[frozenset[str]] = frozenset()
_WITH_DIACRITICS: Final[frozenset[str]] = frozenset(STOP_WORDS) - {ENGLISH, "russian"}
# Their vowel signs are no letters to Python.
_WITH_MARKS: Final[frozenset[str]] = frozenset({"hindi", "tamil"})
_DIGIT = re.compile(r"[\d_]")
# A body ends at the next mark of its own kind, opening or closing, so that a row of opening marks stays linear.
_QUOTES = re.compile(r'"([^"]*)"|“([^“”]*)”|„([^„“”]*)[“”]|«([^«»]*)»|「([^「」]*)」|『([^『』]*)』')


@dataclass(frozen=True, slots=True)
class Analysis:
    """The terms of a text with their counts, and its length in words."""

    frequencies: Counter[str]
    length: int


def analyse(text: str, *, language: str | None = None) -> Analysis:
    """Split a text into the terms that its postings are made of.

    Args:
        text: any text; cost is linear in its length.
        language: the one Snowball algorithm to use, for example `german`; a name that Snowball lacks raises KeyError.
            Left out, it is English and whatever else the text is found to be in.

    Returns:
        The counts of all terms, and the length for BM25: words and bigrams, each compound counted by its parts but
        not again as a whole, each word once however many stems it has (an overlap does not make a text longer).
    """
    frequencies: Counter[str] = Counter()
    length = 0
    for _, terms, words in _chunks(text, (language,) if language else languages_of(text)):
        frequencies.update(terms)
        length += words
    return Analysis(frequencies, length)


def term_frequencies(text: str, *, language: str | None = None) -> Counter[str]:
    """Count the terms of a text; see `analyse`."""
    return analyse(text, language=language).frequencies


def token_count(text: str, *, stop_after: int | None = None) -> int:
    """Count the words and bigrams of a text, which is the same in every language.

    Args:
        text: any text.
        stop_after: give up counting beyond this number, to bound the work on hostile input.
    """
    length = 0
    for _, _, words in _chunks(text, (ENGLISH,)):
        length += words
        if stop_after is not None and length > stop_after:
            break
    return length


def terms_of_word(word: str, languages: tuple[str, ...]) -> tuple[str, ...]:
    """List the terms that a word or compound gives in a text of some languages (see `languages_of`), in order."""
    return tuple(dict.fromkeys(term for _, terms, _ in _chunks(word, languages) for term in terms))


def query_terms(query: str, *, language: str | None = None, keep_stop_words: bool = False) -> list[str]:
    """List the distinct terms of a query in their order of appearance; see `query_shares`.

    Args:
        query: any text; every operator is plain text.
        language: the one Snowball algorithm to use; left out, English and what the query is or could be in.
        keep_stop_words: give all terms, as an exact match of short phrases needs them.
    """
    return list(query_shares(query, language=language, keep_stop_words=keep_stop_words))


def query_shares(
    query: str, *, language: str | None = None, keep_stop_words: bool = False, only_telling: bool = False
) -> dict[str, float]:
    """Give the distinct terms of a query, and how much of its word each one stands for.

    Function words are left out when others remain, unless they are written like a name ("The Who", "ask Will"). A run
    of an unspaced script gives bigrams only, where the index also holds its single Han characters: a query of one
    character finds them, and a longer one is not diluted by them.

    Args:
        query: any text.
        language: as for `query_terms`.
        keep_stop_words: as for `query_terms`.
        only_telling: leave function words out even where no others remain.

    Returns:
        Terms in their order of appearance with shares above 0 and up to 1. A word that two languages stem alike
        gives one term with 1; one that they stem differently gives two with a half each, so that a text with the
        very form of the query's word counts it once and one with another form by half. Where several words give a
        term the largest share stands.
    """
    languages = (language,) if language else possible_languages(query)
    ignored = _function_words(query, languages)
    telling: dict[str, float] = {}
    every: dict[str, float] = {}
    shouting = query.isupper()
    for chunk, found, _ in _chunks(query, languages, singles=False):
        first = not every
        kept = not _is_function_word(chunk, ignored, could_be_name=not (first or shouting))
        for term, share in _shares(chunk, found, languages).items():
            every[term] = max(share, every.get(term, 0.0))
            if kept:
                telling[term] = every[term]
    if keep_stop_words:
        return every
    return telling if only_telling else telling or every


def _shares(chunk: str, terms: tuple[str, ...], languages: tuple[str, ...]) -> dict[str, float]:
    """Divide a word's weight among its stems: each has the share of the languages that read the word so."""
    readings = [set(_terms_of(chunk, (language,))[0]) for language in languages]
    if set(terms) != set().union(*readings):
        # Bigrams of an unspaced script, which no stemmer reads.
        return dict.fromkeys(terms, 1.0)
    return {term: sum(term in reading for reading in readings) / len(readings) for term in terms}


def _function_words(query: str, languages: tuple[str, ...]) -> frozenset[str]:
    """Collect the function words of the languages that a query is in; English ones only where it is in English."""
    spoken = [language for language in languages if language != ENGLISH or len(languages) == 1 or speaks_english(query)]
    return frozenset[str]().union(*(STOP_WORDS.get(language, _NO_WORDS) for language in spoken))


def _is_function_word(chunk: str, ignored: frozenset[str], *, could_be_name: bool) -> bool:
    word, _, ending = chunk.partition("'")
    if ending and ending.casefold() not in _PRONOUN_ENDINGS:
        word += ending
    if could_be_name and len(word) > 1 and word[0].isupper():
        return False
    return word.casefold() in ignored


def quoted_phrases(query: str) -> list[str]:
    """List what stands between double quotation marks of any style, without the marks, in order, distinct.

    Phrases without a single word, and an opening mark that is never closed, give nothing.
    """
    phrases: dict[str, None] = {}
    for match in _QUOTES.finditer(query):
        phrase = " ".join((match.group(match.lastindex or 0) or "").split())
        if phrase and token_count(phrase, stop_after=0):
            phrases[phrase] = None
    return list(phrases)


def _chunks(
    text: str, languages: tuple[str, ...], *, singles: bool = True
) -> Iterator[tuple[str, tuple[str, ...], int]]:
    """Yield each chunk of a text with its terms and how many words it counts for."""
    for language in languages:
        stemmer(language)
    if not text.isascii():
        text = compatible(text.translate(_APOSTROPHES))
    if "," in text:
        text = _THOUSANDS.sub("", text)
    if text.isascii():
        for match in _WORD_ASCII.finditer(text):
            yield match.group(), *_terms_of(match.group(), languages)
        return
    for match in _WORD_ANY.finditer(text):
        if match.group(1):
            yield match.group(), *_grams(match.group(), singles=singles)
        elif match.group(2):
            yield match.group(), (match.group(),), 1
        else:
            yield match.group(), *_terms_of(match.group(), languages)


def _grams(run: str, *, singles: bool) -> tuple[tuple[str, ...], int]:
    """Give the bigrams of a run of an unspaced script, and in the index its Han characters too."""
    if len(run) == 1:
        return (run,), 1
    run = run.casefold()
    pairs = [run[at : at + 2] for at in range(len(run) - 1)]
    alone = _HAN.findall(run) if singles else []
    return (*pairs, *alone), len(pairs)


def _terms_of(chunk: str, languages: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    if len(chunk) <= MAX_TERM_LENGTH:
        return _forms(chunk, languages)
    return _read(chunk, languages)


@lru_cache(maxsize=65_536)
def _forms(chunk: str, languages: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    return _read(chunk, languages)


def _read(chunk: str, languages: tuple[str, ...]) -> tuple[tuple[str, ...], int]:
    """Give the terms of a chunk in the first language, and those of the others that are new."""
    terms, words = _split(chunk, languages[0])
    for language in languages[1:]:
        terms += tuple(dict.fromkeys(term for term in _split(chunk, language)[0] if term not in terms))
    return terms, words


def _split(chunk: str, language: str) -> tuple[tuple[str, ...], int]:
    """Give the terms of one chunk (a word or a compound) and how many words it is."""
    if chunk.isalpha() and (chunk.islower() or chunk[1:].islower() or chunk.isupper()):
        return (_word(chunk, language),), 1
    terms: list[str] = []
    leaves = 0
    segments = [part for part in _OUTER.split(chunk) if part]
    if len(segments) > 1 or len(segments[0]) < len(chunk):
        terms.append(_cap(_fold(chunk)))
    for segment in segments:
        words = [part for part in _INNER.split(segment) if part]
        if words and words != [segment]:
            terms.append(_cap(_fold(segment)))
        for word in words:
            terms.extend(_leaf(word, language))
        leaves += len(words)
    kept = tuple(term for term in terms if term)
    # A chunk of bare diacritics folds to nothing.
    return kept, max(leaves, 1) if kept else 0


def _leaf(word: str, language: str) -> list[str]:
    """Give the terms of a word that holds no joint but perhaps apostrophes, digits and capitals."""
    if "'" in word:
        return _apostrophes(word, language)
    terms = [_word(word, language)]
    humps = _HUMPS.findall(word)
    if len(humps) > 1 and word.isascii() and not word[1:].islower():
        terms.extend(_word(hump, language) for hump in humps)
    return terms


def _apostrophes(word: str, language: str) -> list[str]:
    """Give the terms of a word with apostrophes: Caroline's → caroline, don't → dont, O'Brien → obrien, o, brien."""
    parts = [part for part in word.split("'") if part]
    if len(parts) == 2 and parts[1].casefold() in _PRONOUN_ENDINGS:
        return _leaf(parts[0], language)
    joined = _word("".join(parts), language)
    if len(parts) == 2 and parts[1].casefold() == "t":
        return [joined]
    return [joined, *(_word(part, language) for part in parts)]


def _word(word: str, language: str) -> str:
    # Latin stemmers know their diacritics; the others are better off without optional marks.
    folded = word.casefold() if language in _WITH_DIACRITICS else _fold(word)
    if not (folded.isalpha() or (language in _WITH_MARKS and not _DIGIT.search(folded))):
        return _cap(_fold(word))
    stemmed = _stem(folded, language) if len(folded) <= MAX_TERM_LENGTH else folded
    return _cap(stemmed if language == ENGLISH else _fold(stemmed))


def _fold(text: str) -> str:
    folded = text.casefold()
    return folded if folded.isascii() else fold_diacritics(unicodedata.normalize("NFKC", folded))


def _cap(term: str) -> str:
    if len(term) <= MAX_TERM_LENGTH:
        return term
    digest = hashlib.blake2b(term.encode(), digest_size=8).hexdigest()
    return f"{term[: MAX_TERM_LENGTH - 17]}~{digest}"


_local = threading.local()


def stemmer(language: str) -> Stemmer.Stemmer:
    """Give this thread's stemmer of a language (a Stemmer is not safe to share); unknown languages raise KeyError."""
    stemmers: dict[str, Stemmer.Stemmer] = _local.__dict__.setdefault("stemmers", {})
    if language not in stemmers:
        stemmers[language] = Stemmer.Stemmer(language)
    return stemmers[language]


@lru_cache(maxsize=65_536)
def _stem(word: str, language: str) -> str:
    return str(stemmer(language).stemWord(word))


def forget_words() -> None:
    """Drop the words that this process has read lately, of whosever texts they were."""
    _forms.cache_clear()
    _stem.cache_clear()
