"""Answers that are written while they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import HttpRequest, StreamingHttpResponse

Piece = TypeVar("Piece", str, bytes)


def file_answer(request: HttpRequest, pieces: Iterator[Piece], *, name: str, media_type: str) -> StreamingHttpResponse:
    """Answer with a file that is saved under a name, piece by piece."""
    streamed = _in_turn(pieces) if isinstance(request, ASGIRequest) else pieces
    return StreamingHttpResponse(
        streamed,
        content_type=media_type,
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )


async def _in_turn(pieces: Iterator[Piece]) -> AsyncIterator[Piece]:
    """Give the pieces to an asynchronous server one by one, each made in the request's own thread."""

    def following() -> Piece | None:
        return next(pieces, None)

    try:
        while (piece := await sync_to_async(following)()) is not None:
            yield piece
    finally:
        # Of one who went away, what makes the pieces ends at once.
        if close := getattr(pieces, "close", None):
            await sync_to_async(close)()
