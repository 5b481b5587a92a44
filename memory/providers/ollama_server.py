"""Ollama as a server that models are looked after on: whether it answers, which models it has, and fetching one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from memory.errors import OllamaUnavailable
from memory.ports.outbound import MODELS
from memory.providers.endpoints import checked_address, checked_key, is_loopback, joined
from memory.providers.json_over_http import Answer, JsonOverHttp, Limits, Unreachable
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.policy import OutboundPolicy

SETTING: Final = "OLLAMA_BASE_URL"
LOOK_SECONDS: Final = 5.0
# A server is silent while it compares the checksum of what it has fetched, which are gigabytes at times.
QUIET_SECONDS: Final = 300.0
LONGEST_NAME: Final = 200
LONGEST_STATUS: Final = 100
LONGEST_REASON: Final = 200
LARGEST_ANSWER_BYTES: Final = 16 * 1024 * 1024
DONE: Final = "success"
# A model has a handful.
MOST_PARTS: Final = 1_000
# Numbers of bytes beyond this are a mistake of the server.
MOST_BYTES: Final = 2**53


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a fetch is: what the server says it does, and bytes over all parts that it has named so far."""

    status: str
    completed: int = 0
    total: int = 0

    @property
    def loading(self) -> bool:
        """Tell whether parts are being loaded, so that leaving off now loses nothing."""
        return self.completed < self.total

    @property
    def percent(self) -> int | None:
        """Give 0 to 100; None while the size is not known."""
        return min(100, self.completed * 100 // self.total) if self.total else None


class OllamaServer:
    """Asks one server; may be used by several threads at once."""

    def __init__(self, *, base_url: str, api_key: str = "", policy: OutboundPolicy | None = None) -> None:
        """Prepare without connecting.

        Args:
            base_url: the address, with or without `/v1`.
            api_key: sent in the Authorization header only; for servers behind a gateway.
            policy: where requests may go; the address's own host when left out.

        Raises:
            ProviderMisconfigured: an unusable address or key, or a host that is not allowed.
        """
        self.address = checked_address(base_url, setting=SETTING)
        self._http = JsonOverHttp(
            self.address,
            kind=MODELS,
            setting=SETTING,
            key=checked_key(api_key, setting="EMBEDDING_API_KEY"),
            limits=Limits(response_bytes=LARGEST_ANSWER_BYTES),
            policy=policy,
        )

    @property
    def loopback(self) -> bool:
        """Tell whether it is addressed as a server of this machine."""
        return is_loopback(self.address)

    def close(self) -> None:
        """Close kept connections."""
        self._http.close()

    def version(self) -> str:
        """Give the server's version; raises OllamaUnavailable where nothing answers, or something else does."""
        value = self._asked("/api/version")
        found = value.get("version") if isinstance(value, dict) else None
        if not isinstance(found, str) or not found:
            raise OllamaUnavailable("Something answers at OLLAMA_BASE_URL, but it is not Ollama.", code="ollama.other")
        return _plain(found, LONGEST_STATUS)

    def models(self) -> list[str]:
        """List the names of the models that the server has, with their tags; raises OllamaUnavailable."""
        value = self._asked("/api/tags")
        rows = value.get("models") if isinstance(value, dict) else None
        if not isinstance(rows, list):
            raise OllamaUnavailable("Something answers at OLLAMA_BASE_URL, but it is not Ollama.", code="ollama.other")
        return [row["name"] for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)]

    def has(self, model: str) -> bool:
        """Tell whether the server has a model; raises OllamaUnavailable."""
        return tagged(model) in {tagged(name) for name in self.models()}

    @contextmanager
    def pull(self, model: str, *, seconds: float) -> Iterator[Iterator[Progress]]:
        """Have the server fetch a model and give how far it is, ending with the status `success`.

        Several that fetch the same model share one transfer. Who leaves the block early lets the server leave off; what
        it has then stays, and the next fetch goes on from there.

        Args:
            model: its name.
            seconds: bound of the whole.

        Raises:
            ProviderMisconfigured: no name of a model.
            OllamaUnavailable: the server cannot be reached, breaks off, or says why it cannot fetch the model.
        """
        name = checked_name(model)
        asked = {"model": name, "name": name, "stream": True}
        try:
            with self._http.lines(
                joined(self.address, "/api/pull"), asked, quiet_seconds=QUIET_SECONDS, seconds=seconds
            ) as lines:
                yield _told(lines)
        except Unreachable as failure:
            raise _unavailable(failure) from None

    def _asked(self, path: str) -> Any:
        try:
            answer = self._http.get(joined(self.address, path), seconds=LOOK_SECONDS)
            _refuse(answer)
            return answer.value()
        except Unreachable as failure:
            raise _unavailable(failure) from None


def tagged(model: str) -> str:
    """Give a model's name with its tag, `latest` where it has none, as the server compares names: in any case."""
    name = model.strip().lower()
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def checked_name(model: str) -> str:
    """Check the name of a model; raises ProviderMisconfigured."""
    name = model.strip()
    if not name or len(name) > LONGEST_NAME or any(not "!" <= character <= "~" for character in name):
        raise ProviderMisconfigured(f"The name of a model has 1 to {LONGEST_NAME} printable characters, no blanks.")
    return name


def _told(lines: Iterator[Any]) -> Iterator[Progress]:
    """Add up the parts that the lines tell of; raise what they complain of, and where they end too early."""
    parts: dict[str, tuple[int, int]] = {}
    status, done, whole = "", 0, 0
    for line in lines:
        if not isinstance(line, dict):
            raise OllamaUnavailable("Ollama answered in another form than agreed.")
        if "error" in line:
            reason = _plain(line["error"], LONGEST_REASON)
            raise OllamaUnavailable(f"Ollama cannot fetch the model: {reason}", code="ollama.fetch_failed")
        status = _plain(line.get("status", ""), LONGEST_STATUS)
        digest = line.get("digest")
        if isinstance(digest, str) and digest:
            total = _bytes(line.get("total"))
            now_done, (was_done, was_total) = min(_bytes(line.get("completed")), total), parts.get(digest, (0, 0))
            parts[digest] = (now_done, total)
            done, whole = done + now_done - was_done, whole + total - was_total
            if len(parts) > MOST_PARTS:
                raise OllamaUnavailable("Ollama answered in another form than agreed.")
        yield Progress(status, done, whole)
    if status != DONE:
        raise OllamaUnavailable("Ollama broke the fetch off. It goes on from there when it is begun again.")


def _refuse(answer: Answer) -> None:
    if answer.ok:
        return
    if answer.status in (401, 403):
        raise OllamaUnavailable(f"Ollama refuses the key (status {answer.status}).")
    raise OllamaUnavailable(
        f"Something answers at OLLAMA_BASE_URL, but it is not Ollama (status {answer.status}).", code="ollama.other"
    )


def _unavailable(failure: Unreachable) -> OllamaUnavailable:
    return OllamaUnavailable(f"Ollama {failure}.")


def _bytes(value: Any) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= MOST_BYTES else 0


def _plain(value: Any, longest: int) -> str:
    """Give a text of the server on one line without control characters, cut to a length."""
    text = " ".join(str(value).split())
    return "".join(character for character in text if character.isprintable())[:longest]
