"""Cheap signals of a text and of a question, known without a model: numbers, flags and names.

Recall weighs them as evidence: a question is seldom the answer to a question, a turn with a date answers "when", and
what a person said answers a question that names the person. Names leave this module in clear; whoever stores them
hashes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from memory.text.dates import find_spans, may_hold_dates
from memory.text.scripts import fold_diacritics
from memory.text.stopwords import STOP_WORDS, word_set
from memory.text.timewords import CALENDAR_WORDS, holds_number, holds_time
from memory.text.tokens import Analysis, analyse

MAX_NAMES: Final = 32
"""Most names that are kept of one text; the first ones win."""

_ANY_MOMENT: Final = datetime(2000, 6, 15, tzinfo=UTC)
_AUXILIARY: Final = (
    "do does did is are was were am can could will would should shall may might must have has had"
    " don't doesn't didn't isn't aren't wasn't weren't can't couldn't won't wouldn't shouldn't haven't hasn't hadn't"
)
_AUXILIARIES: Final[frozenset[str]] = word_set(_AUXILIARY)
_ALSO_NAMES: Final[frozenset[str]] = frozenset({"will", "may"})
_SUBJECTS: Final[frozenset[str]] = word_set(
    "i you he she it we they there this that these those the my your his her its our their any anyone anybody"
)
_QUESTION_WORDS: Final[frozenset[str]] = word_set("what who whom whose which when where why how")
_NEVER_NAMES: Final[frozenset[str]] = word_set("the a an and or of to for in on at by with from")
_MEASURED: Final[frozenset[str]] = word_set("many much long often old far big tall fast soon come about")
_OPENERS: Final[frozenset[str]] = word_set(
    "absolutely actually ah alright amazing anyway aw aww awesome bye congrats congratulations cool definitely "
    "exactly glad good goodbye great haha hello hey hi hmm hmmm honestly indeed lol maybe nice no nope not ok "
    "okay oh omg ooh perhaps please right sadly sorry sounds sure thank thanks totally true ugh welcome well whoa "
    "wow yay yeah yep yes yup let's lets i'd i'll i'm i've having being going looking looks keep take look see "
    "remember never always "
)
_END_OF_QUESTION = re.compile(r"[?？؟՞\u037e][^\w]{0,16}$")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LEADING = re.compile(r"\w+(?:['’]\w+)?")
# A word that begins with a letter that is no plain small one; the caller checks that it is a capital.
_NAME = re.compile(r"(?<![\w'’@/.])[^\W\d_a-zß-öø-ÿ][\w]*(?:-[^\W\d_]\w*)*")
_SENTENCE_END: Final = frozenset('.!?…。！？:\n"“”«»*#>-–—•')

_WHEN = re.compile(
    r"\bwhen\b|\b(?:what|which)\s{1,3}(?:\w{1,24}\s{1,3})?(?:date|day|time|year|month|week|weekday|season|century|decade)\b"
    r"|\bhow\s{1,3}(?:long|many\s{1,3}\w+)\s{1,3}ago\b|\bhow\s{1,3}(?:soon|recently)\b|\bwann\b|\bcuándo\b|\bquand\b|什么时候|何时|几点|哪一?[年天]|いつ|언제",
    re.IGNORECASE,
)
_HOW_MANY = re.compile(
    r"\bhow\s{1,3}(?:many|much|often|old|far|tall|big|heavy)\b|\b(?:what|which)\s{1,3}(?:is\s{1,3}the\s{1,3})?(?:number|amount|percentage|price|cost)\b"
    r"|\bnumber\s{1,3}of\b|\bwie\s{0,3}(?:viele?|oft|alt)\b|\bcuánt[oa]s?\b|\bcombien\b|多少|几[个個次岁只]|いくつ|何[人個回歳]|몇",
    re.IGNORECASE,
)
_HOW_LONG = re.compile(
    r"\bhow\s{1,3}(?:long|many\s{1,3}(?:\w{1,24}\s{1,3})?(?:seconds|minutes|hours|days|nights|weeks|months|years))\b(?!\s{1,3}ago)"
    r"|\bwie\s{1,3}lange\b|\bcuánto\s{1,3}tiempo\b|\bdepuis\s{1,3}quand\b|多久|多长时间",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class TextSignals:
    """What is known about a text at write time without understanding it.

    `token_count` is the length for BM25 and `highest_tf` the count of the commonest term; `names` and `speaker` are
    folded words in the order of appearance, distinct.
    """

    token_count: int
    highest_tf: int
    is_question: bool
    has_time: bool
    has_number: bool
    names: tuple[str, ...]
    speaker: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuerySignals:
    """What a question asks for, and whom it names."""

    asks_when: bool
    asks_how_many: bool
    asks_how_long: bool
    has_time: bool
    names: tuple[str, ...]


NOTHING_ASKED: Final = QuerySignals(
    asks_when=False,
    asks_how_many=False,
    asks_how_long=False,
    has_time=False,
    names=(),
)
"""The signals of a query that is no question and names nobody."""


def text_signals(text: str, *, speaker: str | None = None, analysis: Analysis | None = None) -> TextSignals:
    """Read the signals off a text.

    Args:
        text: any text; cost is linear in its length.
        speaker: who said it, as written.
        analysis: the text's terms where they are at hand already, which saves most of the work.
    """
    terms = analysis or analyse(text)
    words = _words(text)
    said = text
    if speaker and text.startswith(f"{speaker}:"):
        said = text[len(speaker) + 1 :].lstrip()
    return TextSignals(
        token_count=terms.length,
        highest_tf=max(terms.frequencies.values(), default=0),
        is_question=is_question(said),
        has_time=holds_time(text, words) or names_time(text),
        has_number=holds_number(text, words),
        names=names(text),
        speaker=speaker_words(speaker),
    )


def query_signals(query: str) -> QuerySignals:
    """Read off a question what kind of answer it wants; several may be true at once, or none."""
    return QuerySignals(
        asks_when=_WHEN.search(query) is not None,
        asks_how_many=_HOW_MANY.search(query) is not None,
        asks_how_long=_HOW_LONG.search(query) is not None,
        has_time=holds_time(query, _words(query)),
        names=names(query),
    )


def names_time(text: str) -> bool:
    """Tell whether a text holds a phrase that names a day or a span of time, whatever moment it is counted from."""
    return may_hold_dates(text) and bool(find_spans(text, reference=_ANY_MOMENT, limit=1))


def is_question(text: str) -> bool:
    """Tell whether a text ends in a question mark or is worded as a question without one."""
    stripped = text.rstrip()
    if _END_OF_QUESTION.search(stripped[-40:]):
        return True
    if stripped.endswith(("!", "！")):
        return False
    words = [match.group().replace("’", "'").casefold() for match in _LEADING.finditer(stripped[:80])][:3]
    if len(words) < 2:
        return bool(words) and words[0] in _QUESTION_WORDS
    first, second = words[0], words[1]
    if first in _AUXILIARIES:
        return second in _SUBJECTS or (first not in _ALSO_NAMES and _second_is_capital(stripped))
    if first.partition("'")[0] not in _QUESTION_WORDS:
        return False
    if "'" in first or second in _AUXILIARIES or (first == "how" and second in _MEASURED):
        return True
    return first in {"what", "which", "whose"} and len(words) > 2 and words[2] in _AUXILIARIES


def names(text: str) -> tuple[str, ...]:
    """List the capitalised words that may be names, folded, distinct, in order, at most 32.

    Function words, greetings and calendar words are no names, wherever they stand; a text in capitals only has none.
    """
    if text.isupper():
        return ()
    found: dict[str, None] = {}
    for word in _capitalised(text):
        found[word] = None
        if len(found) == MAX_NAMES:
            break
    return tuple(found)


def speaker_words(speaker: str | None) -> tuple[str, ...]:
    """Fold a speaker's name into the words that `names` would give for it."""
    words = re.findall(r"\w+", speaker or "")
    return tuple(dict.fromkeys(_folded(word) for word in words))[:MAX_NAMES]


def _capitalised(text: str) -> Iterator[str]:
    for match in _NAME.finditer(text):
        word = match.group()
        if len(word) == 1 or not word[0].isupper():
            continue
        folded = _folded(word)
        if folded in CALENDAR_WORDS or folded in _NEVER_NAMES:
            continue
        common = folded in STOP_WORDS["english"] or folded in _OPENERS
        # Inside a sentence a capital makes a name even of a function word: The Who, the US.
        if common and (_starts_sentence(text, match.start()) or not (word.isupper() or len(word) > 2)):
            continue
        yield folded


def _starts_sentence(text: str, position: int) -> bool:
    """Tell whether nothing but spaces and opening marks stand between a position and the sentence's start."""
    before = text[max(0, position - 8) : position].rstrip(" \t'‘’([{¿¡")
    return not before or before[-1] in _SENTENCE_END


def _second_is_capital(text: str) -> bool:
    matches = _LEADING.finditer(text[:80])
    next(matches, None)
    second = next(matches, None)
    return second is not None and second.group()[0].isupper()


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold().replace("’", "'")))


def _folded(word: str) -> str:
    return fold_diacritics(word.casefold())
