"""Capability tokens: what one agent may do on the memory bus, signed with a key of its owner.

A token is `locicap1_` and the base64url, without padding, of its fields and their HMAC-SHA256. Every field is preceded
by its length, so that no two different sets of fields are signed as the same bytes.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import math
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final
from uuid import UUID

from memory.errors import CapabilityRefused

PREFIX: Final = "locicap1_"
PURPOSE: Final = "capability"
NONCE_BYTES: Final = 16
MAX_TOKEN_CHARACTERS: Final = 400
"""Characters; the longest token has fewer, so a longer text is none and is not looked at."""

RANKS: Final = {"agent": 1, "squad": 2, "project": 3, "owner": 4}
"""How far each scope reaches, from one agent to all of an owner."""

_MAC_BYTES: Final = 32
_CONTEXT: Final = b"loci capability 1\0"
_LENGTH: Final = struct.Struct(">H")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND: Final = timedelta(microseconds=1)

Mac = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Capability:
    """What an agent may do on the bus, and until when.

    Attributes:
        owner_id: whose bus.
        agent_id: the agent that alone may present it.
        epoch: the agent's capability epoch when it was issued; all tokens of former epochs have ended.
        max_scope: the widest scope that may be read and published to, a key of `RANKS`.
        max_importance: the highest importance of a message, 0 to 1.
        can_publish: whether it is for more than reading.
        publish_rate: messages of the agent that are accepted within an hour.
        issued_at, expires_at: aware moments; from the second on it does not count.
        nonce: 16 random bytes, which make every token another one.
    """

    owner_id: UUID
    agent_id: UUID
    epoch: int
    max_scope: str
    max_importance: float
    can_publish: bool
    publish_rate: int
    issued_at: datetime
    expires_at: datetime
    nonce: bytes

    def reaches(self, scope: str) -> bool:
        """Tell whether a scope is within the ceiling."""
        return RANKS[scope] <= RANKS[self.max_scope]


def encode(capability: Capability) -> bytes:
    """Write the fields as bytes, each after its length; different fields give different bytes."""
    fields = (
        capability.owner_id.bytes,
        capability.agent_id.bytes,
        struct.pack(">Q", capability.epoch),
        capability.max_scope.encode(),
        # Minus zero is zero.
        struct.pack(">d", capability.max_importance + 0.0),
        struct.pack(">?", capability.can_publish),
        struct.pack(">I", capability.publish_rate),
        _moment_bytes(capability.issued_at),
        _moment_bytes(capability.expires_at),
        capability.nonce,
    )
    return b"".join(_LENGTH.pack(len(field)) + field for field in fields)


def sign(capability: Capability, *, mac: Mac) -> str:
    """Write a capability as a token.

    Args:
        capability: what is granted.
        mac: gives the 32 bytes that authenticate a message for `PURPOSE` with a key of the owner.
    """
    body = encode(capability)
    return PREFIX + base64.urlsafe_b64encode(body + mac(_CONTEXT + body)).rstrip(b"=").decode()


def verify(token: str, *, mac: Mac) -> Capability:
    """Read a token that was signed with the same key. Whether it has expired or ended is for the caller to judge.

    No field is looked at before the signature, which is compared in constant time.

    Raises:
        CapabilityRefused: forged, changed, cut, of another owner, or no token at all.
    """
    raw = _decoded(token)
    body, signature = raw[:-_MAC_BYTES], raw[-_MAC_BYTES:]
    if not hmac.compare_digest(signature, mac(_CONTEXT + body)):
        raise CapabilityRefused
    try:
        return _parsed(body)
    except (struct.error, ValueError, OverflowError) as error:
        raise CapabilityRefused from error


def _decoded(token: str) -> bytes:
    if not token.startswith(PREFIX) or len(token) > MAX_TOKEN_CHARACTERS or not token.isascii():
        raise CapabilityRefused
    text = token[len(PREFIX) :]
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise CapabilityRefused from error
    # The last character has bits to spare; one token has one form.
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != text or len(raw) <= _MAC_BYTES:
        raise CapabilityRefused
    return raw


def _parsed(body: bytes) -> Capability:
    owner, agent, epoch, scope, importance, publishes, rate, issued, expires, nonce = _fields(body)
    found = Capability(
        owner_id=UUID(bytes=owner),
        agent_id=UUID(bytes=agent),
        epoch=struct.unpack(">Q", epoch)[0],
        max_scope=scope.decode(),
        max_importance=struct.unpack(">d", importance)[0],
        can_publish=struct.unpack(">?", publishes)[0],
        publish_rate=struct.unpack(">I", rate)[0],
        issued_at=_moment(issued),
        expires_at=_moment(expires),
        nonce=nonce,
    )
    if found.max_scope not in RANKS or not 0 <= found.max_importance <= 1 or math.isnan(found.max_importance):
        raise ValueError("not a capability")
    return found


def _fields(body: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(body):
        (length,) = _LENGTH.unpack_from(body, place)
        place += _LENGTH.size
        if place + length > len(body):
            raise ValueError("a field is cut")
        yield body[place : place + length]
        place += length


def _moment_bytes(moment: datetime) -> bytes:
    return struct.pack(">q", (moment - _EPOCH) // _MICROSECOND)


def _moment(value: bytes) -> datetime:
    (microseconds,) = struct.unpack(">q", value)
    return _EPOCH + int(microseconds) * _MICROSECOND
