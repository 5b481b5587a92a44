"""A Bolt server on loopback that holds no data: it does not answer at all, or fails every statement with a code."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time
from io import BufferedIOBase
from typing import Final

BOLT_5_4: Final = b"\0\0\4\5"
HELLO: Final = 0x01
RUN: Final = 0x10
IGNORED_AFTER_FAILURE: Final = (0x2F, 0x3F)
SUCCESS, FAILURE, IGNORED = 0x70, 0x7F, 0x7E


class ScriptedBolt:
    """Answers as `code` says at the moment: the code of an error, or None for silence.

    Attributes:
        accepted: how many connections were taken so far.
        heard: the messages that came, as they were sent.
        slow: whether the answer to a statement waits until this is not set any more.
    """

    def __init__(self) -> None:
        self.code: str | None = None
        self.accepted = 0
        self.heard: list[bytes] = []
        self.slow = False
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        """Give the address for a driver."""
        return f"bolt://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        """Close all connections, so that nobody waits for an answer any more."""
        for one in (self._listening, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listening.accept()
                self.accepted += 1
                self._open.append(connection)
                threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection: socket.socket) -> None:
        # The end of the connection shows as too few bytes.
        with contextlib.suppress(OSError, struct.error), connection.makefile("rwb") as stream:
            stream.read(20)
            if self.code is None:
                stream.read()
            stream.write(BOLT_5_4)
            stream.flush()
            while True:
                self.heard.append(_message(stream))
                while self.slow and self.heard[-1][1] == RUN:
                    time.sleep(0.01)
                stream.write(_chunked(self._answer(self.heard[-1][1])))
                stream.flush()

    def _answer(self, sort: int) -> bytes:
        if sort == HELLO:
            return _structure(SUCCESS, {"server": "Neo4j/5.26.0", "connection_id": "bolt-1"})
        if sort == RUN:
            return _structure(FAILURE, {"code": self.code or "", "message": "what the server says"})
        if sort in IGNORED_AFTER_FAILURE:
            return bytes([0xB0, IGNORED])
        return _structure(SUCCESS, {})


def _message(stream: BufferedIOBase) -> bytes:
    """Read the chunks of one message, which an empty one ends."""
    whole = b""
    while True:
        (length,) = struct.unpack(">H", stream.read(2))
        if length:
            whole += stream.read(length)
        elif whole:
            return whole


def _chunked(message: bytes) -> bytes:
    return struct.pack(">H", len(message)) + message + b"\0\0"


def _structure(sort: int, values: dict[str, str]) -> bytes:
    pairs = b"".join(_text(name) + _text(value) for name, value in values.items())
    return bytes([0xB1, sort, 0xA0 | len(values)]) + pairs


def _text(value: str) -> bytes:
    encoded = value.encode()
    return b"\xd1" + struct.pack(">H", len(encoded)) + encoded
