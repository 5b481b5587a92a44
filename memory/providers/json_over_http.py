"""Send JSON to a provider and read its answer within fixed limits of time and size.

Nothing that is raised here carries an address, a key or a text: an error is described by its class and status only,
and is raised without its cause, because the libraries' exceptions hold the whole request.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

import httpx

from memory.providers.answers import Answer, Retryable, Unreachable, parsed
from memory.providers.endpoints import is_loopback
from memory.providers.exchange_deadline import bounded, exchange_ends_at
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.policy import OutboundPolicy
from memory.providers.outbound.recording import Attempt, attempt
from memory.providers.outbound.refused import refusal
from memory.providers.outbound.tls import client_context
from memory.providers.per_process import PerProcess
from memory.providers.retrying import MOST_RETRIES, asked_wait, pause_before

__all__ = ["Answer", "JsonOverHttp", "Limits", "Unreachable"]

LARGEST_ERROR_BYTES = 64 * 1024
LONGEST_LINE_BYTES = 64 * 1024
KEPT_CONNECTIONS = 8
TOO_MANY_REQUESTS = 429
SERVER_ERROR = 500
NOT_IMPLEMENTED = 501


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one exchange with a provider.

    `connect_seconds` and `read_seconds` bound a single wait, `total_seconds` the exchange with all its retries, however
    slowly its bytes come, `response_bytes` the answer.
    """

    connect_seconds: float = 3.0
    read_seconds: float = 30.0
    total_seconds: float = 45.0
    response_bytes: int = 32 * 1024 * 1024

    def __post_init__(self) -> None:
        """Refuse limits that would let nothing through."""
        if min(self.connect_seconds, self.read_seconds, self.total_seconds, self.response_bytes) <= 0:
            raise ProviderMisconfigured("The time-outs and the size limit of a provider must be above zero.")


class JsonOverHttp:
    """Posts JSON to addresses of one provider over kept connections; may be used by several threads at once.

    The one place where anything leaves for a provider: each attempt is recorded, and goes only where the policy allows.
    """

    def __init__(
        self,
        base_url: str,
        *,
        kind: str,
        setting: str = "The address of a provider",
        key: str = "",
        limits: Limits | None = None,
        policy: OutboundPolicy | None = None,
    ) -> None:
        """Prepare without connecting.

        Args:
            base_url: a checked address; it decides whether proxies of the environment are used, and no other host is
                ever connected to.
            kind: what is sent, for the record: `embedding`, `llm` or `rerank`.
            setting: where the address comes from, for messages.
            key: sent as a bearer token when not empty; a checked key.
            limits: bounds of time and size.
            policy: where requests may go; the address's own host when left out.

        Raises:
            ProviderMisconfigured: the policy does not allow the address.
        """
        self._base_url = base_url
        self._kind = kind
        self._policy = policy or OutboundPolicy()
        self._host = self._policy.admit(base_url, setting=setting)
        self._headers = {"Accept-Encoding": "identity", "Accept": "application/json", "User-Agent": "loci"}
        if key:
            self._headers["Authorization"] = f"Bearer {key}"
        self.limits = limits or Limits()
        self._client = PerProcess(self._connect)

    def close(self) -> None:
        """Close kept connections; the next post opens new ones."""
        client = self._client.take()
        if client is not None:
            client.close()

    def post(
        self, url: str, payload: Mapping[str, Any], *, seconds: float | None = None, component: str = ""
    ) -> Answer:
        """Post JSON; try again at most twice after a failed connection, 429 or a server error.

        Args:
            url: the full address, of the same host.
            payload: values that JSON can carry.
            seconds: another bound for the whole exchange and for each wait in it.
            component: the part that asks, for the record, where it is known better than by `on_behalf_of`.

        Raises:
            Unreachable: no connection, time-out, redirect, too large an answer, 429 and server errors to the last, or
                a host, an address or a key of the server that is not allowed. Status 501 and what is refused for its
                size are answers.
        """
        content = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode("utf-8")
        read = seconds or self.limits.read_seconds
        deadline = time.monotonic() + (seconds or self.limits.total_seconds)
        for tried in range(MOST_RETRIES + 1):
            try:
                with self._recorded(content, component) as made:
                    return self._once("POST", url, content, read, deadline, made)
            except Retryable as failure:
                pause = pause_before(tried, failure.wait)
                if tried == MOST_RETRIES or time.monotonic() + pause >= deadline:
                    raise Unreachable(str(failure)) from None
            time.sleep(pause)
        raise AssertionError("the last attempt returns or raises")

    def get(self, url: str, *, seconds: float) -> Answer:
        """Ask for what is at an address, once.

        Args:
            url: the full address, of the same host.
            seconds: bound of the whole exchange.

        Raises:
            Unreachable: as for `post`.
        """
        with self._recorded(b"", "") as made:
            return self._once("GET", url, None, seconds, time.monotonic() + seconds, made)

    @contextmanager
    def lines(
        self, url: str, payload: Mapping[str, Any], *, quiet_seconds: float, seconds: float
    ) -> Iterator[Iterator[Any]]:
        """Post JSON, once, and give the values of an answer that comes line by line; leaving the block ends it.

        Args:
            url: the full address, of the same host.
            payload: values that JSON can carry.
            quiet_seconds: how long the server may say nothing.
            seconds: bound of the whole exchange.

        Raises:
            Unreachable: as for `post`, also while lines are read; or a line that is too long or is not JSON.
        """
        content = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode("utf-8")
        deadline = time.monotonic() + seconds
        with (
            self._recorded(content, "") as made,
            self._exchange("POST", url, content, quiet_seconds, deadline, made) as response,
        ):
            if not response.is_success:
                answer = Answer(response.status_code, self._body(response, deadline, LARGEST_ERROR_BYTES, cut=True))
                if not answer.says('"error"'):
                    raise Unreachable(f"refuses the request (status {answer.status})")
                yield iter([answer.value()])
                return
            yield self._values(response)

    def _values(self, response: httpx.Response) -> Iterator[Any]:
        rest, received = b"", 0
        for chunk in response.iter_raw():
            received += len(chunk)
            *whole, rest = (rest + chunk).split(b"\n")
            if received > self.limits.response_bytes or len(rest) > LONGEST_LINE_BYTES:
                raise Unreachable("answered with more data than is allowed")
            yield from (parsed(line) for line in whole if line.strip())
        if rest.strip():
            yield parsed(rest)

    @contextmanager
    def _recorded(self, content: bytes, component: str) -> Iterator[Attempt]:
        digest = sha256(content).digest()
        with attempt(kind=self._kind, component=component, host=self._host, size=len(content), digest=digest) as made:
            yield made

    def _once(
        self, method: str, url: str, content: bytes | None, read: float, deadline: float, made: Attempt
    ) -> Answer:
        with self._exchange(method, url, content, read, deadline, made) as response:
            return self._read(response, deadline)

    @contextmanager
    def _exchange(
        self, method: str, url: str, content: bytes | None, read: float, deadline: float, made: Attempt
    ) -> Iterator[httpx.Response]:
        """Send a request and give its answer, whose body is still to be read; errors of both become ours."""
        left = max(deadline - time.monotonic(), 0.001)
        connect = min(self.limits.connect_seconds, left)
        timeout = httpx.Timeout(min(read, left), connect=connect, pool=connect)
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            client = self._client.get()
            with (
                exchange_ends_at(deadline),
                client.stream(method, url, content=content, headers=headers, timeout=timeout) as response,
            ):
                made.answered(response.status_code)
                yield response
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout) as error:
            refused = refusal(error)
            made.outcome = type(refused or error).__name__
            if refused is not None:
                raise Unreachable(str(refused.args[-1])) from None
            distrusted = "CERTIFICATE_VERIFY_FAILED" in str(error)
            raise Retryable("shows a certificate that is not trusted" if distrusted else "cannot be reached") from None
        except httpx.TimeoutException as error:
            made.outcome = type(error).__name__
            raise Unreachable("did not answer in time") from None
        except httpx.ProxyError as error:
            made.outcome = type(error).__name__
            raise Retryable("cannot be reached through the proxy, which refuses or fails") from None
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError) as error:
            made.outcome = type(error).__name__
            # Mostly a kept connection that the server closed meanwhile.
            raise Retryable(f"broke the connection off ({error.__class__.__name__})") from None

    def _read(self, response: httpx.Response, deadline: float) -> Answer:
        status = response.status_code
        if status == TOO_MANY_REQUESTS:
            raise Retryable("asks to slow down (status 429)", asked_wait(response.headers.get("Retry-After")))
        if status == SERVER_ERROR:
            answer = Answer(status, self._body(response, deadline, LARGEST_ERROR_BYTES, cut=True))
            if answer.too_large:
                return answer
        if status >= SERVER_ERROR and status != NOT_IMPLEMENTED:
            raise Retryable(f"failed (status {status})", asked_wait(response.headers.get("Retry-After")))
        if 300 <= status < 400:
            raise Unreachable(f"answered with a redirect (status {status}), which is not followed")
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Unreachable("answered with an encoding that was not asked for")
        if response.is_success:
            return Answer(status, self._body(response, deadline, self.limits.response_bytes))
        return Answer(status, self._body(response, deadline, LARGEST_ERROR_BYTES, cut=True))

    def _body(self, response: httpx.Response, deadline: float, largest: int, *, cut: bool = False) -> bytes:
        body = bytearray()
        try:
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > largest:
                    if cut:
                        return bytes(body[:largest])
                    raise Unreachable("answered with more data than is allowed")
        except httpx.ReadTimeout:
            if time.monotonic() < deadline:
                raise
            raise Unreachable("did not finish its answer in time") from None
        return bytes(body)

    def _connect(self) -> httpx.Client:
        tls = client_context(ca_file=self._policy.ca_file, pins=self._policy.pins)
        proxy = self._policy.proxy_for(self._host)
        try:
            client = httpx.Client(
                headers=self._headers,
                follow_redirects=False,
                proxy=proxy or None,
                # A proxy of the environment must not see what is meant to stay on this machine.
                trust_env=proxy is None and not is_loopback(self._base_url),
                limits=httpx.Limits(max_keepalive_connections=KEPT_CONNECTIONS),
                verify=tls,
            )
        except (ValueError, ImportError, httpx.InvalidURL):
            # Without the cause, which may quote a password in the address.
            raise Unreachable(
                "cannot be asked: the proxy that the environment names is not one with http:// or https://. "
                "Set OUTBOUND_PROXY"
            ) from None
        return bounded(client, addresses=partial(self._policy.addresses, admitted=self._host), proxy_tls=tls)
