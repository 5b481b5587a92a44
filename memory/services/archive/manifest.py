"""The manifest of an archive: what is in it, who made it, and the signature over it."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final
from uuid import UUID

from memory.crypto.signing import canonical, fingerprint, is_signed, signer
from memory.errors import InvalidInput

FORMAT: Final = "loci-archive/1"
PURPOSE: Final = "archive"
README_FILE: Final = "README.txt"
MANIFEST_FILE: Final = "manifest.json"
SIGNATURE_FILE: Final = "signature"
FILE_NAME: Final = re.compile(r"README\.txt|[a-z][a-z_]{0,40}\.jsonl")

_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class FileEntry:
    """One file: its name, its lines (0 for the readme), its size unpacked in bytes and its SHA-256."""

    name: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an archive says of itself.

    Attributes:
        id: of the archive; the audit of the installation that made it names it too.
        created_at: when, in ISO 8601.
        version: of the product that made it.
        owner: the id that the owner had there.
        pseudonym: of the owner's audit there.
        complete: whether it holds everything, or what one agent could read.
        public_key: of the installation that signed it, in hexadecimal.
        files: all files but the manifest and its signature.
        unreadable: how many values did not open with the owner's keys.
        left_out: by table, why its rows are not in the archive.
    """

    id: str
    created_at: str
    version: str
    owner: str
    pseudonym: str
    complete: bool
    public_key: str
    files: tuple[FileEntry, ...]
    unreadable: int
    left_out: dict[str, str]

    @property
    def fingerprint(self) -> str:
        """Give the short name of the key that signed it."""
        return fingerprint(bytes.fromhex(self.public_key))

    @property
    def signed_here(self) -> bool:
        """Tell whether this installation signed it."""
        return bytes.fromhex(self.public_key) == signer().public_key

    def rows(self, name: str) -> int:
        """Give how many lines a part has, 0 where the archive does not hold it."""
        return next((one.rows for one in self.files if one.name == f"{name}.jsonl"), 0)

    def size(self, name: str) -> int:
        """Give how many bytes a part has, 0 where the archive does not hold it."""
        return next((one.bytes for one in self.files if one.name == f"{name}.jsonl"), 0)


def product_version() -> str:
    """Give the version of this product; `unknown` where it runs from a tree that was not installed."""
    try:
        return version("loci")
    except PackageNotFoundError:
        return "unknown"


def written(manifest: Manifest) -> bytes:
    """Write a manifest in the form that is signed."""
    return canonical(_members(manifest))


def _members(manifest: Manifest) -> dict[str, Any]:
    members = asdict(manifest)
    files = members.pop("files")
    return {
        "format": FORMAT,
        **members,
        "counts": {one["name"].removesuffix(".jsonl"): one["rows"] for one in files if one["name"] != README_FILE},
        "files": list(files),
    }


def signature_of(text: bytes) -> bytes:
    """Sign a written manifest in the name of this installation; a line of hexadecimal digits."""
    return signer().sign(text, purpose=PURPOSE).hex().encode() + b"\n"


def read_manifest(text: bytes, signature: bytes) -> Manifest:
    """Read a manifest and check its signature against the key that it names.

    Raises:
        InvalidInput: `archive.format`, no manifest of this format; `archive.signature`, not signed by that key, or
            changed since.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise unusable() from error
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise InvalidInput(f"This archive is not of the format {FORMAT}. Nothing was stored.", code="archive.format")
    manifest = _manifest(value)
    try:
        signed, text = bytes.fromhex(signature.decode("ascii").strip()), canonical(value)
    except ValueError as error:
        raise _forged() from error
    if not is_signed(text, signed, public_key=bytes.fromhex(manifest.public_key), purpose=PURPOSE):
        raise _forged()
    return manifest


def _manifest(value: dict[str, Any]) -> Manifest:
    try:
        files = tuple(_entry(one) for one in value["files"])
        left_out = value["left_out"]
        moment = datetime.fromisoformat(value["created_at"])
        manifest = Manifest(
            id=str(UUID(value["id"])),
            created_at=value["created_at"],
            version=str(value["version"])[:40],
            owner=str(UUID(value["owner"])),
            pseudonym=str(UUID(value["pseudonym"])),
            complete=value["complete"] is True,
            public_key=value["public_key"],
            files=files,
            unreadable=int(value["unreadable"]),
            left_out={str(name): str(reason) for name, reason in left_out.items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise unusable() from error
    if moment.tzinfo is None or not _DIGEST.fullmatch(manifest.public_key):
        raise unusable()
    if len({one.name for one in files}) != len(files):
        raise unusable()
    return manifest


def _entry(value: Any) -> FileEntry:
    entry = FileEntry(value["name"], value["rows"], value["bytes"], value["sha256"])
    whole = all(isinstance(one, int) and not isinstance(one, bool) and one >= 0 for one in (entry.rows, entry.bytes))
    if not whole or not FILE_NAME.fullmatch(entry.name) or not _DIGEST.fullmatch(entry.sha256):
        raise unusable()
    return entry


def unusable() -> InvalidInput:
    """Make the error of an archive whose manifest is none."""
    return InvalidInput("The archive's manifest cannot be read. Nothing was stored.", code="archive.format")


def _forged() -> InvalidInput:
    return InvalidInput(
        "The archive's signature does not fit its manifest: it was changed, or never signed. Nothing was stored.",
        code="archive.signature",
    )
