"""TLS to providers: a bundled set of authorities, at least TLS 1.2, and pins that are checked before anything is sent.

Neither the system's store nor SSL_CERT_FILE counts, so that whoever can add an authority to this machine cannot read
what is sent, and SSLKEYLOGFILE writes no keys.
"""

from __future__ import annotations

import hmac
import ssl
from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha256
from typing import Any

import certifi
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from memory.providers.outbound.refused import Refused

Pins = Mapping[str, frozenset[bytes]]


class PinMismatch(ssl.SSLError, Refused):
    """A server's key is none of those pinned for its host; nothing of the request was sent."""


class PinnedContext(ssl.SSLContext):
    """A context of clients that knows the pins of hosts, by their normal form."""

    pins: Pins

    def check(self, connection: ssl.SSLSocket | ssl.SSLObject) -> None:
        """Compare a server's key with the pins of its host, after the handshake; raises PinMismatch."""
        pins = self.pins.get((connection.server_hostname or "").lower())
        if pins is None:
            return
        found = public_key_digest(connection.getpeercert(binary_form=True) or b"")
        if not any(hmac.compare_digest(found, pin) for pin in pins):
            raise PinMismatch("shows another key than those that OUTBOUND_PINS names, so nothing was sent")


class _Socket(ssl.SSLSocket):
    """A socket whose handshake is finished once the pins are checked."""

    def do_handshake(self, block: bool = False) -> None:
        super().do_handshake(block)
        _check(self.context, self)


class _Object(ssl.SSLObject):
    """The same without a socket, for TLS inside the TLS of a proxy."""

    def do_handshake(self) -> None:
        super().do_handshake()
        _check(self.context, self)


PinnedContext.sslsocket_class = _Socket
PinnedContext.sslobject_class = _Object


def client_context(*, ca_file: str = "", pins: Pins | None = None) -> ssl.SSLContext:
    """Give the context of connections to providers; those with the same arguments share one.

    Args:
        ca_file: a file of further authorities in PEM; none when empty.
        pins: SHA-256 digests of public keys by host; a host without any needs a trusted certificate only.

    Raises:
        OSError: the file cannot be read or holds no certificate.
    """
    return _context(ca_file, tuple(sorted((pins or {}).items())))


@lru_cache(maxsize=16)
def _context(ca_file: str, pins: tuple[tuple[str, frozenset[bytes]], ...]) -> ssl.SSLContext:
    made = PinnedContext(ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_2
    made.load_verify_locations(cafile=certifi.where())
    if ca_file:
        made.load_verify_locations(cafile=ca_file)
    made.pins = dict(pins)
    return made


def public_key_digest(certificate: bytes) -> bytes:
    """Give SHA-256 of the public key in a certificate (its SubjectPublicKeyInfo, as in RFC 7469).

    Raises:
        PinMismatch: it cannot be read.
    """
    try:
        key: Any = x509.load_der_x509_certificate(certificate).public_key()
    except ValueError:
        raise PinMismatch("shows a certificate that cannot be read, so nothing was sent") from None
    return sha256(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)).digest()


def _check(context: ssl.SSLContext, connection: ssl.SSLSocket | ssl.SSLObject) -> None:
    if isinstance(context, PinnedContext):
        context.check(connection)
