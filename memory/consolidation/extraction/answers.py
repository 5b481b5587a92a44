"""Completes a short answer by the question that was asked before: "In Lisbon." after "Where do you live?"."""

from __future__ import annotations

import re
from typing import Final

MOST_WORDS: Final = 6
MAX_BEFORE: Final = 2_000

_YES: Final = re.compile(
    r"\A(?:yes|yeah|yep|yup|sure|of course|exactly|right|correct|i do|i am)\b[\s,.!]*", re.IGNORECASE
)
_NO: Final = re.compile(r"\A(?:no|nope|nah|not really)\b", re.IGNORECASE)
_VERBS: Final = re.compile(
    r"\b(?:I|I'm|we|is|are|was|were|it's|do|did|have|used|live|work|love|like|moved|but|though|maybe|depends)\b",
    re.IGNORECASE,
)
_OPEN: Final[tuple[tuple[re.Pattern[str], str], ...]] = tuple(
    (re.compile(pattern, re.IGNORECASE), form)
    for pattern, form in (
        (r"where (?:do|are) you (?:live|living|based)(?: now| these days)?\s*\?", "I live in {}"),
        (r"(?:which|what) (?:city|town|country) do you live in\s*\?", "I live in {}"),
        (r"where do you work(?: now| these days)?\s*\?", "I work at {}"),
        (r"(?:who|which company) do you work for\s*\?", "I work for {}"),
        (r"(?:what's|what is) your name\s*\?", "My name is {}"),
        (r"how old are you(?: now)?\s*\?", "I am {} years old"),
        (r"(?:when's|when is) your birthday\s*\?", "My birthday is {}"),
        (r"where are you from\s*\?", "I am from {}"),
        (r"(?:what's|what is|which is) your favou?rite ([\w ]{2,30}?)\s*\?", "My favourite {0} is {1}"),
    )
)
_CLOSED: Final = re.compile(
    r"\bdo you (?:still )?(live in|work at|work for|like|love|enjoy|speak|own|use) ([\w'& -]{2,40}?)\s*\?",
    re.IGNORECASE,
)


def completed(text: str, before: str) -> str | None:
    """Give the whole sentence that a short answer stands for, or None where that is not plain.

    Args:
        text: the answer.
        before: what was said just before; its last sentence has to be the question.
    """
    question = _last_question(before[-MAX_BEFORE:])
    answer = text.strip().rstrip(".!")
    if not question or not answer or len(answer.split()) > MOST_WORDS or "?" in answer or _NO.match(answer):
        return None
    yes = _YES.match(answer)
    rest = answer[yes.end() :].strip() if yes else answer
    if _VERBS.search(rest):
        return None
    closed = _CLOSED.search(question)
    if closed:
        if not yes:
            return None
        value = re.sub(r"\A(?:in|at|for)\s+", "", rest, flags=re.IGNORECASE) or closed[2]
        return f"I {closed[1].casefold()} {value}." if value.casefold() == closed[2].casefold() or not rest else None
    for pattern, form in _OPEN:
        asked = pattern.search(question)
        if asked and rest and not yes:
            value = re.sub(r"\A(?:in|at|for|on|from)\s+", "", rest, flags=re.IGNORECASE)
            return (form.format(asked[1], value) if asked.groups() else form.format(value)) + "."
    return None


def _last_question(before: str) -> str:
    before = before.strip()
    if not before.endswith("?"):
        return ""
    return re.split(r"(?<=[.!?])\s+", before)[-1]
