"""Where things live on this machine, from the environment alone.

Three roots that must not contain one another: data (database files), configuration (generated secrets) and keys
(the vault with the owners' wrapped root keys), so that a backup of one is not a backup of the others.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

import platformdirs

from runtime.errors import RuntimeFault

APP = "loci"
# A unix socket's path may have about 100 bytes; the socket's own file name needs some of them.
LONGEST_SOCKET_DIRECTORY = 80
# Not tempfile.gettempdir(): server and clients may run with different TMPDIR and must still meet.
SHORT_DIRECTORY = Path("/tmp")  # noqa: S108


def is_root() -> bool:
    """Tell whether this process runs as root, where the product uses system-wide directories."""
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _chosen(variable: str, system: str, user: Callable[[str], Path], name: str = APP) -> Path:
    value = os.environ.get(variable, "").strip()
    if value:
        try:
            return Path(value).expanduser().resolve()
        except (OSError, RuntimeError, ValueError) as error:
            raise RuntimeFault(f"{variable} cannot be used: not a path that can be followed.") from error
    if is_root():
        return Path(system)
    try:
        return user(name)
    except RuntimeError as error:
        raise RuntimeFault(f"This user has no home directory. Set {variable} to an absolute path.") from error


def data_directory() -> Path:
    """Give the directory of the embedded database (`LOCI_DATA_DIR`)."""
    return _chosen("LOCI_DATA_DIR", f"/var/lib/{APP}", platformdirs.user_data_path)


def config_directory() -> Path:
    """Give the directory of generated secrets (`LOCI_CONFIG_DIR`)."""
    return _chosen("LOCI_CONFIG_DIR", f"/etc/{APP}", platformdirs.user_config_path)


def keys_directory() -> Path:
    """Give the directory of the key vault (`LOCI_KEYS_DIR`)."""
    return _chosen("LOCI_KEYS_DIR", f"/var/lib/{APP}-keys", platformdirs.user_data_path, f"{APP}-keys")


def cache_directory() -> Path:
    """Give the directory of files that can be made again, such as the built model (`LOCI_CACHE_DIR`)."""
    return _chosen("LOCI_CACHE_DIR", f"/var/cache/{APP}", platformdirs.user_cache_path)


def socket_directory(data: Path | None = None) -> Path:
    """Give the directory of the embedded server's unix socket, short enough for the kernel's limit."""
    base = (data or data_directory()).resolve()
    directory = base / "run"
    if len(os.fsencode(directory)) < LONGEST_SOCKET_DIRECTORY:
        return directory
    digest = hashlib.sha256(os.fsencode(base)).hexdigest()[:12]
    return SHORT_DIRECTORY / f"{APP}-{digest}"
