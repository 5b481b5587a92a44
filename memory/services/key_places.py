"""Where the keys stand and who may read them: what encryption of the database is worth depends on it."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from django.conf import settings

from memory.services.findings import Finding

CLOSED_TO_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
# A vault has a file for each owner; beyond this many a mistake shows in the first ones too.
MOST_FILES: Final = 1_000


def key_findings(master_key_file: Path | None) -> list[Finding]:
    """Check that master key, vault and data lie apart and are closed to other users; reads no key.

    Args:
        master_key_file: the file of the master key, None when it comes from the environment.
    """
    data, keys = Path(settings.DATA_DIRECTORY), Path(settings.KEYS_DIRECTORY)
    return [_apart(master_key_file, data=data, keys=keys), _closed(master_key_file, keys=keys)]


def _apart(master_key_file: Path | None, *, data: Path, keys: Path) -> Finding:
    name = "key places"
    if master_key_file is not None and _inside(master_key_file, data):
        return Finding(
            name,
            "degraded",
            f"The master key ({master_key_file}) lies inside the data directory, so a copy of the data is a copy of "
            "the key that opens it.",
            "Move it elsewhere and name the new place in LOCI_MASTER_KEY_FILE.",
        )
    if master_key_file is not None and _inside(master_key_file, keys):
        return Finding(
            name,
            "degraded",
            f"The master key ({master_key_file}) lies inside the key vault that it opens.",
            "Move it elsewhere and name the new place in LOCI_MASTER_KEY_FILE.",
        )
    if _inside(keys, data) or _inside(data, keys):
        return Finding(
            name,
            "degraded",
            "Key vault and data directory lie inside one another, so one backup holds both.",
            "Stop Loci, move the vault and name its new place in LOCI_KEYS_DIR.",
        )
    return Finding(name, "ok", "Master key, key vault and data lie apart.")


def _closed(master_key_file: Path | None, *, keys: Path) -> Finding:
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


def _places(master_key_file: Path | None, keys: Path) -> Iterable[Path]:
    if master_key_file is not None and master_key_file.exists():
        yield master_key_file
    if keys.exists():
        yield keys
        files = sorted(keys.rglob("*"))
        yield from files[:MOST_FILES]


def _inside(path: Path, directory: Path) -> bool:
    return path.resolve().is_relative_to(directory.resolve())
