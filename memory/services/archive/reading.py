"""Reading an archive that somebody sent: nothing of it is used before all of it was checked."""

from __future__ import annotations

import json
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from itertools import islice
from typing import IO, Any, Final

from memory.errors import InvalidInput, TooLarge
from memory.services.archive import limits
from memory.services.archive.manifest import (
    FILE_NAME,
    MANIFEST_FILE,
    README_FILE,
    SIGNATURE_FILE,
    FileEntry,
    Manifest,
    read_manifest,
)

Record = dict[str, Any]

_END: Final = struct.Struct("<4s4H2LH")
_END_64: Final = struct.Struct("<4sQ2H2L4Q")
_LOCATOR: Final = struct.Struct("<4sLQL")

# A text, whole or cut off, or a mark outside of texts that another value comes with. Nothing is looked at twice.
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[,\[{]', re.DOTALL)
_MOST_TOKENS: Final = 4 * limits.MOST_VALUES
_HALF: Final = re.compile(rb"\\u[dD][89a-fA-F]")


class Archive:
    """A checked archive: its manifest, and its lines as often as they are asked for."""

    def __init__(self, packed: zipfile.ZipFile, manifest: Manifest) -> None:
        """Take an archive that `checked_archive` has found to be whole."""
        self._packed = packed
        self.manifest = manifest

    def lines(self, name: str) -> Iterator[Record]:
        """Give the rows of a part in the order of the file; nothing where the archive does not hold the part.

        Raises:
            InvalidInput: `archive.line`, a line that is no JSON object, nested too deeply, or with half a character.
            TooLarge: `archive.too_large`, a line beyond 4 MiB, or with more than 20,000 values.
        """
        for line, _ in self.sized_lines(name):
            yield line

    def sized_lines(self, name: str) -> Iterator[tuple[Record, int]]:
        """Give the rows of a part with the bytes of their lines, more of those with many values; see `lines`."""
        if not any(one.name == f"{name}.jsonl" for one in self.manifest.files):
            return
        with _damage_told(), self._packed.open(f"{name}.jsonl") as file:
            while line := file.readline(limits.MOST_LINE_BYTES + 1):
                if len(line) > limits.MOST_LINE_BYTES:
                    raise _too_large(f"A line of {name}.jsonl")
                values = _values(line, name)
                yield _object(line, name), max(len(line), values * limits.VALUE_BYTES)

    def pages(self, name: str, most: int) -> Iterator[list[tuple[int, Record]]]:
        """Give the rows of a part with their places, so many at once or as many as have 16 MiB; see `lines`."""
        page: list[tuple[int, Record]] = []
        held = 0
        for index, (line, size) in enumerate(self.sized_lines(name)):
            page.append((index, line))
            held += size
            if len(page) >= most or held >= limits.MOST_PAGE_BYTES:
                yield page
                page, held = [], 0
        if page:
            yield page


def checked_archive(file: IO[bytes]) -> Archive:
    """Check an archive as a whole: its form, its bounds, its signature, and the digest of every file in it.

    It is unpacked once for that, in pieces and within the bounds of `memory.services.archive.limits`; nothing is kept.

    Args:
        file: opened for reading, seekable. It has to stay open as long as the archive is used.

    Raises:
        InvalidInput: `archive.format`, no archive of this format; `archive.damaged`, cut off or changed;
            `archive.unsigned`, without signature; `archive.signature`, with a wrong one; `archive.files`, files that
            the manifest does not name, or names that no archive has.
        TooLarge: `archive.too_large`, beyond one of the bounds.
    """
    with _damage_told():
        _check_end(file)
        packed = zipfile.ZipFile(file)
    members = _members(packed)
    if MANIFEST_FILE not in members:
        raise InvalidInput("This is no archive: it has no manifest. Nothing was stored.", code="archive.format")
    if SIGNATURE_FILE not in members:
        raise InvalidInput("The archive is not signed. Nothing was stored.", code="archive.unsigned")
    manifest = read_manifest(
        _small(packed, members[MANIFEST_FILE]),
        _small(packed, members[SIGNATURE_FILE]),
    )
    if {one.name for one in manifest.files} != set(members) - {MANIFEST_FILE, SIGNATURE_FILE}:
        raise InvalidInput(
            "The files in the archive are not those that its manifest names. Nothing was stored.", code="archive.files"
        )
    for entry in manifest.files:
        _check_file(packed, entry)
    return Archive(packed, manifest)


def _check_end(file: IO[bytes]) -> None:
    """Refuse a file whose table of contents would be too large to be read, before it is."""
    size = file.seek(0, 2)
    if size > limits.MOST_FILE_BYTES:
        raise _too_large("The archive")
    if size < _END.size:
        raise zipfile.BadZipFile
    file.seek(-_END.size, 2)
    mark, _, _, _, entries, directory, _, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\5\6" or comment:
        # Ours have no comment, in which a second end could hide.
        raise zipfile.BadZipFile
    before = _END.size + _LOCATOR.size + _END_64.size
    if size >= before:
        file.seek(-before, 2)
        end_64 = _END_64.unpack(file.read(_END_64.size))
        if file.read(4) == b"PK\6\7":
            entries, directory = max(entries % 0xFFFF, end_64[7]), max(directory % 0xFFFFFFFF, end_64[8])
    if entries > limits.MOST_FILES or directory > limits.MOST_DIRECTORY_BYTES:
        raise _too_large("The archive's table of contents")


def _members(packed: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    found: dict[str, zipfile.ZipInfo] = {}
    total = 0
    for info in packed.infolist():
        known = FILE_NAME.fullmatch(info.filename) or info.filename in (MANIFEST_FILE, SIGNATURE_FILE)
        if not known or info.orig_filename != info.filename or info.filename in found:
            raise InvalidInput(
                "The archive holds a file of a name that no archive has, or one name twice. Nothing was stored.",
                code="archive.files",
            )
        if info.flag_bits & 0x1 or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise InvalidInput(
                "The archive is locked or packed in a way that is not supported. Nothing was stored.",
                code="archive.format",
            )
        total += info.file_size
        _check_sizes(info, total)
        found[info.filename] = info
    return found


def _check_sizes(info: zipfile.ZipInfo, total: int) -> None:
    most = limits.MOST_MANIFEST_BYTES if info.filename in (MANIFEST_FILE, SIGNATURE_FILE) else limits.MOST_MEMBER_BYTES
    bomb = info.file_size > max(limits.FREE_BYTES, info.compress_size * limits.MOST_RATIO)
    if info.file_size > most or total > limits.MOST_TOTAL_BYTES or bomb:
        raise _too_large("A file in the archive, unpacked,")


def _small(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    with _damage_told(), packed.open(info) as file:
        return file.read(limits.MOST_MANIFEST_BYTES)


def _check_file(packed: zipfile.ZipFile, entry: FileEntry) -> None:
    digest, size, rows, last = sha256(), 0, 0, b"\n"
    with _damage_told(), packed.open(entry.name) as file:
        while piece := file.read(limits.PIECE):
            size += len(piece)
            if size > entry.bytes:
                break
            digest.update(piece)
            rows += piece.count(b"\n")
            last = piece[-1:]
    listed = entry.name == README_FILE or (rows == entry.rows and last == b"\n")
    if size != entry.bytes or digest.hexdigest() != entry.sha256 or not listed:
        raise _damaged()


def _values(line: bytes, name: str) -> int:
    """Count the values in a line before it is parsed; what is no JSON gives some number.

    Every value follows upon a comma, a colon or a bracket. Those in texts are told apart only where there are many.
    """
    count = sum(line.count(mark) for mark in (b",", b"[", b"{"))
    if count > limits.MOST_VALUES:
        count = sum(1 for token in islice(_TOKEN.finditer(line), _MOST_TOKENS) if token[0][:1] != b'"')
        if count > limits.MOST_VALUES:
            raise _too_large(f"The number of values in a line of {name}.jsonl")
    return count


def _object(line: bytes, name: str) -> Record:
    try:
        value = json.loads(line)
        if _HALF.search(line):
            # Halves that belong together are one character; one alone is none, and could be stored nowhere.
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise _bad_line(name) from error
    if not isinstance(value, dict) or _too_deep(value):
        raise _bad_line(name)
    return value


def _too_deep(value: Any) -> bool:
    level = [value]
    for _ in range(limits.MOST_DEPTH):
        inner = [one for outer in level for one in (outer.values() if isinstance(outer, dict) else outer)]
        level = [one for one in inner if isinstance(one, dict | list)]
        if not level:
            return False
    return True


@contextmanager
def _damage_told() -> Iterator[None]:
    """Turn whatever the unpacking raises over bytes that make no sense into one error."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError, RuntimeError) as error:
        raise _damaged() from error
    except (ValueError, OverflowError, UnicodeError, OSError) as error:
        raise _damaged() from error


def _damaged() -> InvalidInput:
    return InvalidInput(
        "The archive is cut off, damaged or was changed after it was signed. Nothing was stored.",
        code="archive.damaged",
    )


def _bad_line(name: str) -> InvalidInput:
    return InvalidInput(f"A line of {name}.jsonl is not a JSON object that can be used.", code="archive.line")


def _too_large(what: str) -> TooLarge:
    return TooLarge(f"{what} is larger than what is taken. Nothing was stored.", code="archive.too_large")
