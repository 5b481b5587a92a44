"""Secrets that are generated once and kept in the configuration directory when the operator gives none."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from config.settings.env import SettingError

LENGTH_BYTES = 48


def kept_secret(directory: Path, name: str) -> str:
    """Read a secret from `directory/name`, making it with mode 0600 on first use.

    Two processes that start together agree: the file is linked into place whole, and the loser reads the winner's.

    Raises:
        SettingError: the directory cannot be written or the file cannot be read.
    """
    path = directory / name
    try:
        if not path.exists():
            _create(path, secrets.token_urlsafe(LENGTH_BYTES))
        value = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError(
            f"The secret file {name} in the configuration directory cannot be used ({error.__class__.__name__}). "
            "Set LOCI_CONFIG_DIR to a directory that this user may write, or give the secrets in the environment."
        ) from error
    if not value:
        raise SettingError(f"The secret file {name} in the configuration directory is empty. Restore or remove it.")
    return value


def _create(path: Path, value: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(value + "\n")
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
    finally:
        temporary.unlink(missing_ok=True)
