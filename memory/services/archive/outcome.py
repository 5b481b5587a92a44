"""What became of an import of an archive, and how far it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from memory.errors import LociError

MOST_ERRORS: Final = 100

Progress = Callable[[str, int, int], None]
"""Told the part, how many of its lines are done, and how many there are."""


class Mode(StrEnum):
    """What an import brings back of what is known here."""

    MISSING = "missing"
    ALL = "all"


def silent(part: str, done: int, total: int) -> None:
    """Tell nobody."""


@dataclass(slots=True)
class ArchiveImported:
    """What became of an archive.

    Attributes:
        archive: its id.
        created_at: the moment that it shows.
        fingerprint: of the key that signed it.
        signed_here: whether that is this installation's key.
        agents, groups, sessions, files: how many were made anew, and how many are here already.
        memories: how many were `created`; are here (`existing`); were `restored` from the archive; are not here because
            they were erased since the archive was made here (`erased_since`), or were about to be erased in it
            (`erasing`).
        history: how many lines of `versions`, `sources`, `uses` and `claims` came with the created memories.
        graph: by part.
        skills: how many.
        settings: how many settings and profiles were taken over; None where that was not asked for.
        left: by part, how many lines were not taken over.
        errors: the first 100 refused lines, by part and place.
        further_errors: how many more were refused.
    """

    archive: str
    created_at: str
    fingerprint: str
    signed_here: bool
    agents: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("created", "existing"), 0))
    groups: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("created", "existing"), 0))
    sessions: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("created", "existing"), 0))
    files: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("created", "existing"), 0))
    memories: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(("created", "existing", "restored", "erased_since", "erasing"), 0)
    )
    history: dict[str, int] = field(default_factory=lambda: dict.fromkeys(("versions", "sources", "uses", "claims"), 0))
    graph: dict[str, dict[str, int]] = field(default_factory=dict)
    skills: dict[str, int] = field(default_factory=dict)
    settings: int | None = None
    left: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    further_errors: int = 0

    def refuse(self, part: str, index: int, error: LociError) -> None:
        """Note why a line was refused; beyond the first hundred they are counted."""
        self.refuse_told({"part": part, "index": index, "code": error.machine_code, "message": error.message})

    def refuse_told(self, error: dict[str, Any]) -> None:
        """Note why a line was refused, as an import of a part tells it."""
        if len(self.errors) < MOST_ERRORS:
            self.errors.append(error)
        else:
            self.further_errors += 1

    def leave(self, part: str, lines: int = 1) -> None:
        """Count lines that were not taken over."""
        if lines:
            self.left[part] = self.left.get(part, 0) + lines
