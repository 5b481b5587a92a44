"""Real TLS servers and proxies on loopback, with certificates of an authority of their own."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import NameOID

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\nConnection: close\r\n\r\n" + b'{"ok": true}'
BEGIN, END = datetime.datetime(2020, 1, 1), datetime.datetime(2120, 1, 1)


@dataclass(frozen=True)
class Authority:
    """An authority; `file` is its certificate in PEM."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @property
    def file(self) -> str:
        return str(self.folder / "authority.pem")


@dataclass(frozen=True)
class Identity:
    """A server's certificate with its key, in files; `pin` is the digest of its public key in base64."""

    certificate: str
    key: str
    pin: str


def make_authority(folder: Path) -> Authority:
    folder.mkdir(parents=True, exist_ok=True)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "an authority of a test")])
    built = _builder(name, name, key).add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    certificate = built.sign(key, hashes.SHA256())
    (folder / "authority.pem").write_bytes(certificate.public_bytes(Encoding.PEM))
    return Authority(folder, key, certificate)


def make_identity(authority: Authority, name: str, *hosts: str) -> Identity:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: list[x509.GeneralName] = [_general(host) for host in hosts]
    built = _builder(subject, authority.certificate.subject, key).add_extension(
        x509.SubjectAlternativeName(names), critical=False
    )
    certificate = built.sign(authority.key, hashes.SHA256())
    paths = authority.folder / f"{name}.pem", authority.folder / f"{name}.key"
    paths[0].write_bytes(certificate.public_bytes(Encoding.PEM))
    paths[1].write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return Identity(str(paths[0]), str(paths[1]), base64.b64encode(sha256(public).digest()).decode())


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(BEGIN)
        .not_valid_after(END)
    )


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


@dataclass
class Listener:
    """What listens on loopback: its port, what it was sent inside of TLS, and how handshakes failed."""

    port: int
    received: bytearray = field(default_factory=bytearray)
    connections: int = 0
    handshakes: int = 0
    asked: list[str] = field(default_factory=list)


@contextmanager
def tls_server(identity: Identity, *, newest: ssl.TLSVersion | None = None) -> Iterator[Listener]:
    """Serve one answer per connection over TLS."""
    context = server_context(identity)
    if newest is not None:
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
        context.maximum_version = newest

    def serve(connection: socket.socket, listener: Listener) -> None:
        with context.wrap_socket(connection, server_side=True) as secured:
            listener.handshakes += 1
            while b"\r\n\r\n" not in listener.received or not listener.received.rstrip().endswith(b"}"):
                piece = secured.recv(65_536)
                if not piece:
                    return
                listener.received += piece
            secured.sendall(ANSWER)

    with _listening(serve) as listener:
        yield listener


@contextmanager
def tunnel(target: int, *, identity: Identity | None = None) -> Iterator[Listener]:
    """Serve as a proxy that connects whatever it is asked for with one port of loopback; over TLS with an identity."""
    context = server_context(identity) if identity else None

    def serve(connection: socket.socket, listener: Listener) -> None:
        inner: Any = context.wrap_socket(connection, server_side=True) if context else connection
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += inner.recv(1)
        listener.asked.append(head.split(b"\r\n")[0].decode())
        with socket.create_connection(("127.0.0.1", target), timeout=10) as outer, inner:
            inner.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = threading.Thread(target=_pump, args=(outer, inner), daemon=True)
            back.start()
            _pump(inner, outer)
            back.join(10)

    with _listening(serve) as listener:
        yield listener


def server_context(identity: Identity) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(identity.certificate, identity.key)
    return context


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
    with suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@contextmanager
def _listening(serve: Any) -> Iterator[Listener]:
    with socket.create_server(("127.0.0.1", 0)) as door:
        listener = Listener(door.getsockname()[1])
        threads: list[threading.Thread] = []

        def one(connection: socket.socket) -> None:
            connection.settimeout(10)
            with connection, suppress(OSError):
                serve(connection, listener)

        def accept() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = door.accept()
                    listener.connections += 1
                    threads.append(threading.Thread(target=one, args=(connection,), daemon=True))
                    threads[-1].start()

        accepting = threading.Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield listener
        finally:
            with suppress(OSError):
                door.shutdown(socket.SHUT_RDWR)
            door.close()
            accepting.join(10)
            for thread in threads:
                thread.join(10)
