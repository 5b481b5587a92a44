"""A way to the Bolt server that lets it die after a commit, before anybody hears of that."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from tests.bolt.server import BoltServer

# A message of Bolt: its length, a structure without fields, its tag, and the end of the message.
COMMIT = b"\x00\x02\xb0\x12\x00\x00"


class Cutting:
    """Passes on what a client and the server say to each other, on a loopback port of its own.

    Attributes:
        armed: kill the server as soon as it answers the next commit, and pass nothing of the answer on.
        cut: whether that has happened.
    """

    def __init__(self, server: BoltServer) -> None:
        self.server = server
        self.armed = self.cut = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        """Give the address for a driver."""
        return f"bolt://127.0.0.1:{self._listener.getsockname()[1]}"

    def close(self) -> None:
        """Accept nobody any more."""
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self.server.port))
                except OSError:
                    client.close()
                    continue
                committing = threading.Event()
                threading.Thread(target=self._there, args=(client, server, committing), daemon=True).start()
                threading.Thread(target=self._back, args=(client, server, committing), daemon=True).start()

    def _there(self, client: socket.socket, server: socket.socket, committing: threading.Event) -> None:
        for data in _heard(client):
            if self.armed and COMMIT in data:
                committing.set()
            with contextlib.suppress(OSError):
                server.sendall(data)
        _hang_up(server)

    def _back(self, client: socket.socket, server: socket.socket, committing: threading.Event) -> None:
        for data in _heard(server):
            if committing.is_set():
                self.armed, self.cut = False, True
                self.server.kill()
                break
            with contextlib.suppress(OSError):
                client.sendall(data)
        _hang_up(client)


def _heard(side: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(OSError):
        while data := side.recv(65536):
            yield data


def _hang_up(side: socket.socket) -> None:
    with contextlib.suppress(OSError):
        side.shutdown(socket.SHUT_RDWR)
    side.close()
