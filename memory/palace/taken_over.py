"""Files that people bring, told apart by their first bytes, and what became of them in sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, Final

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from memory.palace.numbers import whole
from memory.palace.presenters import label
from memory.services.actors import Actor
from memory.services.archive.importing import import_archive
from memory.services.archive.outcome import ArchiveImported
from memory.services.archive.snapshot import restore_snapshot
from memory.services.archive.snapshot_format import MAGIC
from memory.services.importing import Imported, import_document
from memory.text.strict_json import object_of

ZIP: Final = b"PK"
OUTCOMES: Final = {
    "created": gettext_lazy("new here"),
    "existing": gettext_lazy("known already"),
    "skipped": gettext_lazy("left out: replaced by a newer one"),
    "restored": gettext_lazy("back from the archive"),
    "erased_since": gettext_lazy("left out: erased since"),
    "erasing": gettext_lazy("left out: about to be erased"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """A count of what became of one part of a file; `count` is written for every language alike."""

    part: str
    outcome: str
    count: str


@dataclass(frozen=True, slots=True)
class TakenOver:
    """What became of a file: its sort, counts, and refused items with the reasons."""

    sort: str
    lines: list[Line]
    refused: list[dict[str, str]]
    further: str

    @property
    def nothing(self) -> bool:
        """Tell whether nothing of the file could be used."""
        return not self.lines


def take_over(
    *, actor: Actor, file: IO[bytes], most: int, passphrase: str | None, mode: str, settings: bool
) -> TakenOver:
    """Take a file over, whichever sort it is.

    Args:
        actor: whose memories it joins.
        file: opened for reading, seekable.
        most: bytes that it may have.
        passphrase: for a snapshot that was sealed with one.
        mode: for archives and snapshots, see `import_archive`.
        settings: whether settings are taken over too, likewise.

    Raises:
        LociError: as the services that take it over; nothing was stored unless they say so.
    """
    start = file.read(len(MAGIC))
    file.seek(0)
    if start == MAGIC:
        return _whole(
            _("snapshot"),
            restore_snapshot(actor=actor, file=file, passphrase=passphrase, mode=mode, settings=settings),
        )
    if start.startswith(ZIP):
        return _whole(pgettext("noun", "archive"), import_archive(actor=actor, file=file, mode=mode, settings=settings))
    return _export(import_document(actor=actor, document=object_of(file.read(most), most=most)))


def _export(found: Imported) -> TakenOver:
    memories = {"created": found.created, "existing": found.existing, "skipped": found.skipped}
    parts: dict[str, Mapping[str, int]] = {"memories": memories, **found.graph, "skills": found.skills}
    return TakenOver(_("export"), _lines(parts), _refused(found.errors), _further(found.further_errors))


def _whole(sort: str, found: ArchiveImported) -> TakenOver:
    parts: dict[str, Mapping[str, int]] = {
        "memories": found.memories,
        "agents": found.agents,
        "groups": found.groups,
        "sessions": found.sessions,
        "history": found.history,
        **found.graph,
        "skills": found.skills,
        "files": found.files,
        "settings": {"created": found.settings or 0},
    }
    foreign = _("left out: of the installation, not of the memories")
    left = [Line(label(part), foreign, whole(count)) for part, count in found.left.items()]
    return TakenOver(sort, [*_lines(parts), *left], _refused(found.errors), _further(found.further_errors))


def _lines(parts: Mapping[str, Mapping[str, int]]) -> list[Line]:
    return [
        Line(label(part), str(OUTCOMES[name]) if name in OUTCOMES else label(name), whole(count))
        for part, counts in parts.items()
        for name, count in counts.items()
        if count
    ]


def _refused(errors: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Give refused items; people count from one."""
    return [
        {
            "part": label(str(error["part"])),
            "place": str(int(error["index"]) + 1),
            "code": str(error["code"]),
            "message": _(str(error["message"])),
        }
        for error in errors
    ]


def _further(count: int) -> str:
    return whole(count) if count else ""
