"""The conversations of the demonstration, read from plain text.

A conversation begins with `@ <days ago> <time> <agent> <title>`. Its lines are turns (`U:` the user, `A:` the agent,
`T:` a tool), statements of the person (`+ <kind> <category> <importance> | <text>`), or what the agent looks for in the
memory (`? <question>`). Within a text `{date +6}` is the day that comes six days later, written out, `{weekday +3}` its
day of the week and `{month +20}` its month.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

TEXTS: Final = Path(__file__).parent / "texts"
PERSON: Final = "person"
"""Stands in the place of an agent where the person writes."""

ROLES: Final = {"U": "user", "A": "assistant", "T": "tool"}
_HEAD: Final = re.compile(r"@ (?P<days>\d+) (?P<hour>\d\d):(?P<minute>\d\d) (?P<agent>\w+) (?P<title>.+)")
_STATEMENT: Final = re.compile(r"\+ (?P<kind>\w+) (?P<category>\w+) (?P<importance>\d+) \| (?P<text>.+)")
_DAY: Final = re.compile(r"\{(date|weekday|month) ([+-]\d+)\}")
_FORMS: Final = {"date": "{0.day} {0:%B %Y}", "weekday": "{0:%A}", "month": "{0:%B}"}


@dataclass(frozen=True, slots=True)
class Line:
    """A turn: its role and text."""

    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Statement:
    """Something that the person writes down; `importance` from 1 to 10."""

    kind: str
    category: str
    importance: int
    text: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said at one time: turns with an agent, its questions to the memory, or statements of the person."""

    at: datetime
    agent: str
    title: str
    lines: list[Line] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    statements: list[Statement] = field(default_factory=list)


def conversations(present: datetime) -> list[Conversation]:
    """Give all conversations, oldest first.

    Args:
        present: the moment up to which they lead.

    Raises:
        ValueError: a line that is none of the forms above.
    """
    found = [one for path in sorted(TEXTS.glob("*.txt")) for one in _read(path.read_text("utf-8"), present)]
    return sorted((one for one in found if one.at < present), key=lambda one: one.at)


def _read(written: str, present: datetime) -> Iterator[Conversation]:
    current: Conversation | None = None
    for line in filter(None, written.splitlines()):
        if head := _HEAD.fullmatch(line):
            if current is not None:
                yield current
            day = present - timedelta(days=int(head["days"]))
            at = day.replace(hour=int(head["hour"]), minute=int(head["minute"]), second=0, microsecond=0)
            current = Conversation(at, head["agent"], head["title"])
        elif current is None:
            raise ValueError(f"A conversation has no beginning: {line}")
        elif said := _STATEMENT.fullmatch(line):
            text = _dated(said["text"], current.at)
            current.statements.append(Statement(said["kind"], said["category"], int(said["importance"]), text))
        elif line.startswith("? "):
            current.questions.append(line[2:])
        else:
            mark, _, text = line.partition(": ")
            if mark not in ROLES:
                raise ValueError(f"A line is no turn and no statement: {line}")
            current.lines.append(Line(ROLES[mark], _dated(text, current.at)))
    if current is not None:
        yield current


def _dated(text: str, at: datetime) -> str:
    return _DAY.sub(lambda found: _FORMS[found[1]].format(at + timedelta(days=int(found[2]))), text)
