"""What has to be there before Redis is used: an address that can be understood, and the package."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from config.settings.env import SettingError

PACKAGE: Final = "redis"
FORM: Final = "an address such as redis://localhost:6379/0, rediss://… with TLS, or unix:///run/redis/redis.sock"
PORT: Final = 6379
MOST_DATABASES: Final = 1_000_000


def redis_parameters(url: str, *, password: str, ca_file: str, timeout: float) -> dict[str, Any]:
    """Give the parameters of a client of Redis; none where no address is set.

    Args:
        url: `redis://`, `rediss://` or `unix://`, with user, password and number of the database where needed.
        password: that of REDIS_PASSWORD, empty where it is in the address or not needed.
        ca_file: certificates in PEM that a server with TLS is trusted by, instead of the system's.
        timeout: seconds that a connection and an answer may take.

    Raises:
        SettingError: the address cannot be used, something contradicts it, or the package is not installed.
    """
    if not url:
        if password or ca_file:
            raise SettingError("REDIS_PASSWORD and REDIS_CA_FILE say nothing without REDIS_URL. Set it, or none.")
        return {}
    found = _place(url)
    if password and found.get("password"):
        raise SettingError("The password of Redis stands in REDIS_URL and in REDIS_PASSWORD. Keep one of them.")
    if password:
        found["password"] = password
    if ca_file:
        found["ssl_ca_certs"] = _ca_file(ca_file, tls=bool(found.get("ssl")))
    if find_spec(PACKAGE) is None:
        raise SettingError(
            "REDIS_URL needs a package that is not installed: .venv/bin/pip install --no-deps --require-hashes "
            "-r requirements/redis.txt. Nothing was started."
        )
    return {**found, "socket_timeout": timeout, "socket_connect_timeout": timeout}


def check_broker(broker: str, *, url: str) -> str:
    """Give the queue's broker.

    Raises:
        SettingError: it is Redis, and no address of Redis is set.
    """
    if broker == "redis" and not url:
        raise SettingError("QUEUE_BROKER=redis needs the address of Redis in REDIS_URL. Nothing was started.")
    return broker


def _place(url: str) -> dict[str, Any]:
    try:
        parts = urlsplit(url)
        port = parts.port or PORT
    except ValueError:
        raise SettingError(f"REDIS_URL cannot be used: not {FORM}.") from None
    found: dict[str, Any] = {}
    # What stands after a question mark could switch off the check of certificates; a name is all that is taken.
    if parts.query or parts.fragment:
        raise SettingError(f"REDIS_URL cannot be used: it takes no options. Give {FORM}.")
    if parts.scheme == "unix" and parts.path and not parts.hostname:
        found["unix_socket_path"] = unquote(parts.path)
    elif parts.scheme in ("redis", "rediss") and parts.hostname:
        found |= {"host": unquote(parts.hostname), "port": port, "db": _database(parts.path)}
        if parts.scheme == "rediss":
            found |= {"ssl": True, "ssl_cert_reqs": "required", "ssl_check_hostname": True}
    else:
        raise SettingError(f"REDIS_URL cannot be used: not {FORM}.")
    if parts.username:
        found["username"] = unquote(parts.username)
    if parts.password:
        found["password"] = unquote(parts.password)
    return found


def _database(path: str) -> int:
    number = path.strip("/")
    if not number:
        return 0
    if not (number.isascii() and number.isdigit()) or int(number) >= MOST_DATABASES:
        raise SettingError("REDIS_URL cannot be used: what follows the host must be the number of a database.")
    return int(number)


def _ca_file(name: str, *, tls: bool) -> str:
    if not tls:
        raise SettingError("REDIS_CA_FILE is set, but REDIS_URL does not begin with rediss://, so nothing is checked.")
    if not Path(name).is_file():
        raise SettingError("REDIS_CA_FILE cannot be used: there is no such file.")
    return name
