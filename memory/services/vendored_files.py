"""Files of others that the pages load, kept in the repository: what they are, whether they are unchanged.

The lock file names each package with its version, the integrity that the registry gives, its licence, and each file
with the SHA-256 of its bytes and the place in the package that it was copied from.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memory.errors import Conflict, InvalidInput, NotFound

LOCK: Final = "vendor.lock.json"
LICENCES: Final = frozenset({"MIT"})
"""What may be handed on with the product without further duties than naming the licence."""

MOST_FILE_BYTES: Final = 2 * 1024 * 1024
FETCH_SECONDS: Final = 120


@dataclass(frozen=True, slots=True)
class VendoredFile:
    """One file: its name here, its place in the package, the SHA-256 of its bytes in hex."""

    name: str
    source: str
    sha256: str


@dataclass(frozen=True, slots=True)
class VendoredPackage:
    """One package as the lock names it; `made` says how its files were made where they are no plain copies."""

    name: str
    version: str
    integrity: str
    licence: str
    licence_file: str
    made: str
    files: tuple[VendoredFile, ...]

    @property
    def folder(self) -> str:
        """Give the folder of its files, below the folder of all."""
        return f"{self.name}/{self.version}"


def locked(root: Path) -> list[VendoredPackage]:
    """Read the lock file of a folder.

    Raises:
        InvalidInput: it is missing or not of the form that `vendor_fetch` writes.
    """
    try:
        document = json.loads((root / LOCK).read_text())
        return [_package(one) for one in document["packages"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InvalidInput(f"{LOCK} cannot be read: {type(error).__name__}.", code="vendor.lock") from error


def findings(root: Path) -> list[str]:
    """Say everything that is not in order with the files of a folder; nothing where all is well.

    Args:
        root: the folder that holds the lock and a folder for each package and version.
    """
    packages = locked(root)
    said: list[str] = []
    listed = {LOCK}
    for package in packages:
        names = {one.name for one in package.files}
        listed |= {f"{package.folder}/{name}" for name in names}
        said += list(_wrong_with(package, names))
        for one in package.files:
            path = root / package.folder / one.name
            if not path.is_file():
                said.append(f"{package.folder}/{one.name} is missing.")
            elif _digest(path.read_bytes()) != one.sha256:
                said.append(f"{package.folder}/{one.name} is not what the lock says.")
    there = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    said += [f"{name} is not in the lock." for name in sorted(there - listed)]
    return said


def _wrong_with(package: VendoredPackage, names: set[str]) -> Iterator[str]:
    if package.licence not in LICENCES:
        yield f"{package.folder} has the licence {package.licence}, which is none of {', '.join(sorted(LICENCES))}."
    if package.licence_file not in names:
        yield f"{package.folder} has no licence file."
    if not package.integrity.startswith("sha512-"):
        yield f"{package.folder} has no integrity."


def fetch(root: Path, name: str) -> list[str]:
    """Copy the files of one package of the lock anew from the package registry, by the registry's own client.

    Nothing is written unless the package and all of its files are what the lock says.

    Args:
        root: the folder of the lock.
        name: of the package.

    Returns:
        The files written.

    Raises:
        NotFound: the lock names no such package.
        Conflict: `vendor.differs`, the registry gave something else, or nothing.
    """
    package = next((one for one in locked(root) if one.name == name), None)
    if package is None:
        raise NotFound("The lock names no package of this name.")
    with tempfile.TemporaryDirectory() as folder:
        contents = _unpacked(package, Path(folder))
    target = root / package.folder
    target.mkdir(parents=True, exist_ok=True)
    for file, content in contents.items():
        (target / file).write_bytes(content)
    return [f"{package.folder}/{file}" for file in contents]


def _unpacked(package: VendoredPackage, folder: Path) -> dict[str, bytes]:
    command = ["npm", "pack", "--json", f"{package.name}@{package.version}"]
    try:
        done = subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=FETCH_SECONDS)
        (described,) = json.loads(done.stdout)
        packed = folder / described["filename"]
        integrity = described["integrity"]
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise Conflict(
            f"npm did not give the package: {type(error).__name__}. Nothing was changed.", code="vendor.differs"
        ) from error
    if integrity != package.integrity:
        raise Conflict("The package is not the one of the lock. Nothing was changed.", code="vendor.differs")
    contents: dict[str, bytes] = {}
    with tarfile.open(packed) as archive:
        for one in package.files:
            member = archive.extractfile(f"package/{one.source}")
            content = member.read(MOST_FILE_BYTES) if member else b""
            if _digest(content) != one.sha256:
                raise Conflict(f"{one.source} is not what the lock says. Nothing was changed.", code="vendor.differs")
            contents[one.name] = content
    return contents


def _package(one: Mapping[str, Any]) -> VendoredPackage:
    files: Sequence[Mapping[str, str]] = one["files"]
    return VendoredPackage(
        name=str(one["name"]),
        version=str(one["version"]),
        integrity=str(one["integrity"]),
        licence=str(one["licence"]),
        licence_file=str(one["licence_file"]),
        made=str(one["made"]),
        files=tuple(VendoredFile(file["name"], file["source"], file["sha256"]) for file in files),
    )


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
