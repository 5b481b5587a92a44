"""The files of the agents of the demonstration, read from plain text.

A version of a file begins with `@ <days ago> <time> <whose> <writer> <path>`; what follows is all that it said from
then on. `whose` is an agent or `all`, `writer` an agent or the person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final
from uuid import UUID

from memory.services.actors import Actor
from memory.services.agent_files.writing import create_file, write_file
from memory.services.demo.script import PERSON

FILES: Final = Path(__file__).parent / "texts" / "files.md"
ALL: Final = "all"
_HEAD: Final = re.compile(
    r"^@ (?P<days>\d+) (?P<hour>\d\d):(?P<minute>\d\d) (?P<whose>\w+) (?P<writer>\w+) (?P<path>\S+)\n", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class FileVersion:
    """What a file said from a moment on: of an agent or of all, written by an agent or the person."""

    at: datetime
    whose: str
    writer: str
    path: str
    content: str


def file_versions(present: datetime) -> list[FileVersion]:
    """Give all versions of all files, oldest first.

    Args:
        present: the moment up to which they lead.

    Raises:
        ValueError: the text does not begin with a version.
    """
    found = [one for one in _read(FILES.read_text("utf-8"), present) if one.at < present]
    return sorted(found, key=lambda one: one.at)


def _read(written: str, present: datetime) -> Iterator[FileVersion]:
    heads = list(_HEAD.finditer(written))
    if not heads or heads[0].start():
        raise ValueError("A file has no beginning.")
    ends = [*(head.start() for head in heads[1:]), len(written)]
    for head, end in zip(heads, ends, strict=True):
        day = present - timedelta(days=int(head["days"]))
        at = day.replace(hour=int(head["hour"]), minute=int(head["minute"]), second=0, microsecond=0)
        yield FileVersion(at, head["whose"], head["writer"], head["path"], written[head.end() : end])


class Shelf:
    """Writes the files of an owner's agents, version by version."""

    def __init__(self, owner: Actor, agents: Mapping[str, Actor]) -> None:
        """Begin without a file."""
        self._writers = {**agents, PERSON: owner}
        self._agents = agents
        self._known: dict[tuple[str, str], UUID] = {}

    @property
    def size(self) -> int:
        """Give how many files there are."""
        return len(self._known)

    def put(self, version: FileVersion) -> None:
        """Write a version at the present moment: a file that is not there yet, or the next of one that is."""
        writer = self._writers[version.writer]
        place = (version.whose, version.path)
        if place in self._known:
            write_file(actor=writer, file_id=self._known[place], content=version.content)
            return
        scope = "owner" if version.whose == ALL else f"agent:{self._agents[version.whose].agent_id}"
        row = create_file(actor=writer, path=version.path, content=version.content, scope=scope)
        self._known[place] = row.pk
