"""Signatures of this installation (Ed25519, RFC 8032): receipts, archives and the chain of the audit carry them."""

from __future__ import annotations

import hmac
import json
from hashlib import sha256
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from memory.crypto.derivation import derive
from memory.errors import KeysUnavailable


class Signer:
    """Signs in the name of this installation."""

    def __init__(self, secret: str) -> None:
        """Derive the key pair from a secret of at least 32 random bytes, written as text."""
        self._mac_key = derive(secret.encode(), purpose="signing/mac")
        self._key = Ed25519PrivateKey.from_private_bytes(derive(secret.encode(), purpose="signing"))
        self.public_key = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    def sign(self, message: bytes, *, purpose: str) -> bytes:
        """Sign a message for one purpose; a signature for one purpose does not count for another. 64 bytes."""
        return self._key.sign(_bound(message, purpose))

    def mac(self, message: bytes, *, purpose: str) -> bytes:
        """Give a code for a message that only this installation can make or check (HMAC-SHA256); 32 bytes."""
        return hmac.digest(self._mac_key, _bound(message, purpose), "sha256")


def is_signed(message: bytes, signature: bytes, *, public_key: bytes, purpose: str) -> bool:
    """Tell whether whoever has the private key to `public_key` (32 bytes) signed a message for a purpose."""
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, _bound(message, purpose))
    except (InvalidSignature, ValueError):
        return False
    return True


def fingerprint(public_key: bytes) -> str:
    """Give a short name of a public key for people: the first 16 bytes of its SHA-256, in hexadecimal."""
    return sha256(public_key).hexdigest()[:32]


def canonical(value: Any) -> bytes:
    """Write a JSON value in the one form that is signed: sorted keys, no blanks, UTF-8; raises ValueError for NaN."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode()


def _bound(message: bytes, purpose: str) -> bytes:
    return f"loci/{purpose}".encode() + b"\0" + message


_installed: Signer | None = None


def install(signer: Signer | None) -> None:
    """Set the signer of this process; done once by the composition of the application."""
    global _installed
    _installed = signer


def signer() -> Signer:
    """Give the signer of this process; raises KeysUnavailable before one was installed."""
    if _installed is None:
        raise KeysUnavailable("No signing key has been set up in this process.")
    return _installed
