"""What a server is given when it starts: its settings and its environment."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from runtime.errors import ServerFault

SETTING_NAME = re.compile(r"[a-z_][a-z0-9_.]*")
SETTING_VALUE = re.compile(r"[^\x00-\x1f]{0,500}")
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108
LEAST_SHARED_MEMORY = 256 * 1024 * 1024
INHERITED = ("PATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH", "TERM")

SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "port": "5432",
    "unix_socket_permissions": "0700",
    "shared_buffers": "256MB",
    "work_mem": "32MB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "2GB",
    "max_connections": "50",
    "random_page_cost": "1.1",
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # A failing statement and the details of an error can carry what somebody said, and logs must not.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


def effective_settings(chosen: Mapping[str, str]) -> dict[str, str]:
    """Join the product's settings with the caller's, which win.

    Raises:
        ServerFault: a name or value is not of the form of a setting.
    """
    for name, value in chosen.items():
        if not SETTING_NAME.fullmatch(name) or not SETTING_VALUE.fullmatch(value):
            raise ServerFault(f"{name!r} cannot be given to the database server as a setting.")
    return {**SETTINGS, "dynamic_shared_memory_type": _shared_memory_type(), **chosen}


def server_environment() -> dict[str, str]:
    """Give the environment of database programs: what they need and nothing else.

    The server runs as another user than root, who could read every secret in an inherited environment. libpq's own
    variables (PGHOST and others) would point programs at another server.
    """
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**kept, "LC_ALL": "C"}


def _shared_memory_type() -> str:
    # Containers often have 64 MB there, and an index build wants more.
    try:
        found = os.statvfs(SHARED_MEMORY)
    except OSError:
        return "posix"
    return "posix" if found.f_frsize * found.f_blocks >= LEAST_SHARED_MEMORY else "mmap"
