"""How the server's processes are started, where they listen, and how to tell that they answer."""

from __future__ import annotations

import errno
import http.client
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from django.conf import settings

from config.shared_counts import counting_environment
from runtime.processes import Service

HEALTH_PATH = "/api/v1/health"
ANSWER_TIMEOUT = 10.0
# Below the supervisor's own patience, so that open requests end before they are cut off.
WEB_GRACE = 8
WEB_PATIENCE = 20
MOST_SOCKET_BYTES = 4096
PING_SECONDS = 20
# Requests run on many threads, and the C library would keep what each of them once needed in an arena of its own.
FEW_ARENAS = {"MALLOC_ARENA_MAX": "2"}
# Threads of one product of matrices wait for each other busily: where other work shares the processors, a report over
# 100,000 turns took four times as long with two as with one.
ONE_BLAS_THREAD = {"OPENBLAS_NUM_THREADS": "1"}
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104


def master_key_file() -> Path | None:
    """Give the file that holds the master key, None when it stands in the environment itself or in a keyring."""
    if settings.MASTER_KEY_SOURCE == "keyring":
        return None
    named = os.environ.get("LOCI_MASTER_KEY_FILE", "").strip()
    if named:
        return Path(named).expanduser().resolve()
    if os.environ.get("LOCI_MASTER_KEY"):
        return None
    return Path(settings.CONFIG_DIRECTORY) / "master.key"


def web_service(host: str, port: int) -> Service:
    """Describe the web process."""
    command = [sys.executable, "-m", "uvicorn", "config.asgi:application", "--host", host, "--port", str(port)]
    command += ["--lifespan", "on", "--no-server-header", "--no-access-log", "--log-level", "warning"]
    command += ["--timeout-graceful-shutdown", str(WEB_GRACE)]
    # What is watched fits into a few hundred bytes. A client that is gone without a word is noticed by its silence.
    command += [
        "--ws",
        "websockets-sansio",
        "--ws-max-size",
        str(MOST_SOCKET_BYTES),
        "--ws-per-message-deflate",
        "false",
    ]
    command += ["--ws-ping-interval", str(PING_SECONDS), "--ws-ping-timeout", str(PING_SECONDS)]
    # Only behind a proxy may a header say who the client is.
    command.append("--proxy-headers" if settings.LOCI_HTTPS else "--no-proxy-headers")
    environment = {"LOCI_DB_POOL": "true", "LOCI_HOST": host, "LOCI_PORT": str(port)}
    environment.update({**FEW_ARENAS, **ONE_BLAS_THREAD, **counting_environment()})
    return Service("web", command, environment, settings.BASE_DIR)


def worker_service(host: str, port: int, *, after_web: bool = True) -> Service:
    """Describe the process that runs background work, without a pool of connections, since it forks.

    Args:
        host: where the web process of this machine listens.
        port: its port.
        after_web: let that one start first; it has to be left out where the web process is elsewhere.
    """
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "worker"]
    if after_web:
        waiting = [ANY_ADDRESS.get(host, host), str(port), str(WEB_PATIENCE)]
        command = [sys.executable, "-m", "config.later", *waiting, *command]
    environment = {"LOCI_DB_POOL": "false", "LOCI_NO_BOOTSTRAP": "1", **ONE_BLAS_THREAD, **counting_environment()}
    return Service("worker", command, environment, settings.BASE_DIR)


def database_service() -> Service:
    """Describe the process that keeps the embedded database running."""
    return Service("database", [sys.executable, "-m", "runtime.postgres.keep"], {}, settings.BASE_DIR)


def address(host: str, port: int) -> str:
    """Give the address to open in a browser on this machine."""
    reachable = ANY_ADDRESS.get(host, host)
    return f"http://{f'[{reachable}]' if ':' in reachable else reachable}:{port}"


def port_is_free(host: str, port: int) -> bool:
    """Tell whether the web process could listen there.

    Raises:
        OSError: the address is not one of this machine, or the port is not for this user.
    """
    for family, kind, protocol, _, place in socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM):
        with socket.socket(family, kind, protocol) as probe:
            # As servers do: connections of a former process that are closing down do not count.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(place)
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    return False
                raise
    return True


def ask_health(host: str, port: int) -> dict[str, Any] | None:
    """Ask a web process of this machine for its health.

    Returns:
        What it says, None while nothing answers, and an empty object for an answer that is none of ours.
    """
    connection = http.client.HTTPConnection(ANY_ADDRESS.get(host, host), port, timeout=ANSWER_TIMEOUT)
    try:
        connection.request("GET", HEALTH_PATH, headers={"Host": _allowed_host(), "Accept": "application/json"})
        answer = connection.getresponse()
        body = json.loads(answer.read())
    except OSError:
        return None
    except (http.client.HTTPException, ValueError):
        return {}
    finally:
        connection.close()
    return body if isinstance(body, dict) and "status" in body and "checks" in body else {}


def _allowed_host() -> str:
    names = [name.lstrip(".") for name in settings.ALLOWED_HOSTS if name != "*"]
    return names[0] if names else "localhost"
