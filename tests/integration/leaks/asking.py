"""Requests whose answers are looked through for what the reader must not get to know."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any
from urllib.parse import quote, urlencode
from zipfile import ZipFile

from memory.api.actions import RECEIPT_HEADER
from memory.errors import KeysUnavailable
from tests.integration.api.conftest import API
from tests.integration.leaks.routes import HEADERS, TELLS_IDS, Route
from tests.integration.leaks.world import Reader, Rows, World, undone

LEFT_OUT: Any = object()


@dataclass(frozen=True, slots=True)
class Answer:
    """All that came back, and what was asked for."""

    status: int
    headers: dict[str, str]
    content: str
    asked: str
    sent: str = field(repr=False, default="")
    route: str = ""

    @property
    def text(self) -> str:
        """Give everything in which something could be told, without regard to case."""
        return f"{self.status} {json.dumps(self.headers)} {self.content}".casefold()

    @property
    def json(self) -> Any:
        """Give the body as JSON, None where it is none."""
        try:
            return json.loads(self.content)
        except ValueError:
            return None

    @property
    def code(self) -> Any:
        """Give a problem's code."""
        body = self.json
        return body.get("code") if isinstance(body, dict) else None


def send(
    reader: Reader,
    route: Route,
    rows: Rows,
    *,
    body: Any = LEFT_OUT,
    query: dict[str, Any] | None = None,
    headers: dict[str, str] | None = None,
) -> Answer:
    """Send one request and undo what it did."""
    data = route.body(rows) if body is LEFT_OUT else body
    if route.action is not None and route.action.purge_token and reader.purge_token:
        headers = {RECEIPT_HEADER: reader.purge_token, **(headers or {})}
    headers = {**HEADERS.get(route.id, {}), **(headers or {})}
    path = route.path(rows)
    if query:
        path += "?" + urlencode(query, doseq=True)
    with undone():
        if route.method == "trace":
            response = reader.client.generic("TRACE", f"{API}{path}", headers=headers or {})
        elif route.method in ("get", "head"):
            response = getattr(reader.client, route.method)(f"{API}{path}", headers=headers or {})
        else:
            response = reader.client.json(route.method, path, data, **(headers or {}))
        return answer_of(
            response, f"{reader.name}: {route.method} {path}", f"{path} {json.dumps(data)} {headers}", route.id
        )


def answer_of(response: Any, asked: str, sent: str, route: str = "") -> Answer:
    """Read a response to its end, or to where a stored text that does not open breaks it off."""
    raw = b"".join(streamed(response)) if getattr(response, "streaming", False) else response.content
    if raw.startswith(b"PK"):
        # What is packed would hide what it tells.
        with ZipFile(BytesIO(raw)) as packed:
            raw = b"\n".join(packed.read(name) for name in packed.namelist())
    return Answer(response.status_code, dict(response.items()), raw.decode("utf-8", "replace"), asked, sent, route)


def streamed(response: Any) -> Iterator[bytes]:
    """Give what a client gets of a stream: nothing more after an error."""
    try:
        yield from response.streaming_content
    except KeysUnavailable:
        return


def leaks(world: World, reader: Reader, answer: Answer) -> list[str]:
    """List what an answer tells that this reader may not know and did not say itself."""
    text, sent = answer.text, answer.sent.casefold()
    found = [word for word in reader.marks if word in text and word not in sent]
    if answer.route not in TELLS_IDS or reader.name.startswith("foreign"):
        found += [one for one in world.hidden_ids(reader) if one in text and one not in sent]
    return [f"{answer.asked} -> {answer.status} tells {word}" for word in found]


_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)?")


def shape(answer: Answer) -> tuple[Any, ...]:
    """Give what of an answer must be the same for an id of somebody else and for one that nobody has."""
    blank = _TIME.sub("<time>", _ID.sub("<id>", answer.content))
    if 200 <= answer.status < 300:
        # What was made is new each time; how much of it there is must be the same.
        blank = re.sub(r"[0-9.]+", "0", blank)
    # The id of the request is new each time.
    ignored = ("Content-Length", "Location", "X-Request-ID")
    headers = {name: value for name, value in answer.headers.items() if name not in ignored}
    return answer.status, blank, sorted(headers.items())


def quoted(text: str) -> str:
    """Write a text as a part of a path."""
    return quote(text, safe="")
