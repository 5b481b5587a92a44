"""The actions of `manage.py memory` that write archives and snapshots, and take them over."""

from __future__ import annotations

import os
import sys
import zipfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from getpass import getpass
from pathlib import Path
from typing import IO, Any, Final

from memory.errors import InvalidInput
from memory.management.answers import answer
from memory.management.stdin import line_of_stdin
from memory.services.actors import Actor
from memory.services.archive.exporting import archive_stream
from memory.services.archive.importing import import_archive
from memory.services.archive.manifest import MANIFEST_FILE, SIGNATURE_FILE, read_manifest
from memory.services.archive.outcome import ArchiveImported, Mode
from memory.services.archive.snapshot import restore_snapshot, snapshot_stream

Write = Callable[[str], object]
Options = Mapping[str, Any]

# Something did not open.
ATTENTION: Final = 3


def add_archive_actions(actions: Any) -> list[ArgumentParser]:
    """Declare the actions; gives their parsers, so that the command adds what all of its actions take."""
    writing = actions.add_parser("archive", help="write everything that is stored about an owner to a new file")
    writing.add_argument("file", type=Path, metavar="FILE", help="a new zip file, readable by you alone; in clear")
    sealing = actions.add_parser("snapshot", help="write the same, sealed, to a new file")
    sealing.add_argument("file", type=Path, metavar="FILE", help="a new file")
    taking = actions.add_parser("archive-import", help="take over an archive of this or another installation")
    taking.add_argument("file", type=Path, metavar="FILE", help="what `memory archive` has written")
    restoring = actions.add_parser("snapshot-restore", help="bring back what a snapshot holds and is not here")
    restoring.add_argument("file", type=Path, metavar="FILE", help="what `memory snapshot` has written")
    for parser in (sealing, restoring):
        parser.add_argument("--passphrase", action="store_true", help="ask for a passphrase instead of the owner's key")
        parser.add_argument("--stdin", action="store_true", help="read the passphrase from standard input")
    for parser in (taking, restoring):
        parser.add_argument(
            "--mode",
            choices=[mode.value for mode in Mode],
            default=Mode.MISSING.value,
            help="missing: what was archived or erased since stays so; all: it comes back",
        )
        # Every command of the framework has an option --settings of another meaning.
        parser.add_argument("--with-settings", action="store_true", help="take settings and profiles over too")
    return [writing, sealing, taking, restoring]


def write_archive_file(actor: Actor, options: Options, write: Write) -> None:
    """Write an archive to a new file; ends with 3 when values did not open and are missing in it."""
    size = _store(archive_stream(actor=actor), options["file"])
    with zipfile.ZipFile(options["file"]) as packed:
        unreadable = read_manifest(packed.read(MANIFEST_FILE), packed.read(SIGNATURE_FILE)).unreadable
    _tell_stored(options, write, size, unreadable=unreadable)
    if unreadable:
        raise SystemExit(ATTENTION)


def write_snapshot_file(actor: Actor, options: Options, write: Write) -> None:
    """Write a snapshot to a new file."""
    size = _store(snapshot_stream(actor=actor, passphrase=_passphrase(options, twice=True)), options["file"])
    _tell_stored(options, write, size)


def take_archive_file(actor: Actor, options: Options, write: Write) -> None:
    """Take an archive over."""
    with _opened(options["file"]) as file:
        found = import_archive(
            actor=actor, file=file, mode=options["mode"], settings=options["with_settings"], progress=_told()
        )
    _report(found, options, write)


def take_snapshot_file(actor: Actor, options: Options, write: Write) -> None:
    """Restore a snapshot."""
    with _opened(options["file"]) as file:
        found = restore_snapshot(
            actor=actor,
            file=file,
            passphrase=_passphrase(options, twice=False),
            mode=options["mode"],
            settings=options["with_settings"],
            progress=_told(),
        )
    _report(found, options, write)


ARCHIVE_ACTIONS: Final[Mapping[str, Callable[[Actor, Options, Write], None]]] = {
    "archive": write_archive_file,
    "snapshot": write_snapshot_file,
    "archive-import": take_archive_file,
    "snapshot-restore": take_snapshot_file,
}


def _store(pieces: Iterator[bytes], path: Path) -> int:
    """Write pieces to a new file for its owner's eyes only, and give its size; what is not whole goes again."""
    try:
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise InvalidInput(
            f"The file cannot be made: {error.strerror}. Nothing was written.", code="file.unusable"
        ) from error
    size = 0
    try:
        with os.fdopen(number, "wb") as file:
            for piece in pieces:
                size += file.write(piece)
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return size


def _tell_stored(options: Options, write: Write, size: int, *, unreadable: int | None = None) -> None:
    value = {"file": str(options["file"]), "bytes": size}
    lines = [f"{options['file']} was written: {size:,} bytes, readable by you alone."]
    if unreadable is not None:
        value["unreadable"] = unreadable
    if unreadable:
        lines.append(
            f"{unreadable} values did not open with the owner's keys and are missing in it. `keys verify --all` tells "
            "in which tables; a copy of the key vault from before may open them."
        )
    answer(write, value, as_json=options["json"], lines=lines)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(
            f"The file cannot be read: {error.strerror}. Nothing was stored.", code="file.unusable"
        ) from error
    with file:
        yield file


def _passphrase(options: Options, *, twice: bool) -> str | None:
    if options["stdin"]:
        return line_of_stdin()
    if not options["passphrase"]:
        return None
    if not sys.stdin.isatty():
        raise InvalidInput(
            "There is no terminal to ask for a passphrase at. Nothing was done. Use --stdin, which reads it from "
            "standard input.",
            code="passphrase.no_terminal",
        )
    text = getpass("Passphrase: ")
    if twice and getpass("Once more: ") != text:
        raise InvalidInput("The two passphrases differ. Nothing was written.", code="passphrase.differs")
    return text


def _told() -> Callable[[str, int, int], None]:
    """Tell a terminal how far an import is; nothing else is told, so that the answer stands alone."""
    if not sys.stderr.isatty():
        return lambda part, done, total: None

    def told(part: str, done: int, total: int) -> None:
        end = "\n" if done >= total else ""
        sys.stderr.write(f"\r{part}: {done:,} of {total:,}{end}")
        sys.stderr.flush()

    return told


def _report(found: ArchiveImported, options: Options, write: Write) -> None:
    counts = found.memories
    here = "this installation" if found.signed_here else "another installation"
    lines = [
        f"The archive of {found.created_at} was signed by {here}: {found.fingerprint}",
        f"{counts['created']} memories are new, {counts['existing']} were here, {counts['restored']} are unarchived.",
    ]
    if counts["erased_since"]:
        lines.append(f"{counts['erased_since']} were erased since and stay so; --mode all brings them back.")
    graph = sum(part.get("created", 0) for part in found.graph.values())
    lines.append(f"{graph} rows of the graph and {found.skills.get('created', 0)} skills are new.")
    if found.files["created"]:
        lines.append(f"{found.files['created']} files of agents are new.")
    if found.left:
        lines.append("Not taken over: " + ", ".join(f"{lines_} {part}" for part, lines_ in sorted(found.left.items())))
    refused = len(found.errors) + found.further_errors
    if refused:
        lines.append(f"{refused} lines were refused; --json lists the first hundred.")
    answer(write, asdict(found), as_json=options["json"], lines=lines)
