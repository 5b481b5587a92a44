"""Database connections: settings compute them and never start a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from config.settings.env import SettingError

SCHEMES = frozenset({"postgres", "postgresql"})


def from_url(url: str) -> dict[str, Any]:
    """Turn `postgresql://user:password@host:port/name?option=value` into Django's connection settings.

    Raises:
        SettingError: another scheme, no database name, or a password in two places.
    """
    parts = urlsplit(url)
    if parts.scheme not in SCHEMES:
        raise SettingError("DATABASE_URL must begin with postgresql://. Loci runs on PostgreSQL only.")
    name = unquote(parts.path.lstrip("/"))
    if not name:
        raise SettingError("DATABASE_URL names no database. Add it after the host: postgresql://host/loci.")
    options = dict(parse_qsl(parts.query))
    try:
        port = parts.port
    except ValueError:
        raise SettingError("The port in DATABASE_URL is not a number up to 65535.") from None
    host = options.pop("host", None) or (unquote(parts.hostname) if parts.hostname else "")
    # Out of the options, which stand on the command line of psql.
    asked = options.pop("password", "")
    if asked and parts.password:
        raise SettingError("DATABASE_URL has a password twice: before the host and as an option. Leave one out.")
    user, other_port = options.pop("user", ""), options.pop("port", "")
    return {
        "NAME": name,
        "USER": unquote(parts.username or "") or user,
        "PASSWORD": unquote(parts.password or "") or asked,
        "HOST": host,
        "PORT": str(port or other_port),
        "OPTIONS": options,
    }


def embedded(socket_directory: Path, *, user: str, name: str = "loci") -> dict[str, Any]:
    """Give the connection settings of the embedded server for one of its roles."""
    return {"NAME": name, "USER": user, "PASSWORD": "", "HOST": str(socket_directory), "PORT": "5432", "OPTIONS": {}}


# A replica that is gone must not hold a recall up, which has another place to ask.
REPLICA_PATIENCE = 2


def replica(base: dict[str, Any], *, pool: dict[str, Any] | None) -> dict[str, Any]:
    """Complete the connection settings of a replica, on which nobody waits for long."""
    patient = {"connect_timeout": str(REPLICA_PATIENCE), **base["OPTIONS"]}
    return connection(
        {**base, "OPTIONS": patient}, pool=pool and {**pool, "timeout": min(pool["timeout"], REPLICA_PATIENCE)}
    )


def connection(base: dict[str, Any], *, pool: dict[str, Any] | None) -> dict[str, Any]:
    """Complete connection settings for Django; `pool` is set in the web process only, since workers fork."""
    options = dict(base["OPTIONS"])
    if pool is not None:
        options["pool"] = pool
    return {
        **base,
        "ENGINE": "django.db.backends.postgresql",
        "OPTIONS": options,
        # Each request under ASGI runs on a fresh thread, whose connection nobody would use again.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
        "DISABLE_SERVER_SIDE_CURSORS": True,
        # Explicit, because a child process would otherwise put the test prefix on a name that has it already.
        "TEST": {"NAME": base["NAME"]},
    }
