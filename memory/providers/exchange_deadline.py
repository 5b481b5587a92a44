"""One deadline for a whole HTTP exchange: connecting, sending, the head of the answer and its body.

The time-outs of an HTTP client bound a single wait, so that a server that sends one byte at a time can hold a call for
as long as it likes. Here each wait ends at the latest when the exchange must. A look-up of a host name takes the time
that the system's resolver allows, which no socket option shortens.
"""

from __future__ import annotations

import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

import httpcore
import httpx

from memory.providers.outbound.policy import resolved

_deadline: ContextVar[float | None] = ContextVar("deadline_of_the_exchange", default=None)
# One record of TLS; the system takes so much in one go as a rule, so that a slow reader is met between two pieces.
PIECE_BYTES: Final = 16 * 1024


@contextmanager
def exchange_ends_at(deadline: float) -> Iterator[None]:
    """Let every wait on a bounded client's connections in this block end by a moment of `time.monotonic()`."""
    before = _deadline.set(deadline)
    try:
        yield
    finally:
        _deadline.reset(before)


def bounded(
    client: httpx.Client, *, addresses: Callable[[str, int], list[str]] = resolved, proxy_tls: ssl.SSLContext
) -> httpx.Client:
    """Make a new client's connections, through proxies of the environment too, keep to `exchange_ends_at`.

    httpx has no way to give its pools a network backend, so theirs is wrapped in place; the types are checked, so that
    another release of httpx cannot leave it out silently.

    Args:
        client: a client that has connected to nothing yet.
        addresses: gives the addresses that a host may be connected at, by its name and port. A proxy is not asked
            about: the environment names it, and it resolves the hosts behind it by itself.
        proxy_tls: the context of TLS to a proxy that is itself addressed with `https://`.

    Returns:
        The same client.

    Raises:
        TypeError: a transport or its backend is not what httpx and httpcore make by themselves.
    """
    for transport in (client._transport, *client._mounts.values()):
        if transport is None:
            # What the environment exempts from its proxies; the client's own transport serves it.
            continue
        pool = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if not isinstance(pool, httpcore.ConnectionPool) or not isinstance(backend, httpcore.NetworkBackend):
            raise TypeError(f"{type(transport).__name__} has no network backend that could be bounded.")
        proxy = isinstance(pool, httpcore.HTTPProxy)
        pool._network_backend = _Backend(backend, resolved if proxy else addresses)
        if isinstance(pool, httpcore.HTTPProxy) and pool._proxy_url.scheme == b"https":
            pool._proxy_ssl_context = proxy_tls
    return client


def _left(timeout: float | None, late: type[httpcore.TimeoutException]) -> float | None:
    """Give the seconds that a wait may take; raise where none are left."""
    deadline = _deadline.get()
    if deadline is None:
        return timeout
    left = deadline - time.monotonic()
    if left <= 0:
        raise late("the time of the exchange is over")
    return left if timeout is None else min(timeout, left)


class _Stream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), PIECE_BYTES):
            self._inner.write(buffer[start : start + PIECE_BYTES], _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend, addresses: Callable[[str, int], list[str]]) -> None:
        self._inner = inner
        self._addresses = addresses

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        options = list(socket_options or ())
        failure: Exception | None = None
        # A name may have many addresses, and each would be given the whole time-out.
        for address in self._addresses(host, port):
            wait = _left(timeout, httpcore.ConnectTimeout)
            try:
                return _Stream(self._inner.connect_tcp(address, port, wait, local_address, options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
        raise failure or httpcore.ConnectError("the name of the host has no address")

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None
    ) -> httpcore.NetworkStream:
        wait = _left(timeout, httpcore.ConnectTimeout)
        return _Stream(self._inner.connect_unix_socket(path, wait, socket_options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(_left(seconds, httpcore.ConnectTimeout) or 0.0)
