"""Finds what a text names: people, organisations, tools, places, titles, codes and addresses."""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from memory.consolidation.extraction.runs import Run, capital_runs
from memory.consolidation.extraction.sentences import Sentence
from memory.consolidation.extraction.sorts import is_told, sort_of
from memory.consolidation.extraction.words.noise import NOISE
from memory.consolidation.extraction.words.themes import LONGEST, TOPICS
from memory.consolidation.extraction.words.things import DOCUMENTS, NUMBERED, SURE_TOOLS
from memory.text.stopwords import STOP_WORDS

LONGEST_NAME: Final = 120
MAX_MENTIONS: Final = 400
"""Mentions of one passage that are looked at; distinct names are bounded further by whoever collects them."""
MAX_TITLE_WORDS: Final = 7

_ENDINGS: Final = "com|org|net|io|dev|ai|edu|gov|de|fr|es|it|nl|pt|co\\.uk|eu|ch|at"
_WEB: Final = re.compile(
    r"https?://(?P<host>[\w.-]{1,200})(?::\d{1,5})?[^\s\"'<>)\]`]{0,500}"
    rf"|(?<![\w@./-])(?P<bare>(?:[a-z0-9-]{{1,63}}\.){{1,5}}(?:{_ENDINGS}))(?![\w@-])(?:/[^\s\"'<>)\]`]{{0,300}})?"
)
_MAIL: Final = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_CODED: Final = re.compile(r"`([^`\n]{1,60})`")
_FILE: Final = re.compile(
    r"(?<![\w/.-])[\w/-]{1,80}\.(?:py|js|ts|tsx|md|json|ya?ml|toml|sql|txt|csv|pdf|docx?|xlsx?|png|"
    r"jpe?g|tiff?|cfg|ini|sh|rs"
    r"|java|html|css|ipynb|log|parquet)\b"
)
_SNAKE: Final = re.compile(r"(?<![\w/.-])[A-Za-z][a-z0-9]{0,30}(?:_[a-z0-9]{1,30}){1,6}(?![\w-])")
_IDENTIFIER: Final = re.compile(r"(?<![\w£$€.,-])[A-Z]{1,6}-?\d{1,8}[A-Z]?(?:-[A-Z0-9]{1,8}){0,4}(?![\w-]|[.,]\d)")
_SHORT: Final = re.compile(r"(?:[QHT][1-4]|[AB][1-6]|[VT]\d)\Z")
_DOCUMENT: Final = re.compile(
    r"(?<!\w)(?:[QH][1-4](?: (?:19|20)\d\d)?|(?:19|20)\d\d(?: [QH][1-4])?|FY ?\d\d(?:\d\d)?)"
    rf"(?P<between>(?: [a-z]{{2,20}}){{0,2}}) (?:{DOCUMENTS})\b"
)
_NUMBERED: Final = re.compile(
    rf"(?<![\w-])(?P<head>{'|'.join(sorted(NUMBERED))}) (?P<number>\d{{1,5}}[A-Za-z]?|"
    rf"[A-Z]\d{{0,4}})(?![\w-]|[.,:]\d)",
    re.IGNORECASE,
)
_QUOTED: Final = re.compile(r'(?<![\w"])"([^"\n]{2,70})"(?!\w)|(?<![\w\'])\'([A-Z][^\'"\n]{2,60})\'(?!\w)')
_WORD: Final = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*(?:\+\+|#|\.js\b)?")
_STOP: Final = STOP_WORDS["english"]
_IMPORTANCE: Final = {"person": 0.6, "organization": 0.5, "project": 0.6, "tool": 0.5, "topic": 0.3, "url": 0.3}


@dataclass(frozen=True, slots=True)
class Mention:
    """A name as it stands in a text.

    `sort` says more of it where that is known, for example `place` or `title`; `guessed` that nothing but the name, or
    what it does, tells that it is a person's.
    """

    name: str
    type: str
    start: int
    end: int
    sort: str = ""
    confidence: float = 0.9
    guessed: bool = False

    @property
    def importance(self) -> float:
        """Give the importance of an entity of this type that nothing more is known of."""
        return _IMPORTANCE.get(self.type, 0.4)


def find_mentions(
    text: str, spoken: list[Sentence], *, people: AbstractSet[str], inside: AbstractSet[str]
) -> list[Mention]:
    """List what a text names, in the order of the text.

    Args:
        text: the part that is read, see `sentences.readable`; the cost is linear in its length.
        spoken: its sentences.
        people: words of the names of people who are known already (who speaks here), in small letters.
        inside: words that stand with a capital inside a sentence somewhere in these texts, in small letters.
    """
    found: list[Mention] = []
    rest = text
    for pattern, read in _SHAPES:
        rest = _taken(rest, pattern, read, found)
    for run in capital_runs(rest, spoken, people=people, inside=inside, limit=MAX_MENTIONS):
        found.append(_named(run, rest, people))
    _add_plain_words(rest, found)
    found.sort(key=lambda one: (one.start, -one.end))
    return _without_parts(found)[:MAX_MENTIONS]


def _without_parts(found: list[Mention]) -> list[Mention]:
    """Leave out activities that are part of a name: the university in "University of Leeds"."""
    kept: list[Mention] = []
    for mention in found:
        if mention.type != "topic" or not kept or kept[-1].type == "topic" or kept[-1].end < mention.end:
            kept.append(mention)
    return kept


def _named(run: Run, text: str, people: AbstractSet[str]) -> Mention:
    kind, sort, confidence = sort_of(run, text, people)
    guessed = kind == "person" and len(run.words) == 1 and not is_told(run, text, people)
    return Mention(run.name[:LONGEST_NAME].strip(), kind, run.start, run.end, sort, confidence, guessed)


Read = Callable[["re.Match[str]"], "tuple[str, str, str] | None"]


def _taken(text: str, pattern: re.Pattern[str], read: Read, found: list[Mention]) -> str:
    """Read all matches of a shape and blank them out, so that they are not read again as something else."""

    def take(match: re.Match[str]) -> str:
        if match.group().isspace():
            return match.group()
        given = read(match)
        if given is None:
            return match.group()
        name, kind, sort = given
        if name:
            found.append(Mention(name, kind, match.start(), match.end(), sort))
        return " " * len(match.group())

    return pattern.sub(take, text)


def _web(match: re.Match[str]) -> tuple[str, str, str] | None:
    host = (match["host"] or match["bare"] or "").casefold().strip(".-")
    return (host.removeprefix("www."), "url", "") if "." in host else None


def _mail(_: re.Match[str]) -> tuple[str, str, str]:
    return "", "", ""


def _quoted(match: re.Match[str]) -> tuple[str, str, str] | None:
    title = (match[1] or match[2]).strip(" .,!?;:")
    words = title.split()
    if not words or len(words) > MAX_TITLE_WORDS or not words[0][0].isupper():
        return None
    if any(word[0].islower() and len(word) > 4 for word in words) or (title.isupper() and len(words) > 3):
        return None
    if len(words) == 1 and (words[0].casefold() in NOISE or words[0].casefold() in _STOP):
        return None
    return title, "concept", "title"


def _coded(match: re.Match[str]) -> tuple[str, str, str] | None:
    code = match[1].strip()
    if len(code) < 2 or len(code.split()) > 2 or not any(character.isalpha() for character in code):
        return "", "", ""
    return code, "tool" if code.casefold() in SURE_TOOLS else "concept", "code"


def _file(match: re.Match[str]) -> tuple[str, str, str] | None:
    if match.group().casefold() in SURE_TOOLS:
        return None
    return match.group(), "concept", "file"


def _snake(match: re.Match[str]) -> tuple[str, str, str] | None:
    return match.group(), "concept", "code"


def _document(match: re.Match[str]) -> tuple[str, str, str] | None:
    if not _STOP.isdisjoint(match["between"].split()):
        return None
    return match.group(), "concept", "document"


def _numbered(match: re.Match[str]) -> tuple[str, str, str] | None:
    head, number = match["head"], match["number"]
    if not number[0].isdigit() and (head.islower() or number in ("A", "I")):
        return None
    return f"{head[0].upper()}{head[1:].lower()} {number}", "concept", "numbered"


def _identifier(match: re.Match[str]) -> tuple[str, str, str] | None:
    return None if _SHORT.match(match.group()) else (match.group(), "concept", "code")


_SHAPES: Final[tuple[tuple[re.Pattern[str], Read], ...]] = (
    (_WEB, _web),
    (_MAIL, _mail),
    (_CODED, _coded),
    (_QUOTED, _quoted),
    (_FILE, _file),
    (_SNAKE, _snake),
    (_DOCUMENT, _document),
    (_NUMBERED, _numbered),
    (_IDENTIFIER, _identifier),
)


def _add_plain_words(text: str, found: list[Mention]) -> None:
    """Add activities and tools that are named in small letters."""
    before = ""
    begin = last = 0
    for match in _WORD.finditer(text):
        word = match.group().casefold()
        if word in SURE_TOOLS and match.group()[0].islower():
            found.append(Mention(word, "tool", match.start(), match.end()))
        else:
            pair = f"{before} {word}"
            if before and pair in TOPICS and match.start() - last == 1:
                if found and found[-1].start == begin and found[-1].type == "topic":
                    found.pop()
                found.append(Mention(TOPICS[pair][0], "topic", begin, match.end()))
            elif word in TOPICS:
                found.append(Mention(TOPICS[word][0], "topic", match.start(), match.end()))
        if len(found) >= 2 * MAX_MENTIONS:
            return
        before, begin, last = word, match.start(), match.end()


def themes_of(text: str) -> tuple[str, ...]:
    """List the themes that a statement touches, in order, each once."""
    words = [match.group().casefold() for match in _WORD.finditer(text)]
    found: dict[str, None] = {}
    for place in range(len(words)):
        for length in range(1, LONGEST + 1):
            known = TOPICS.get(" ".join(words[place : place + length]))
            if known:
                found[known[1]] = None
    return tuple(found)
