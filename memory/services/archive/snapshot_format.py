"""The file of a snapshot: sealed in chunks, padded to whole steps, and with a code over all of it at its end.

Header (80 bytes): `LOCISNAP`, the format, how the key is made, three numbers of scrypt, three zeros, 32 bytes of salt,
16 bytes of the agent that made it (zeros for a person) and 16 bytes by which the right key is known. Then chunks of
64 KiB, each AES-256-GCM with its number as the nonce and header, number and a last-mark as associated data. Then
HMAC-SHA256 over everything before it. A file has a multiple of 512 KiB: the content is followed by one byte 0x80 and
zeros, so that its length tells little.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import threading
import unicodedata
from dataclasses import dataclass
from typing import IO, Final, Protocol
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memory.crypto.derivation import derive
from memory.errors import InvalidInput, RateLimited, TooLarge
from memory.services.archive.limits import MOST_FILE_BYTES
from memory.services.archive.sink import Sink

MAGIC: Final = b"LOCISNAP"
FORMAT: Final = 1
OWNER_KEY: Final = 1
PASSPHRASE: Final = 2

STEP: Final = 512 * 1024
CHUNK: Final = 64 * 1024
TAG: Final = 16
MAC: Final = 32
SALT: Final = 32
MAKER: Final = 16
CHECK: Final = 16
_HEADER: Final = struct.Struct(">8sBBBBB3s32s16s16s")
HEADER: Final = _HEADER.size
PLAIN: Final = CHUNK - TAG
LAST_PLAIN: Final = CHUNK - HEADER - MAC - TAG
"""What the last chunk holds: it is shorter than the others by the header and the code, so that the file fits."""

END: Final = b"\x80"

LOG_N: Final = 17
BLOCK: Final = 8
LANES: Final = 1
"""128 MiB and about half a second for each attempt at a passphrase."""

LEAST_LOG_N: Final = 14
MOST_LOG_N: Final = LOG_N
"""What a header may ask for at most is what we write, since whoever made it may have meant harm."""

LEAST_PASSPHRASE: Final = 12
MOST_PASSPHRASE: Final = 1024

PATIENCE_SECONDS: Final = 20.0
"""How long an attempt at a passphrase waits for those before it."""

# However many ask at once, the memory of one attempt is taken.
_one_at_a_time = threading.Lock()


class Secret(Protocol):
    """Where the key of a snapshot comes from."""

    kind: int

    def key(self, header: Header) -> bytes:
        """Give the 32 bytes from which the keys of one snapshot are derived."""


@dataclass(frozen=True, slots=True)
class Header:
    """The numbers at the beginning of a snapshot."""

    kind: int
    log_n: int
    block: int
    lanes: int
    salt: bytes
    maker: UUID | None
    """The agent that made it; None for a person."""

    def written(self, check: bytes) -> bytes:
        """Write the header."""
        maker = self.maker.bytes if self.maker else bytes(MAKER)
        numbers = self.kind, self.log_n, self.block, self.lanes
        return _HEADER.pack(MAGIC, FORMAT, *numbers, bytes(3), self.salt, maker, check)


class Passphrase:
    """A key made of what a person remembers, with scrypt (RFC 7914)."""

    kind = PASSPHRASE

    def __init__(self, text: str) -> None:
        """Take a passphrase; raises InvalidInput with the code `passphrase.invalid` for a short or an endless one."""
        if not LEAST_PASSPHRASE <= len(text) <= MOST_PASSPHRASE or not text.isprintable():
            raise InvalidInput(
                f"A passphrase has between {LEAST_PASSPHRASE} and {MOST_PASSPHRASE} printable characters.",
                code="passphrase.invalid",
                field="passphrase",
            )
        # However a keyboard composes them, the same characters are the same passphrase.
        self._secret = unicodedata.normalize("NFKC", text).encode()

    def key(self, header: Header) -> bytes:
        """Stretch the passphrase as a header says, within bounds that nobody can use to exhaust this machine.

        Raises:
            RateLimited: `snapshot.busy`, others try passphrases at this moment, and have for twenty seconds.
        """
        if not _one_at_a_time.acquire(timeout=PATIENCE_SECONDS):
            raise RateLimited(
                "Other snapshots are being opened or sealed with a passphrase at this moment. Try again in a minute.",
                code="snapshot.busy",
                retry_after=60,
            )
        try:
            return hashlib.scrypt(
                self._secret,
                salt=header.salt,
                n=2**header.log_n,
                r=header.block,
                p=header.lanes,
                maxmem=2 * 128 * header.block * 2**header.log_n,
                dklen=32,
            )
        finally:
            _one_at_a_time.release()


class RootKey:
    """A key derived from the owner's root key: it opens as long as that exists."""

    kind = OWNER_KEY

    def __init__(self, root: bytes | bytearray) -> None:
        """Take the owner's root key."""
        self._root = root

    def key(self, header: Header) -> bytes:
        """Derive the key of one snapshot."""
        return derive(self._root, purpose="snapshot", salt=header.salt)


@dataclass(frozen=True, slots=True)
class _Keys:
    chunks: AESGCM
    mac: bytes
    check: bytes


def _keys(secret: Secret, header: Header) -> _Keys:
    key = secret.key(header)
    return _Keys(
        AESGCM(derive(key, purpose="snapshot/chunks")),
        derive(key, purpose="snapshot/mac"),
        # All of the header is part of it: neither number nor maker can be changed without the key being another one.
        hmac.digest(derive(key, purpose="snapshot/check"), header.written(bytes(CHECK)), "sha256")[:CHECK],
    )


class Sealing:
    """Takes content and passes the bytes of a snapshot on; call `finish` at the end."""

    def __init__(self, sink: Sink, secret: Secret, maker: UUID | None = None) -> None:
        """Begin a snapshot of an agent, or of a person: the header is written at once."""
        self._sink = sink
        header = Header(
            secret.kind,
            *((LOG_N, BLOCK, LANES) if secret.kind == PASSPHRASE else (0, 0, 0)),
            salt=os.urandom(SALT),
            maker=maker,
        )
        self._keys = _keys(secret, header)
        self._header = header.written(self._keys.check)
        self._mac = hmac.new(self._keys.mac, digestmod="sha256")
        self._held = bytearray()
        self._number = 0
        self._give(self._header)

    def write(self, data: bytes, /) -> int:
        """Take some content; at most one chunk of it is held."""
        self._held += data
        while len(self._held) >= PLAIN:
            self._chunk(bytes(self._held[:PLAIN]), last=False)
            del self._held[:PLAIN]
        return len(data)

    def finish(self) -> None:
        """Pad, write the last chunks and the code over everything."""
        self.write(END)
        # As many chunks as fill whole steps, of which the last one is the shorter one.
        in_step = STEP // CHUNK
        while (self._number + 1) % in_step or len(self._held) > LAST_PLAIN:
            self.write(bytes(PLAIN - len(self._held)))
        self._chunk(bytes(self._held) + bytes(LAST_PLAIN - len(self._held)), last=True)
        self._sink.write(self._mac.digest())

    def _chunk(self, plain: bytes, *, last: bool) -> None:
        nonce, bound = _place(self._header, self._number, last=last)
        self._give(self._keys.chunks.encrypt(nonce, plain, bound))
        self._number += 1

    def _give(self, data: bytes) -> None:
        self._mac.update(data)
        self._sink.write(data)


def _place(header: bytes, number: int, *, last: bool) -> tuple[bytes, bytes]:
    """Give the nonce of a chunk and what is bound to it. The key is of this snapshot only, so no nonce comes twice."""
    counted = number.to_bytes(12, "big")
    return counted, header + counted + (b"\x01" if last else b"\x00")


def read_header(file: IO[bytes]) -> Header:
    """Read the beginning of a snapshot.

    Raises:
        InvalidInput: `snapshot.format`, no snapshot, or one with parameters that are not taken;
            `snapshot.unauthenticated`, the code over it is missing; `snapshot.damaged`, another size than any has.
        TooLarge: `snapshot.too_large`, beyond 8 GiB.
    """
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(HEADER)
    if len(head) < HEADER or not head.startswith(MAGIC):
        raise InvalidInput("This is no snapshot of Loci. Nothing was stored.", code="snapshot.format")
    _, form, kind, log_n, block, lanes, zeros, salt, maker, _ = _HEADER.unpack(head)
    stretched = LEAST_LOG_N <= log_n <= MOST_LOG_N and block == BLOCK and lanes == LANES
    usable = stretched if kind == PASSPHRASE else kind == OWNER_KEY and not (log_n or block or lanes)
    if form != FORMAT or zeros != bytes(3) or not usable:
        raise InvalidInput(
            "This snapshot is of a form, or asks for parameters, that are not supported. Nothing was stored.",
            code="snapshot.format",
        )
    if size > MOST_FILE_BYTES:
        raise TooLarge("The snapshot is larger than what is taken. Nothing was stored.", code="snapshot.too_large")
    if (size + MAC) % STEP == 0:
        raise InvalidInput(
            "The snapshot lacks the code that proves it whole, so it is not trusted. Nothing was stored.",
            code="snapshot.unauthenticated",
        )
    if size % STEP or not size:
        raise damaged()
    return Header(kind, log_n, block, lanes, salt, UUID(bytes=maker) if any(maker) else None)


def open_snapshot(file: IO[bytes], header: Header, secret: Secret, target: IO[bytes]) -> None:
    """Check the code over a snapshot and then open it into another file.

    Args:
        file: the snapshot, seekable.
        header: its header.
        secret: the key.
        target: takes the content; nothing is written to it before the code was checked.

    Raises:
        InvalidInput: `snapshot.key`, another owner's key, or `snapshot.passphrase`, another passphrase;
            `snapshot.damaged`, cut off or changed.
    """
    keys = _keys(secret, header)
    file.seek(0)
    head = file.read(HEADER)
    if not hmac.compare_digest(head[-CHECK:], keys.check):
        raise wrong_key(header.kind)
    size = file.seek(0, os.SEEK_END)
    _check_mac(file, keys, size)
    file.seek(HEADER)
    chunks = size // CHUNK
    try:
        for number in range(chunks):
            last = number == chunks - 1
            sealed = file.read(LAST_PLAIN + TAG if last else CHUNK)
            target.write(keys.chunks.decrypt(*_given(head, number, sealed, last=last)))
    except InvalidTag as error:
        raise damaged() from error
    _unpad(target)


def _given(head: bytes, number: int, sealed: bytes, *, last: bool) -> tuple[bytes, bytes, bytes]:
    nonce, bound = _place(head, number, last=last)
    return nonce, sealed, bound


def _check_mac(file: IO[bytes], keys: _Keys, size: int) -> None:
    file.seek(0)
    code = hmac.new(keys.mac, digestmod="sha256")
    left = size - MAC
    while left:
        piece = file.read(min(CHUNK, left))
        if not piece:
            raise damaged()
        code.update(piece)
        left -= len(piece)
    if not hmac.compare_digest(code.digest(), file.read(MAC)):
        raise damaged()


def _unpad(target: IO[bytes]) -> None:
    """Cut the padding off, which has at most one step and a chunk."""
    end = target.seek(0, os.SEEK_END)
    begin = max(0, end - STEP - CHUNK)
    target.seek(begin)
    content = target.read().rstrip(b"\0")
    if not content.endswith(END):
        raise damaged()
    target.truncate(begin + len(content) - 1)
    target.seek(0)


def wrong_key(kind: int) -> InvalidInput:
    """Give the error of a key or passphrase that does not open a snapshot."""
    if kind == PASSPHRASE:
        return InvalidInput(
            "The passphrase is another one, or the snapshot's beginning is damaged. Nothing was stored.",
            code="snapshot.passphrase",
        )
    return InvalidInput(
        "The snapshot was sealed with the key of another owner, or with one that was destroyed since; or its beginning "
        "is damaged. Nothing was stored.",
        code="snapshot.key",
    )


def damaged() -> InvalidInput:
    """Make the error of a snapshot that was cut off or changed."""
    return InvalidInput("The snapshot is cut off, or was changed. Nothing was stored.", code="snapshot.damaged")
