"""Every request has an id, which its answer and its log lines carry; on request, a line in the log says how it went."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing
from time import perf_counter
from typing import Any, Final, cast
from uuid import UUID

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import FileResponse, HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from config.probes import PROBES
from memory.ports.request_id import HEADER, Running, accepted_request_id, as_part_of, method_named
from memory.privacy.pii import scan

access = logging.getLogger("loci.access")

UNKNOWN: Final = "an unknown address"

Answer = Callable[[HttpRequest], HttpResponseBase]
LaterAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def request_ids(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make a middleware that gives requests their ids; it stands before all others, whose log lines need them."""
    if iscoroutinefunction(get_response):
        return _later(cast("LaterAnswer", get_response))
    return _at_once(get_response)


def _at_once(get_response: Answer) -> Answer:
    def answer(request: HttpRequest) -> HttpResponseBase:
        began, running = perf_counter(), Running(taken_id(request.headers.get(HEADER)))
        with as_part_of(running):
            return _finished(request, get_response(request), running, began)

    return answer


def _later(get_response: LaterAnswer) -> LaterAnswer:
    async def answer(request: HttpRequest) -> HttpResponseBase:
        began, running = perf_counter(), Running(taken_id(request.headers.get(HEADER)))
        with as_part_of(running):
            return _finished(request, await get_response(request), running, began)

    return answer


def taken_id(given: str | None) -> str:
    """Take over a client's id unless it looks like personal data or a secret, which no log may hold."""
    accepted = accepted_request_id(given)
    if accepted != given or _is_uuid(accepted) or not scan(accepted).matches:
        return accepted
    return accepted_request_id(None)


def _is_uuid(word: str) -> bool:
    try:
        return UUID(word).hex == word.replace("-", "").lower()
    except ValueError:
        return False


def _finished(request: HttpRequest, response: HttpResponseBase, running: Running, began: float) -> HttpResponseBase:
    response.headers[HEADER] = running.id
    line = _Line(request, response, running, began)
    if not isinstance(response, StreamingHttpResponse):
        line.write(len(getattr(response, "content", b"")))
    elif isinstance(response, FileResponse):
        line.write(int(response.headers.get("Content-Length", 0)))
    elif response.is_async:
        response.streaming_content = _streamed_later(response.streaming_content, running, line)  # type: ignore[arg-type]
    else:
        response.streaming_content = _streamed(response.streaming_content, running, line)  # type: ignore[arg-type]
    return response


def _streamed(pieces: Iterator[bytes], running: Running, line: _Line) -> Iterator[bytes]:
    """Make each piece as part of the request, which its middlewares have left by then."""
    size = 0
    try:
        while True:
            with as_part_of(running):
                piece = next(pieces, None)
            if piece is None:
                return
            size += len(piece)
            yield piece
    finally:
        line.write(size)


async def _streamed_later(pieces: AsyncIterator[bytes], running: Running, line: _Line) -> AsyncIterator[bytes]:
    size = 0
    try:
        async with aclosing(cast("Any", pieces)):
            while True:
                with as_part_of(running):
                    piece = await anext(pieces, None)
                if piece is None:
                    return
                size += len(piece)
                yield piece
    finally:
        line.write(size)


class _Line:
    """One line of the log about one request: the pattern of its address and never the address, and no one's name."""

    def __init__(self, request: HttpRequest, response: HttpResponseBase, running: Running, began: float) -> None:
        self._request, self._response = request, response
        self._running, self._began = running, began

    def write(self, size: int) -> None:
        """Write it, if that is wanted."""
        if not settings.ACCESS_LOG or self._request.path_info in PROBES:
            return
        told = {
            "method": method_named(self._request.method),
            "route": self._route(),
            "status": self._response.status_code,
            "ms": round((perf_counter() - self._began) * 1000, 1),
            "actor": self._actor(),
            "bytes": size,
        }
        with as_part_of(self._running):
            access.info(
                "%(method)s %(route)s %(status)d, %(ms).1f ms, %(bytes)d bytes, %(actor)s", told, extra={"told": told}
            )

    def _route(self) -> str:
        match = getattr(self._request, "resolver_match", None)
        if match is not None:
            return f"/{match.route}"
        return settings.STATIC_URL if self._request.path_info.startswith(settings.STATIC_URL) else UNKNOWN

    def _actor(self) -> str:
        if self._running.agent_id is not None:
            return "agent"
        # Whoever was never looked at is not looked up for the log.
        user = getattr(self._request, "_cached_user", None)
        return "person" if user is not None and user.is_authenticated else "nobody"
