"""How the token vectors of a memory stand in the database: rows of bytes, sealed, with a mark of how they were made."""

from __future__ import annotations

from uuid import UUID

import numpy as np

from memory.crypto.keyring import OwnerRing
from memory.crypto.sealing import Place
from memory.errors import KeysUnavailable
from memory.models import TokenVectors
from memory.ports import REDUCTION_BYTES, TokenMatrix


def seal_tokens(
    matrix: TokenMatrix, *, ring: OwnerRing, memory_id: UUID, space_id: int, reduction: bytes, agent_id: UUID | None
) -> bytes:
    """Seal the token vectors of one memory.

    Args:
        matrix: a row for each token; it may have none.
        ring: the owner's keys.
        memory_id: whose tokens.
        space_id: the space that they belong to.
        reduction: 4 bytes, how they were made.
        agent_id: the agent whose own key seals the memory; None for memories that others may read too.

    Returns:
        Sealed bytes as `memory.crypto.sealing.seal_bytes` makes them, and after them the mark in clear, so that
        outdated rows are found without opening them: 36 bytes more than the matrix.
    """
    place = _place(ring.owner_id, memory_id, space_id, reduction)
    return ring.seal_bytes(matrix.tobytes(), place=place, agent_id=agent_id) + reduction


def open_tokens(
    value: bytes, *, ring: OwnerRing, memory_id: UUID, space_id: int, agent_id: UUID | None, width: int
) -> TokenMatrix:
    """Open the token vectors of one memory.

    Args:
        value: what `seal_tokens` gave.
        ring: the owner's keys.
        memory_id: whose tokens.
        space_id: the space that they belong to.
        agent_id: as for `seal_tokens`.
        width: the width of a row.

    Raises:
        KeysUnavailable: damaged, moved from another memory, owner or space, or sealed with a key that is gone.
    """
    place = _place(ring.owner_id, memory_id, space_id, reduction_of(value))
    plain = ring.unseal_bytes(value[:-REDUCTION_BYTES], place=place, agent_id=agent_id)
    if len(plain) % width:
        raise KeysUnavailable("Stored token vectors have another width than theirs and were not used.")
    return np.frombuffer(plain, dtype=np.int8).reshape(-1, width)


def reduction_of(value: bytes) -> bytes:
    """Give the mark of how sealed token vectors were made."""
    return value[-REDUCTION_BYTES:]


def _place(owner_id: UUID, memory_id: UUID, space_id: int, reduction: bytes) -> Place:
    return Place(owner_id, TokenVectors._meta.db_table, f"sealed/{space_id}/{reduction.hex()}", memory_id)
