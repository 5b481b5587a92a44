"""What left this machine for providers: digests of requests, never their content."""

from __future__ import annotations

from typing import Final

from django.db import models

from memory.crypto.keyring import keyring
from memory.models.tenancy import TenantModel

VEIL: Final = "outbound"


class OutboundRequest(TenantModel):
    """One request to an embedder, a language model or a reranker on an owner's behalf; the newest 500 are kept."""

    kind = models.CharField(max_length=16)
    component = models.CharField(max_length=32, blank=True, default="")
    host = models.CharField(max_length=253)
    size = models.PositiveIntegerField()
    # SHA-256 of the body that left, veiled with a key of the owner, since a plain one would let a thief of the table
    # test guesses; and a code made of all fields with another key.
    digest = models.BinaryField(max_length=32)
    signature = models.BinaryField(max_length=32)
    outcome = models.CharField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at"], name="outbound_by_time")]

    @property
    def sha256(self) -> bytes:
        """Give the digest of the body that left, 32 bytes."""
        return keyring().of(self.owner_id).veiled(bytes(self.digest), row_id=self.pk, purpose=VEIL)
