"""No sealed column is beyond the reach of a rotation."""

from __future__ import annotations

from django.db import models

from memory.models.encrypted import EncryptedField
from memory.services.keys.sealed_tables import TOKENS, sealed_tables
from tests.apps import ours

# Digests and proofs: made with keys of the owner that rotation leaves alone, or of nothing secret.
NOT_SEALED = {
    ("memory_agentfile", "path_hash"),
    ("memory_agentkey", "digest"),
    ("memory_agentkey", "proof"),
    ("memory_auditevent", "proof"),
    ("memory_auditseal", "acts_digest"),
    ("memory_auditseal", "reads_digest"),
    ("memory_auditseal", "previous"),
    ("memory_auditseal", "digest"),
    ("memory_auditseal", "signature"),
    ("memory_causallink", "text_hash"),
    ("memory_idempotencyrecord", "key_digest"),
    ("memory_idempotencyrecord", "request_digest"),
    ("memory_memory", "content_hash"),
    ("memory_outboundrequest", "digest"),
    ("memory_outboundrequest", "signature"),
    ("memory_purge", "proof"),
    ("memory_purge", "token_digest"),
    ("memory_retiredauditevent", "proof"),
    ("memory_retiredauditseal", "acts_digest"),
    ("memory_retiredauditseal", "reads_digest"),
    ("memory_retiredauditseal", "previous"),
    ("memory_retiredauditseal", "digest"),
    ("memory_retiredauditseal", "signature"),
    ("memory_reviewitem", "payload_hash"),
    ("memory_temporalevent", "text_hash"),
}


def columns(kind: type[models.Field]) -> set[tuple[str, str]]:  # type: ignore[type-arg]
    return {
        (model._meta.db_table, str(field.column))
        for model in ours()
        for field in model._meta.local_concrete_fields
        if isinstance(field, kind)
    }


def test_every_encrypted_column_is_moved() -> None:
    covered = {(table.name, column) for table in sealed_tables() for column in table.columns}
    assert len(covered) > 30
    assert columns(EncryptedField) == covered


def test_every_column_of_bytes_is_moved_or_known_to_be_no_ciphertext() -> None:
    assert columns(models.BinaryField) - {(TOKENS, "sealed")} <= NOT_SEALED
