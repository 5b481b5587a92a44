"""Ollama in its five steps: reach it, start it, see whether the model is there, fetch it, and embed a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Literal

from memory.errors import LociError
from memory.providers.composition import ollama_embedder, ollama_server
from memory.providers.embedder_choices import SECOND, EmbedderChoice, ollama_choices
from memory.providers.ollama_server import OllamaServer, Progress, checked_name
from memory.services.findings import Finding
from runtime import ollama as program
from runtime.errors import RuntimeFault

StepState = Literal["ok", "skipped", "failed"]
LONGEST_FETCH_SECONDS: Final = 24 * 3_600.0
PROBE: Final = "Is the embedder there?"
START: Final = "python3 manage.py ollama --start"
FETCH: Final = "python3 manage.py ollama --fetch"
ELSEWHERE: Final = "Start Ollama on its machine, or set OLLAMA_BASE_URL to where it runs."
INSTALL: Final = f"Install Ollama (https://ollama.com/download), then: {START}"
OTHER: Final = "ollama.other"


@dataclass(frozen=True, slots=True)
class Step:
    """One of the steps `reach`, `start`, `model`, `fetch` and `embed`: what came of it, and what to do about that."""

    step: str
    state: StepState
    detail: str
    remedy: str = ""


def steps(
    *,
    choice: EmbedderChoice,
    start: Callable[[str], str] | None = None,
    fetch: bool = False,
    follow: Callable[[Progress], None] | None = None,
) -> Iterator[Step]:
    """Take the steps one after the other, and leave off after one that the rest depend on; the last tells whether all
    is well.

    Args:
        choice: the server, and the model that is to embed there.
        start: starts a server that listens at an address of this machine, waits until it answers, and says what it
            did; nothing is started without it.
        fetch: have a model fetched that is missing.
        follow: is told how far the fetch is.

    Raises:
        ProviderMisconfigured: the address or the name of the model cannot be used.
    """
    name = checked_name(choice.model)
    with closing(ollama_server(choice)) as server:
        reached = _reached(server, choice)
        yield reached
        started = _started(server, start, reached)
        yield started
        if "ok" not in (reached.state, started.state):
            return
        present = _present(server, name)
        yield present
        fetched = _fetched(server, name, follow, wanted=fetch, needed=present.state == "failed")
        yield fetched
    if "ok" in (present.state, fetched.state):
        yield _embedded(choice)


def ollama_findings() -> list[Finding]:
    """Tell for each embedder that is Ollama's which of the steps fails; nothing is started or fetched."""
    return [_found(choice) for choice in ollama_choices()]


def _found(choice: EmbedderChoice) -> Finding:
    name = "second ollama" if choice.prefix == SECOND else "ollama"
    try:
        told = list(steps(choice=choice))
    except LociError as error:
        where = f"OLLAMA_BASE_URL, {choice.prefix}_BASE_URL and {choice.prefix}_MODEL"
        return Finding(name, "degraded", error.message, f"Check {where}.")
    for step in told:
        if step.state == "failed":
            return Finding(name, "degraded", step.detail, step.remedy)
    return Finding(name, "ok", " ".join(step.detail for step in told if step.state == "ok"))


def _reached(server: OllamaServer, choice: EmbedderChoice) -> Step:
    try:
        return Step("reach", "ok", f"Ollama {server.version()} answers at {server.address}.")
    except LociError as error:
        remedy = _address(choice) if error.machine_code == OTHER else _start_of(server)
        return Step("reach", "failed", f"{error.message} The address is {server.address}.", remedy)


def _address(choice: EmbedderChoice) -> str:
    own = f", or {choice.prefix}_BASE_URL," if choice.prefix else ""
    return f"Set OLLAMA_BASE_URL{own} to where Ollama listens."


def _start_of(server: OllamaServer) -> str:
    if not server.loopback:
        return ELSEWHERE
    try:
        program.program()
    except RuntimeFault:
        return INSTALL
    return START


def _started(server: OllamaServer, start: Callable[[str], str] | None, reached: Step) -> Step:
    if reached.state == "ok":
        return Step("start", "skipped", "It runs already.")
    if start is None:
        return Step("start", "skipped", "Nothing was started, since that was not asked for.")
    if server.loopback and reached.remedy not in (START, INSTALL):
        return Step("start", "failed", "Nothing was started, since something else has the address.", reached.remedy)
    if not server.loopback:
        return Step("start", "failed", "It is on another machine, where nothing can be started from here.", ELSEWHERE)
    try:
        return Step("start", "ok", start(server.address))
    except LociError as error:
        return Step("start", "failed", error.message, INSTALL if reached.remedy == INSTALL else ELSEWHERE)


def _present(server: OllamaServer, model: str) -> Step:
    try:
        there = server.has(model)
    except LociError as error:
        return Step("model", "failed", error.message)
    if there:
        return Step("model", "ok", f"Ollama has {model}.")
    return Step("model", "failed", f"Ollama does not have {model}.", FETCH)


def _fetched(
    server: OllamaServer, model: str, follow: Callable[[Progress], None] | None, *, wanted: bool, needed: bool
) -> Step:
    if not needed:
        return Step("fetch", "skipped", "Nothing is to be fetched.")
    if not wanted:
        return Step("fetch", "skipped", "Nothing was fetched, since that was not asked for.", FETCH)
    try:
        with server.pull(model, seconds=LONGEST_FETCH_SECONDS) as told:
            for progress in told:
                if follow is not None:
                    follow(progress)
    except LociError as error:
        return Step("fetch", "failed", error.message, "Check the name of the model and the server's way to its source.")
    return Step("fetch", "ok", f"Ollama has fetched {model}.")


def _embedded(choice: EmbedderChoice) -> Step:
    embedder = ollama_embedder(choice)
    try:
        vectors = embedder.embed([PROBE])
    except LociError as error:
        return Step("embed", "failed", error.message, "Check that the model is one that embeds.")
    finally:
        embedder.close()
    return Step("embed", "ok", f"A text became a vector of {vectors.shape[1]} dimensions.")
