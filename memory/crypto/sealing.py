"""Sealing of single values with AES-256-GCM: texts under a versioned prefix, bytes after a versioned head."""

from __future__ import annotations

import base64
import binascii
import os
import re
from dataclasses import dataclass
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from memory.errors import KeysUnavailable

NONCE_BYTES = 12
VERSION_BYTES = 4
TAG_BYTES = 16
PREFIX = re.compile(r"enc:v([1-9][0-9]{0,8}):")


class Sealed(str):
    """A stored value as it stands in the database: `enc:v<version>:<base64 of nonce, ciphertext and tag>`."""

    __slots__ = ()

    @property
    def version(self) -> int:
        """Give the version of the text key that sealed this value; raises KeysUnavailable without the prefix."""
        match = PREFIX.match(self)
        if match is None:
            raise KeysUnavailable("A stored text lacks the encryption prefix and was not shown.")
        return int(match[1])


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands; bound to the ciphertext, so that it cannot be moved to another row, field or owner."""

    owner_id: UUID
    table: str
    field: str
    row_id: UUID

    def associated_data(self, version: int) -> bytes:
        """Give the bytes that authenticate this place and the version of the key."""
        return f"{self.owner_id}|{self.table}|{self.field}|{self.row_id}|{version}".encode()


def seal(plain: str, *, key: bytes, version: int, place: Place) -> Sealed:
    """Encrypt a text for one place."""
    nonce = os.urandom(NONCE_BYTES)
    sealed = AESGCM(key).encrypt(nonce, plain.encode(), place.associated_data(version))
    return Sealed(f"enc:v{version}:{base64.b64encode(nonce + sealed).decode('ascii')}")


def unseal(value: Sealed, *, key: bytes, place: Place) -> str:
    """Decrypt a text that was sealed for the same place.

    Raises:
        KeysUnavailable: no prefix, a damaged value, another key, or a value that was moved from another place.
    """
    version = value.version
    try:
        raw = base64.b64decode(value.split(":", 2)[2], validate=True)
        return AESGCM(key).decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], place.associated_data(version)).decode()
    except (InvalidTag, binascii.Error, ValueError) as error:
        raise KeysUnavailable("A stored text does not open with its owner's key and was not shown.") from error


def seal_bytes(plain: bytes, *, key: bytes, version: int, place: Place) -> bytes:
    """Encrypt bytes for one place.

    Returns:
        4 bytes with the version of the key, most significant first, then the nonce, the ciphertext and its tag: 32
        bytes more than were given.
    """
    nonce = os.urandom(NONCE_BYTES)
    sealed = AESGCM(key).encrypt(nonce, plain, place.associated_data(version))
    return version.to_bytes(VERSION_BYTES, "big") + nonce + sealed


def sealed_bytes_version(value: bytes) -> int:
    """Give the version of the text key that sealed these bytes; raises KeysUnavailable for other bytes."""
    version = int.from_bytes(value[:VERSION_BYTES], "big")
    if len(value) < VERSION_BYTES + NONCE_BYTES + TAG_BYTES or not version:
        raise KeysUnavailable("A stored value is not sealed and was not used.")
    return version


def unseal_bytes(value: bytes, *, key: bytes, place: Place) -> bytes:
    """Decrypt bytes that were sealed for the same place.

    Raises:
        KeysUnavailable: a damaged value, another key, or a value that was moved from another place.
    """
    version = sealed_bytes_version(value)
    body = VERSION_BYTES + NONCE_BYTES
    try:
        return AESGCM(key).decrypt(value[VERSION_BYTES:body], value[body:], place.associated_data(version))
    except (InvalidTag, ValueError) as error:
        raise KeysUnavailable("A stored value does not open with its owner's key and was not used.") from error
