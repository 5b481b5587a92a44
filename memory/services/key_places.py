"""Where the keys stand and who may read them: what encryption of the database is worth depends on it."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import psycopg
from django.conf import settings
from psycopg.conninfo import conninfo_to_dict

from memory.services.findings import Finding

CLOSED_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
# A vault has a file for each owner; beyond this many a mistake shows in the first ones too.
MOST_FILES: Final = 1_000
DEFAULT_PORT: Final = "5432"
# Where container engines put the secrets that a container was granted: which processes see a file is decided by that,
# and its mode is what lets the container's own user read it.
GRANTED: Final = Path("/run/secrets")


def key_findings(master_key_file: Path | None) -> list[Finding]:
    """Check that master key, vault and data lie apart and are closed to other users; reads no key.

    Args:
        master_key_file: the file of the master key, None when it comes from the environment.

    Returns:
        One finding for places, one for modes, and one for the vault's database where it has one.
    """
    data = Path(settings.DATA_DIRECTORY)
    if settings.KEYS_DATABASE_URL:
        # The vault has no directory then, but must be another database than that of the memories.
        return [_apart(master_key_file, data=data, keys=None), _closed(master_key_file, keys=None), _own_database()]
    keys = Path(settings.KEYS_DIRECTORY)
    return [_apart(master_key_file, data=data, keys=keys), _closed(master_key_file, keys=keys)]


def _apart(master_key_file: Path | None, *, data: Path, keys: Path | None) -> Finding:
    name = "key places"
    if master_key_file is not None and _inside(master_key_file, data):
        return Finding(
            name,
            "degraded",
            f"The master key ({master_key_file}) lies inside the data directory, so a copy of the data is a copy of "
            "the key that opens it.",
            "Move it elsewhere and name the new place in LOCI_MASTER_KEY_FILE.",
        )
    if master_key_file is not None and keys is not None and _inside(master_key_file, keys):
        return Finding(
            name,
            "degraded",
            f"The master key ({master_key_file}) lies inside the key vault that it opens.",
            "Move it elsewhere and name the new place in LOCI_MASTER_KEY_FILE.",
        )
    if keys is not None and (_inside(keys, data) or _inside(data, keys)):
        return Finding(
            name,
            "degraded",
            "Key vault and data directory lie inside one another, so one backup holds both.",
            "Stop Loci, move the vault and name its new place in LOCI_KEYS_DIR.",
        )
    return Finding(name, "ok", "Master key, key vault and data lie apart.")


def _closed(master_key_file: Path | None, *, keys: Path | None) -> Finding:
    name = "key modes"
    open_to_others = [path for path in _places(master_key_file, keys) if path.stat().st_mode & CLOSED_TO_OTHERS]
    if open_to_others:
        first = open_to_others[0]
        mode = "700" if first.is_dir() else "600"
        more = f" and {len(open_to_others) - 1} more" if len(open_to_others) > 1 else ""
        return Finding(
            name, "degraded", f"Other users of this machine may open {first}{more}.", f"chmod {mode} {first}"
        )
    return Finding(name, "ok", "Only this user may read master key and key vault.")


def _own_database() -> Finding:
    """Compare the vault's database with that of the memories, by what their addresses say."""
    name = "key database"
    remedy = "Give the key vault a database of its own in KEYS_DATABASE_URL."
    try:
        vault = conninfo_to_dict(settings.KEYS_DATABASE_URL)
    except psycopg.ProgrammingError:
        return Finding(name, "failing", "KEYS_DATABASE_URL is not the address of a database.", remedy)
    memories = settings.DATABASES["default"]
    place = (memories["HOST"] or "localhost", memories["PORT"] or DEFAULT_PORT, memories["NAME"])
    if place == (vault.get("host") or "localhost", str(vault.get("port") or DEFAULT_PORT), vault.get("dbname")):
        return Finding(name, "failing", "The key vault is in the database of the memories that it protects.", remedy)
    return Finding(name, "ok", "The key vault has a database of its own.")


def _places(master_key_file: Path | None, keys: Path | None) -> Iterable[Path]:
    if master_key_file is not None and master_key_file.exists() and not _inside(master_key_file, GRANTED):
        yield master_key_file
    if keys is not None and keys.exists():
        yield keys
        files = sorted(keys.rglob("*"))
        yield from files[:MOST_FILES]


def _inside(path: Path, directory: Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())
