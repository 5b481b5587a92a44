"""Bodies beyond the limit are refused before anything of ours sees them, and others pass untouched."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from config.body_limit import BodyLimit, Message, Receive, Send


def exchange(chunks: list[bytes], *, length: str | None = None, limit: int = 10) -> tuple[list[Any], bytes]:
    """Send chunks and give what was answered and what the application has read."""
    sent: list[Any] = []
    seen = b""
    waiting: list[Message] = [
        {"type": "http.request", "body": chunk, "more_body": index < len(chunks) - 1}
        for index, chunk in enumerate(chunks)
    ]

    async def application(scope: Message, receive: Any, send: Any) -> None:
        nonlocal seen
        more = True
        while more:
            message = await receive()
            seen += message["body"]
            more = message["more_body"]
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Message:
        return waiting.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"content-length", length.encode())] if length is not None else []
    asyncio.run(BodyLimit(application, limit)({"type": "http", "headers": headers}, receive, send))
    return sent, seen


def test_a_body_within_the_limit_passes() -> None:
    sent, seen = exchange([b"12345", b"67890"], length="10")
    assert (sent[0]["status"], seen) == (200, b"1234567890")


def test_an_announced_length_is_refused_before_the_body_is_read() -> None:
    sent, seen = exchange([b"x" * 11], length="11")
    assert (sent[0]["status"], seen) == (413, b"")
    assert b"body.too_large" in sent[1]["body"]


@pytest.mark.parametrize("length", [None, "3", "many"])
def test_an_unannounced_length_is_counted(length: str | None) -> None:
    sent, seen = exchange([b"123456", b"789012", b"more"], length=length)
    assert (sent[0]["status"], seen) == (413, b"123456")


@pytest.mark.parametrize(
    "given", [b"req-7", b"loci_3f9a1c07_Qm7xV2dKp0sLz8RtYb4NwHc6JgEa1UfXiO5TvMk3qZr"], ids=["plain", "key"]
)
def test_a_refusal_carries_the_id_of_the_request_unless_that_is_a_secret(given: bytes) -> None:
    sent: list[Any] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("refused by its length alone")

    async def application(scope: Message, receive: Receive, send: Send) -> None:
        raise AssertionError("refused before")

    headers = [(b"content-length", b"11"), (b"x-request-id", given)]
    asyncio.run(BodyLimit(application, 10)({"type": "http", "headers": headers}, receive, send))
    told = dict(sent[0]["headers"])[b"x-request-id"]
    assert told == given if given == b"req-7" else len(told) == 32 and given not in told


def test_other_connections_pass() -> None:
    seen = []

    async def application(scope: Message, receive: Any, send: Any) -> None:
        seen.append(scope["type"])

    async def receive() -> Message:
        return {}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    asyncio.run(BodyLimit(application, 1)({"type": "lifespan"}, receive, send))
    assert seen == ["lifespan"]
