"""Token vectors in the database: written beside the vectors, resealed, removed, and made where they are missing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db import connection

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable
from memory.models import Memory, TokenVectors, current_owner
from memory.ports import TokenMatrix
from memory.recall.token_blobs import open_tokens, reduction_of, seal_tokens

logger = logging.getLogger(__name__)

INSERT: Final = """
    INSERT INTO memory_tokenvectors (owner_id, memory_id, space_id, sealed)
    SELECT %s, t.memory_id, t.space_id, t.sealed
    FROM unnest(%s::uuid[], %s::integer[], %s::bytea[]) AS t (memory_id, space_id, sealed)
    JOIN memory_embeddingspace s ON s.id = t.space_id AND s.state <> 'retired'
    ORDER BY t.memory_id, t.space_id
    ON CONFLICT (owner_id, memory_id, space_id) DO UPDATE SET sealed = excluded.sealed
"""


def insert_token_vectors(
    rows: Sequence[Memory], tokens: Sequence[TokenMatrix], *, space_id: int, reduction: bytes
) -> None:
    """Insert the token vectors of rows of the current owner in one space, sealed, replacing what is there.

    A row without tokens gets an empty matrix, so that it is not taken for one whose tokens are still to be made.
    """
    ring = keyring().of(current_owner())
    _insert(
        [
            (
                row.pk,
                space_id,
                seal_tokens(
                    matrix,
                    ring=ring,
                    memory_id=row.pk,
                    space_id=space_id,
                    reduction=reduction,
                    agent_id=row.sealing_agent_id,
                ),
            )
            for row, matrix in zip(rows, tokens, strict=True)
        ]
    )


def remove_token_vectors(memory_ids: Sequence[UUID]) -> None:
    """Remove the token vectors of memories of the current owner, in every space."""
    TokenVectors.objects.filter(memory_id__in=memory_ids).delete()


def reseal_token_vectors(row: Memory, *, sealed_for: UUID | None) -> None:
    """Seal a row's token vectors with the key that fits it now, after others may read it than before.

    Args:
        row: a row of the current owner, with its new visibility.
        sealed_for: the agent whose own key sealed them so far; None for the shared key.
    """
    if row.sealing_agent_id == sealed_for:
        return
    ring = keyring().of(current_owner())
    kept = []
    for space_id, value in TokenVectors.objects.filter(memory_id=row.pk).values_list("space_id", "sealed"):
        sealed = bytes(value)
        try:
            # The width does not matter for sealing the same bytes again.
            matrix = open_tokens(sealed, ring=ring, memory_id=row.pk, space_id=space_id, agent_id=sealed_for, width=1)
        except KeysUnavailable:
            logger.warning("token vectors of a moved memory do not open and are made anew")
            continue
        again = seal_tokens(
            matrix,
            ring=ring,
            memory_id=row.pk,
            space_id=space_id,
            reduction=reduction_of(sealed),
            agent_id=row.sealing_agent_id,
        )
        kept.append((row.pk, space_id, again))
    remove_token_vectors([row.pk])
    _insert(kept)


def _insert(sealed: Sequence[tuple[UUID, int, bytes]]) -> None:
    if not sealed:
        return
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [current_owner(), *(list(column) for column in zip(*sealed, strict=True))])
