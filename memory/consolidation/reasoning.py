"""Tell a language model's answer from what it thought aloud before it.

Models that reason write their thoughts in tags, under a heading, or as a numbered list of steps about the task itself.
Only what is plainly such is taken away: a sentence that begins with "Analysis shows" is an answer.
"""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = r"think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad"
_BLOCK_BEGIN: Final = re.compile(rf"^[ \t]*+<({_NAMES})\b[^<>\n]{{0,80}}>", re.IGNORECASE | re.MULTILINE)
_OPENED: Final = re.compile(rf"^[ \t]*<(?:{_NAMES})\b[^<>\n]{{0,80}}>.*\Z", re.IGNORECASE | re.DOTALL | re.MULTILINE)
_CLOSED: Final = re.compile(
    rf"\A.*(?:^[ \t]*</(?:{_NAMES})\s*>|</(?:{_NAMES})\s*>[ \t]*(?:\n|\Z))", re.IGNORECASE | re.DOTALL | re.MULTILINE
)
_FINAL_CHANNEL: Final = re.compile(r"<\|channel\|>\s*final\b[^<]{0,40}<\|message\|>", re.IGNORECASE)
_CHANNEL: Final = re.compile(r"<\|channel\|>", re.IGNORECASE)
_CHANNEL_END: Final = re.compile(r"<\|(?:end|return|start)\|>.*\Z", re.IGNORECASE | re.DOTALL)
_FENCED: Final = re.compile(r"\A(`{3,}|~{3,})[^\n`]{0,40}\n(.*?)\n?[ \t]*\1[ \t]*\Z", re.DOTALL)
_HALF_FENCED: Final = re.compile(r"\A(?:`{3,}|~{3,})[^\n`]{0,40}\n")

_BLANK: Final = re.compile(r"\n[ \t]*\n+")
# A heading is a line of its own that says nothing but that thoughts follow.
_HEADING: Final = re.compile(
    r"(?:here(?:'s| is) (?:my |a |the )?)?(?:my |internal |the |detailed )?"
    r"(?:thinking(?: process)?|thought process|thoughts|chain of thought|reasoning(?: process| steps)?|analysis|"
    r"step[- ]by[- ]step(?: analysis| reasoning| thinking)?|scratchpad|step \d{1,3})",
    re.IGNORECASE,
)
_ALOUD: Final = re.compile(
    r"(?:(?:okay|ok|alright|hmm+|wait|right|sure|well)[,.!]*\s+)?(?:so[,]?\s+|first[,]?\s+|now[,]?\s+)?"
    r"(?:let me|let's|let us|i need to|i have to|i should|i'll|i will)\s+(?:first\s+|carefully\s+|now\s+)?"
    r"(?:think|analy[sz]e|reason|consider|break|look at|go through|work through|work out|figure|examine|start by|"
    r"find (?:a|the) (?:connection|pattern|link|insight)|(?:write|produce|generate|formulate) (?:a|an|the|one) "
    r"(?:insight|summary|answer|sentence))\b",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*+•])[ \t]+")
_NUMBERED: Final = re.compile(r"^[ \t]{0,3}(?:[*_]{1,2})?\d{1,3}[.)][ \t]*")
# A step about the task itself: a bare verb, or what is done with the request, the input or the draft.
_VERBS: Final = (
    r"(?:deconstruct|analy[sz]e|understand|interpret|parse|review|examine|identify|find|look for|evaluate|assess|"
    r"draft|formulate|brainstorm|refine|polish|check|verify|consider|determine|synthesi[sz]e|select|iterate|"
    r"self[- ]correction|final(?:i[sz]e| check| review| polish)?)"
)
_OBJECTS: Final = (
    r"(?:request|inputs?|prompt|task|question|instructions?|goal|constraints?|output|memories|statements?|notes?|"
    r"items|connections?|patterns?|insights?|themes?|common threads?|draft|answer|response|options|candidates)"
)
_BEFORE_OBJECT: Final = (
    r"(?:(?:the|a|an|all|any|on|against|for|between|user|user's|core|key|possible|potential|given|final)\s+)*"
)
_STEP: Final = re.compile(
    rf"{_VERBS}(?:\s+(?:and|&)\s+{_VERBS})?(?:\s+{_BEFORE_OBJECT}{_OBJECTS}(?:\s+(?:and|&)\s+{_BEFORE_OBJECT}{_OBJECTS})?)?",
    re.IGNORECASE,
)
_MARKER: Final = re.compile(
    r"^[ \t]*(?:[#*_>]{1,6}[ \t]*)?(?:the\s+|my\s+|so\s+the\s+)?"
    r"(?:final\s+(?:answer|insight|output|summary|response|result|version|text)|answer|insight|output|conclusion|result)"
    r"[ \t]*[*_]{0,2}[ \t]*:[ \t]*[*_]{0,2}[ \t]*",
    re.IGNORECASE | re.MULTILINE,
)
_EMPHASIS: Final = " \t#*_`>"


def without_fence(text: str) -> str:
    """Take one code fence off that surrounds the whole text, or that was opened and never closed."""
    bare = text.strip()
    fenced = _FENCED.match(bare)
    return fenced.group(2).strip() if fenced else _HALF_FENCED.sub("", bare, count=1).strip()


def without_tags(text: str) -> str:
    """Take away thoughts in tags or in a channel of their own.

    A block that is opened and never closed reaches to the end; one that is closed without having been opened begins at
    the start, since some servers swallow the first tag.
    """
    if _CHANNEL.search(text):
        parts = _FINAL_CHANNEL.split(text)
        text = _CHANNEL_END.sub("", parts[-1]) if len(parts) > 1 else ""
    text = _without_blocks(text)
    text = _CLOSED.sub("", text)
    return _OPENED.sub("", text).strip()


def _without_blocks(text: str) -> str:
    """Take away what stands between an opening and its closing tag; one pass, however many tags there are."""
    pieces: list[str] = []
    position = 0
    closing = {name: [found.span() for found in _closing(name).finditer(text)][::-1] for name in _NAMES.split("|")}
    while begin := _BLOCK_BEGIN.search(text, position):
        ends = closing[begin.group(1).lower()]
        while ends and ends[-1][0] < begin.end():
            ends.pop()
        if not ends:
            break
        pieces.append(text[position : begin.start()])
        position = ends.pop()[1]
    return "".join([*pieces, text[position:]])


def _closing(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{name}\s*+>", re.IGNORECASE)


def spoken_answer(text: str) -> str:
    """Give what a model answers, without its thoughts and without a fence around it.

    Args:
        text: an answer in prose.

    Returns:
        The answer; the text as it is where nothing in it is plainly a thought; nothing where all of it is.
    """
    bare = without_fence(without_tags(text))
    if not _begins_with_thoughts(bare):
        return bare
    *_, last = _MARKER.split(bare)
    if len(last) < len(bare):
        return _unquoted(last)
    return _unquoted(_after_thoughts(bare))


def _begins_with_thoughts(text: str) -> bool:
    first, _, rest = text.partition("\n")
    return _is_heading(first) or _is_aloud(first, rest) or _is_plan(text)


def _is_heading(line: str) -> bool:
    return bool(_HEADING.fullmatch(line.strip(_EMPHASIS).rstrip(":.…").rstrip(_EMPHASIS)))


def _is_aloud(line: str, rest: str) -> bool:
    """Tell whether a first line announces thinking, rather than being the whole of the answer."""
    return bool(rest.strip()) and bool(_ALOUD.match(line.strip(_EMPHASIS)))


def _is_plan(text: str) -> bool:
    """Tell whether a text begins with a numbered list of which the first and at least half are about the task."""
    if not _NUMBERED.match(text):
        return False
    items = [_NUMBERED.sub("", line) for line in text.splitlines() if _NUMBERED.match(line)]
    about = [_is_step(item) for item in items]
    return about[0] and 2 * sum(about) >= len(about)


def _is_step(item: str) -> bool:
    title = re.split(r"[:.–—]|\*\*", item.strip().lstrip(_EMPHASIS), maxsplit=1)[0]
    return bool(_STEP.fullmatch(title.strip(_EMPHASIS)))


def _after_thoughts(text: str) -> str:
    """Give the last paragraph where it stands by itself, else the lines after the end of a list, else nothing."""
    paragraphs = [part for part in _BLANK.split(text.strip()) if part.strip()]
    last = paragraphs[-1]
    if len(paragraphs) > 1 and not _ITEM.match(last) and not _NUMBERED.match(last) and not _is_heading(_first(last)):
        return last.strip() if not last.startswith((" ", "\t")) else ""
    lines = last.splitlines()
    places = [place for place, line in enumerate(lines) if _ITEM.match(line) or _NUMBERED.match(line)]
    if not places:
        return ""
    trailing = lines[places[-1] + 1 :]
    plain = all(line.strip() and not line.startswith((" ", "\t")) for line in trailing)
    return "\n".join(trailing).strip() if trailing and plain else ""


def _first(paragraph: str) -> str:
    return paragraph.strip().partition("\n")[0]


def _unquoted(text: str) -> str:
    bare = without_fence(text.strip())
    pairs = {'"': '"', "“": "”", "'": "'"}
    if len(bare) > 1 and pairs.get(bare[0]) == bare[-1] and bare.count(bare[0]) == (2 if bare[0] == bare[-1] else 1):
        return bare[1:-1].strip()
    return bare
