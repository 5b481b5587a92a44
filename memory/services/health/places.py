"""Whether what Loci keeps on disks is there and has room: the key vault, and the directories; and its switch."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils.translation import gettext_noop

from memory.crypto.keyring import keyring
from memory.errors import LociError
from memory.providers.composition import vault_used_before
from memory.services.findings import Finding, worst

LITTLE_SPACE: Final = 1024**3
NO_SPACE: Final = 100 * 1024**2

RESTORE_VAULT: Final = (
    "Restore the vault together with its master key, or name the right one in LOCI_KEYS_DIR or KEYS_DATABASE_URL."
)


def keys_finding(*, owners: bool) -> Finding:
    """Tell whether the master key opens the key vault; reads one small file.

    Args:
        owners: whether there are owners, whose keys must then be there.
    """
    try:
        if not vault_used_before():
            # Opening it would set it up, and a check changes nothing.
            if owners:
                return Finding("keys", "failing", "The key vault of this database's owners is gone.", RESTORE_VAULT)
            return Finding("keys", "failing", "The key vault was never set up, or is gone.", "python3 manage.py up")
        keyring().vault.verify()
    except LociError as error:
        return Finding("keys", "failing", error.message)
    except OSError as error:
        reason = f"The key vault cannot be looked at ({type(error).__name__})."
        return Finding("keys", "failing", reason, "Check the owner and mode of LOCI_KEYS_DIR.")
    return Finding("keys", "ok", "The master key opens the key vault.")


def memory_switch_finding() -> Finding:
    """Tell whether memory is switched on."""
    if settings.MEMORY_ENABLED:
        return Finding("memory", "ok", "Memory is switched on.")
    return Finding("memory", "degraded", "Memory is switched off (MEMORY_ENABLED).", "MEMORY_ENABLED=true")


def disk_finding() -> Finding:
    """Tell how much room is left where Loci writes: for the embedded database, the keys, the settings and the cache.

    Without room, a database fails what is written; the other places are written seldom and little.
    """
    findings = [_room(place, path, needed) for place, path, needed in _places()]
    state = worst(findings)
    told = [found for found in findings if found.status == state]
    # Of what is well, the first is the one that grows.
    if state == "ok":
        return told[0]
    return Finding("disk", state, " ".join(found.detail for found in told), told[0].remedy)


def _places() -> Iterator[tuple[str, Path, bool]]:
    """Give what is written, where, and whether it grows with every memory."""
    if settings.EMBEDDED_DATABASE:
        yield gettext_noop("the database"), Path(settings.DATA_DIRECTORY), True
    if not settings.KEYS_DATABASE_URL:
        yield gettext_noop("the keys"), Path(settings.KEYS_DIRECTORY), False
    yield gettext_noop("the configuration"), Path(settings.CONFIG_DIRECTORY), False
    yield gettext_noop("the cache"), Path(settings.CACHE_DIRECTORY), False


def _room(place: str, path: Path, grows: bool) -> Finding:
    try:
        free = shutil.disk_usage(path if grows else _that_is_there(path)).free
    except OSError as error:
        return Finding("disk", "degraded", f"The directory of {place} cannot be looked at ({type(error).__name__}).")
    if free < (LITTLE_SPACE if grows else NO_SPACE):
        status: Final = "failing" if grows and free < NO_SPACE else "degraded"
        return Finding("disk", status, f"{free // 1024**2} MiB are free for {place}.", "Make room on the disk.")
    size = f"{free // 1024**3} GiB" if free >= LITTLE_SPACE else f"{free // 1024**2} MiB"
    return Finding("disk", "ok", f"{size} are free for {place}.")


def _that_is_there(path: Path) -> Path:
    """Give the directory, or the nearest one above it: what is made when it is first needed may not be there yet."""
    return next((one for one in (path, *path.parents) if one.exists()), path)
