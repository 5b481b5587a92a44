"""Starting Ollama on this machine: for a command, after which it goes on running, and beside the processes of `up`."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import Final

from django.conf import settings

from memory.errors import LociError, OllamaUnavailable
from memory.providers.composition import ollama_server
from memory.providers.embedder_choices import OLLAMA, EmbedderChoice, ollama_choice, ollama_choices
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
    # Without a key, which belongs to a gateway before it.
    started = EmbedderChoice("", OLLAMA, "", address)
    try:
        process = ollama.start(address, log=log)
    except RuntimeFault as error:
        raise OllamaUnavailable(error.message, code="ollama.not_started") from None
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        if _answers(started):
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


def ollama_services(say: Callable[[str], None]) -> list[Service]:
    """Give Ollama as processes of `up`, where OLLAMA_START asks for it: one for each address at which nothing answers.

    Loci works without it, so a reason not to start it is said and nothing more.

    Args:
        say: takes a line for the operator.
    """
    if not settings.OLLAMA_START:
        return []
    services: dict[str, Service] = {}
    for choice in {choice.base_url: choice for choice in ollama_choices() or [ollama_choice()]}.values():
        service = _service(choice, say)
        if service is not None:
            name = f"{service.name} {len(services) + 1}" if services else service.name
            services.setdefault(service.environment["OLLAMA_HOST"], replace(service, name=name))
    return list(services.values())


def _service(choice: EmbedderChoice, say: Callable[[str], None]) -> Service | None:
    try:
        with closing(ollama_server(choice)) as server:
            loopback, address = server.loopback, server.address
        if not loopback:
            say(f"Warning: OLLAMA_START is set, but {address} is not an address of this machine. Nothing was started.")
            return None
        return None if _answers(choice) else ollama.service(address)
    except (LociError, RuntimeFault) as error:
        say(f"Warning: Ollama was not started. {error.message}")
        return None


def _answers(choice: EmbedderChoice) -> bool:
    try:
        with closing(ollama_server(choice)) as server:
            server.version()
    except OllamaUnavailable:
        return False
    return True
