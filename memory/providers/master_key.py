"""The master key: from the environment, or generated once into the configuration directory."""

from __future__ import annotations

import base64
import contextlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path

from memory.crypto.derivation import KEY_BYTES
from memory.errors import KeysUnavailable
from memory.providers.vault import parse_master_key

FILE_NAME = "master.key"


def master_key(
    given: str, *, config_directory: Path, used_before: Callable[[], bool], source: str = "auto"
) -> bytearray:
    """Give the master key, making it on the first use of an empty vault; the caller overwrites it after use.

    Args:
        given: the value of LOCI_MASTER_KEY or of the file that LOCI_MASTER_KEY_FILE names; may be empty.
        config_directory: where the generated key stands, with mode 0600.
        used_before: tells whether the key vault was used before; a missing key is an error then and not made anew.
        source: `env` or `file` for one of the two places alone, `auto` for whichever there is.

    Raises:
        KeysUnavailable: unusable, unreadable, missing although the vault was used before or `env` is its only place,
            or given although its place is another.
    """
    if given:
        refuse_given(given, source=source)
        return parse_master_key(given)
    if source == "env":
        raise KeysUnavailable(
            "LOCI_MASTER_KEY_SOURCE=env needs LOCI_MASTER_KEY or LOCI_MASTER_KEY_FILE. Nothing was read or written."
        )
    path = config_directory / FILE_NAME
    try:
        if path.exists():
            return parse_master_key(path.read_text(encoding="ascii"))
        if used_before():
            raise KeysUnavailable(
                "The master key is missing, but the key vault was used before. Nothing was read or written. "
                f"Restore {FILE_NAME} into the configuration directory, or set LOCI_MASTER_KEY or "
                "LOCI_MASTER_KEY_FILE. If it was moved into the system's keyring, set LOCI_MASTER_KEY_SOURCE=keyring."
            )
        return _generate(path)
    except (OSError, UnicodeDecodeError) as error:
        raise KeysUnavailable("The master key's file cannot be read or made. Check LOCI_CONFIG_DIR.") from error


def refuse_given(given: str, *, source: str) -> None:
    """Raise KeysUnavailable when a key comes from the environment although it should come from elsewhere."""
    if given and source in ("file", "keyring"):
        raise KeysUnavailable(
            f"LOCI_MASTER_KEY or LOCI_MASTER_KEY_FILE is set, but LOCI_MASTER_KEY_SOURCE={source}. Remove one of them."
        )


def new_master_key(path: Path) -> bytearray:
    """Read the master key in a file, making file and key when it is not there; raises OSError or KeysUnavailable."""
    return parse_master_key(path.read_text(encoding="ascii")) if path.exists() else _generate(path)


def _generate(path: Path) -> bytearray:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(FileExistsError):
            # Where another process was first, its key is the one that counts.
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return parse_master_key(path.read_text(encoding="ascii"))
