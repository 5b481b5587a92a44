"""What left this machine for providers: digests of requests, never their content."""

from __future__ import annotations

from django.db import models

from memory.models.tenancy import TenantModel


class OutboundRequest(TenantModel):
    """One request to an embedder, a language model or a reranker on an owner's behalf; the newest 500 are kept."""

    kind = models.CharField(max_length=16)
    component = models.CharField(max_length=32, blank=True, default="")
    host = models.CharField(max_length=253)
    size = models.PositiveIntegerField()
    # SHA-256 of the body that left, and a code made of all fields with a key of the owner.
    digest = models.BinaryField(max_length=32)
    signature = models.BinaryField(max_length=32)
    outcome = models.CharField(max_length=32)
    created_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at"], name="outbound_by_time")]
