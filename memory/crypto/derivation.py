"""Subkeys of an owner by HKDF-SHA256 (RFC 5869), one for each purpose."""

from __future__ import annotations

from uuid import UUID

from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

KEY_BYTES = 32


def derive(secret: bytes | bytearray, *, purpose: str, salt: bytes | None = None) -> bytes:
    """Derive a 32-byte key for one purpose from a secret of at least 32 random bytes."""
    return HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=f"loci/{purpose}".encode()).derive(secret)


def text_key(root: bytes | bytearray, seed: bytes | bytearray, *, version: int, agent_id: UUID | None) -> bytes:
    """Derive the key of one version of an owner's texts.

    Args:
        root: the owner's root key.
        seed: that version's own random seed; once it is destroyed the version's key cannot be derived again.
        version: number of the version, from 1.
        agent_id: the agent whose private rows these are; None for rows that others may read too.
    """
    reader = f"agent/{agent_id}" if agent_id else "shared"
    return derive(root, purpose=f"text/v{version}/{reader}", salt=bytes(seed))
