"""Starting Ollama on this machine: for a command, after which it goes on running, and beside the processes of `up`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from typing import Final

from django.conf import settings

from memory.errors import LociError, OllamaUnavailable
from memory.providers.composition import ollama_server
from runtime import ollama
from runtime.errors import RuntimeFault
from runtime.paths import data_directory
from runtime.processes import Service

PATIENCE_SECONDS: Final = 30.0
POLL_SECONDS: Final = 0.1
LOG: Final = "ollama.log"


def start_ollama(address: str) -> str:
    """Start Ollama at an address of this machine and wait until it answers; it outlives this process.

    Returns:
        What was done, in a sentence.

    Raises:
        OllamaUnavailable: it is not installed, ended again, or did not answer within 30 seconds, after which it is
            stopped.
    """
    log = data_directory() / LOG
    try:
        process = ollama.start(address, log=log)
    except RuntimeFault as error:
        raise OllamaUnavailable(error.message, code="ollama.not_started") from None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if _answers():
            return f"Ollama was started as process {process.pid} and answers. What it says goes to {log}."
        if process.poll() is not None:
            raise OllamaUnavailable(
                f"Ollama was started and ended again with exit code {process.returncode}. {log} should say why.",
                code="ollama.not_started",
            )
        time.sleep(POLL_SECONDS)
    process.terminate()
    raise OllamaUnavailable(
        f"Ollama was started and did not answer within {PATIENCE_SECONDS:.0f} s, so it was stopped. {log} should say "
        "why.",
        code="ollama.not_started",
    )


def ollama_service(say: Callable[[str], None]) -> Service | None:
    """Give Ollama as a process of `up`, where OLLAMA_START asks for it and nothing answers yet; else None.

    Loci works without it, so a reason not to start it is said and nothing more.

    Args:
        say: takes a line for the operator.
    """
    if not settings.OLLAMA_START:
        return None
    try:
        with closing(ollama_server()) as server:
            loopback, address = server.loopback, server.address
        if not loopback:
            say(f"Warning: OLLAMA_START is set, but {address} is not an address of this machine. Nothing was started.")
            return None
        return None if _answers() else ollama.service(address)
    except (LociError, RuntimeFault) as error:
        say(f"Warning: Ollama was not started. {error.message}")
        return None


def _answers() -> bool:
    try:
        with closing(ollama_server()) as server:
            server.version()
    except OllamaUnavailable:
        return False
    return True
