"""Ollama as a program of this machine: where it is, and how it is run at an address of loopback."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from runtime.errors import RuntimeFault
from runtime.processes import Service

PROGRAM: Final = "ollama"
# Held, since Python complains of a process that nobody refers to any more and that still runs, as these are meant to.
_outliving: Final[list[subprocess.Popen[bytes]]] = []
NAME: Final = "ollama"
# It runs on its own and fetches models from elsewhere, so it gets nothing that only Loci needs, secrets least of all.
INHERITED: Final = (
    *("PATH", "HOME", "LANG", "LC_*", "TMPDIR", "LD_LIBRARY_PATH"),
    *("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy"),
    # Which authorities it trusts where a proxy opens TLS, and which graphics cards it may use.
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("OLLAMA_*", "CUDA_*", "HIP_*", "HSA_*", "ROCR_*", "NVIDIA_*", "GPU_DEVICE_ORDINAL", "GGML_*"),
)


def program() -> str:
    """Give the path of the program; raises RuntimeFault where it is not installed."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise RuntimeFault("Ollama is not installed on this machine: there is no program `ollama` on the PATH.")
    return found


def environment(address: str) -> Mapping[str, str]:
    """Give its whole environment: what it needs of this process's, and what lets it listen at an address.

    Args:
        address: `http://`, a host of this machine, and a port.

    Raises:
        RuntimeFault: an address with TLS, which Ollama does not speak.
    """
    parts = urlsplit(address)
    if parts.scheme != "http":
        raise RuntimeFault("Ollama can be started for an address with http:// only.")
    host = "127.0.0.1" if parts.hostname in (None, "localhost") else str(parts.hostname)
    shown = f"[{host}]" if ":" in host else host
    # Without a port an address means 80, which is what the address is asked at.
    needed = {name: value for name, value in os.environ.items() if any(fnmatchcase(name, one) for one in INHERITED)}
    return {**needed, "OLLAMA_HOST": f"{shown}:{parts.port or 80}"}


def service(address: str) -> Service:
    """Describe it as a process of the supervisor, without which the others go on; raises RuntimeFault."""
    return Service(NAME, [program(), "serve"], environment(address), essential=False, bare=True)


def start(address: str, *, log: Path) -> subprocess.Popen[bytes]:
    """Start it on its own, so that it outlives this process; it is not waited for.

    Args:
        address: where it is to listen.
        log: the file that what it says is added to.

    Raises:
        RuntimeFault: it is not installed, or cannot be started.
    """
    command, whole = [program(), "serve"], environment(address)
    try:
        log.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with log.open("ab") as output:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=whole,
                start_new_session=True,
            )
    except OSError as error:
        raise RuntimeFault(f"Ollama cannot be started ({error.strerror or type(error).__name__}).") from error
    _outliving.append(process)
    return process
