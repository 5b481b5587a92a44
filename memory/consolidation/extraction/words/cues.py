"""The form of a language's cues: what a statement begins with, and how it is told in the third person."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

FLAGS: Final = re.IGNORECASE | re.DOTALL


@dataclass(frozen=True, slots=True)
class Cue:
    """One way of saying something.

    Attributes:
        attribute: what is claimed: likes, lives_in, works_at, named, birthday, age, job, allergic_to, speaks.
        said: a pattern for the whole clause; its group `v` is the value.
        told: the statement, with `{who}` and `{v}`.
        polarity: -1 for what is not so.
    """

    attribute: str
    said: re.Pattern[str]
    told: str
    polarity: int = 1


@dataclass(frozen=True, slots=True)
class Language:
    """The cues of one language, the name of a speaker without one, and what opens a clause or takes it back."""

    language: str
    user: str
    cues: tuple[Cue, ...]
    openings: re.Pattern[str]
    not_meant: re.Pattern[str]
    cut: re.Pattern[str]
    articles: re.Pattern[str]


def cue(attribute: str, said: str, told: str, polarity: int = 1) -> Cue:
    """Make a cue; a blank in the pattern stands for any run of blanks."""
    return Cue(attribute, re.compile(rf"\A{said}\Z".replace(" ", r"\s+"), FLAGS), told, polarity)


def language(
    name: str, *, user: str, openings: str, not_meant: str, cut: str, articles: str, cues: tuple[Cue, ...]
) -> Language:
    """Make a language.

    Args:
        name: as `memory.text.languages` calls it.
        user: "the user" in it.
        openings: words before a statement, divided by bars.
        not_meant: beginnings of what is no statement, divided by bars: conditions, wishes, questions.
        cut: words at which a value ends, divided by bars.
        articles: words before a value that are no part of it, divided by bars.
        cues: its cues; the first that fits counts.
    """
    return Language(
        name,
        user,
        cues,
        re.compile(rf"\A(?:(?:{openings})\b[\s,.!:]*)+", FLAGS),
        re.compile(rf"\A(?:{not_meant})\b", FLAGS),
        re.compile(rf"\s*(?:[,;:!?()]|\.(?=\s|\Z)|\s-\s|\b(?:{cut})\b).*\Z", FLAGS),
        re.compile(rf"\A(?:(?:{articles})\s+|l')(?=\S)", FLAGS),
    )
