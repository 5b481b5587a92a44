"""Files as plain values for templates: the tree, the versions, and comparisons of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

from django.utils.translation import gettext as _

from memory.models import Agent, AgentFile, FileChange
from memory.palace.dates import Moment, moment
from memory.palace.presenters import label
from memory.services.agent_files.reading import FileState
from memory.services.legible import UNREADABLE, legible
from memory.text.differences import Comparison, Side

OF_ALL: Final = "owner"


@dataclass(frozen=True, slots=True)
class FileEntry:
    """A file in the tree."""

    id: UUID
    name: str
    path: str
    updated: Moment
    current: bool
    marked: bool
    deleted: Moment | None = None


@dataclass(slots=True)
class Folder:
    """A folder of the tree; `current` tells that the open file lies in it."""

    name: str
    folders: list[Folder] = field(default_factory=list)
    files: list[FileEntry] = field(default_factory=list)
    current: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """The files of one agent, or of all: `scope` as services take it."""

    scope: str
    name: str
    root: Folder
    count: str
    opened: bool


@dataclass(frozen=True, slots=True)
class VersionRow:
    """A version of a file in its history."""

    number: str
    previous: str
    path: str
    what: str
    who: str
    model: str
    size: str
    made: Moment
    present: bool
    marks: str


@dataclass(frozen=True, slots=True)
class ShownPiece:
    """A part of a line: `mark` is `ins`, `del` or empty."""

    mark: str
    text: str


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of a comparison with its numbers before and after; `side` is `both`, `before` or `after`."""

    side: str
    before: str
    after: str
    pieces: tuple[ShownPiece, ...]


@dataclass(frozen=True, slots=True)
class ShownComparison:
    """Two texts beside each other; `more` lines that differ are not among the stretches, and `wholes` can be saved.

    These are versions of the file that were compared, by their numbers.
    """

    stretches: list[list[ShownLine]]
    more: int
    wholes: tuple[str, ...]


def places(
    agents: Sequence[Agent], files: Iterable[AgentFile], *, current: AgentFile | None, now: datetime
) -> list[Place]:
    """Make the tree: the files of all agents first, then those of each agent, also where it has none."""
    by_agent: dict[UUID | None, list[AgentFile]] = {}
    for one in files:
        by_agent.setdefault(one.agent_id, []).append(one)
    named = [(None, OF_ALL, _("All agents")), *((one.pk, f"agent:{one.pk}", agent_name(one)) for one in agents)]
    here = current.agent_id if current else None
    return [
        Place(
            scope=scope,
            name=name,
            root=_tree(by_agent.get(agent_id, []), current, now),
            count=str(len(by_agent.get(agent_id, []))),
            opened=agent_id == here if current else bool(by_agent.get(agent_id)),
        )
        for agent_id, scope, name in named
    ]


def agent_name(agent: Agent) -> str:
    """Give an agent's name, or say that it cannot be read."""
    return legible(agent, "name") or _(UNREADABLE)


def entry(row: AgentFile, now: datetime, *, current: bool = False) -> FileEntry:
    """Describe a file for a list."""
    path = legible(row, "path") or _(UNREADABLE)
    return FileEntry(
        id=row.pk,
        name=path.rsplit("/", 1)[-1],
        path=path,
        updated=moment(row.updated_at, now),
        current=current,
        marked=bool(row.injection_kinds),
        deleted=moment(row.deleted_at, now) if row.deleted_at else None,
    )


def _tree(rows: Sequence[AgentFile], current: AgentFile | None, now: datetime) -> Folder:
    root = Folder("")
    entries = [entry(row, now, current=current is not None and row.pk == current.pk) for row in rows]
    for one in sorted(entries, key=lambda one: one.path.casefold()):
        here = root
        for name in one.path.split("/")[:-1]:
            here.current |= one.current
            inner = next((folder for folder in here.folders if folder.name == name), None)
            if inner is None:
                inner = Folder(name)
                here.folders.append(inner)
            here = inner
        here.current |= one.current
        here.files.append(one)
    return root


def version_rows(states: Sequence[FileState], agents: Mapping[UUID, str], now: datetime) -> list[VersionRow]:
    """Describe the versions of a file, newest first."""
    numbers = [one.number for one in states]
    return [
        VersionRow(
            number=str(one.number),
            previous=str(numbers[place + 1]) if place + 1 < len(numbers) else "",
            path=one.path,
            what=_what(one.change),
            who=who(one.changed_by, agents),
            model=one.language_model or "",
            size=str(one.size),
            made=moment(one.made_at, now),
            present=place == 0,
            marks=", ".join(label(kind) for kind in one.injection_kinds),
        )
        for place, one in enumerate(states)
    ]


def who(changed_by: str, agents: Mapping[UUID, str]) -> str:
    """Name who has changed a file, as people read it."""
    if changed_by == "person":
        return _("you")
    kind, _sign, rest = changed_by.partition(":")
    if kind != "agent":
        return label(kind)
    return agents.get(UUID(rest)) or _("an agent that is gone")


def _what(change: str) -> str:
    words = {
        FileChange.CREATED: _("created"),
        FileChange.WRITTEN: _("written"),
        FileChange.RENAMED: _("renamed"),
        FileChange.DELETED: _("deleted"),
        FileChange.RESTORED: _("restored"),
    }
    return words[FileChange(change)]


def shown_comparison(found: Comparison, *versions: int) -> ShownComparison:
    """Describe a comparison of these versions for the page."""
    marks = {Side.BOTH: "", Side.BEFORE: "del", Side.AFTER: "ins"}
    stretches = [
        [
            ShownLine(
                side=str(line.side),
                before="" if line.before is None else str(line.before),
                after="" if line.after is None else str(line.after),
                pieces=tuple(ShownPiece(marks[piece.side], piece.text) for piece in line.pieces),
            )
            for line in stretch
        ]
        for stretch in found.stretches
    ]
    return ShownComparison(stretches, found.more, tuple(map(str, versions)))
