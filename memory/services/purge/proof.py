"""The proof that a purge was asked for here: a signature over what it is about, made with this installation's key.

The rows of purges stand outside row-level security, and whoever may write them could plant one and have somebody
erased. The signing key is not in the database, and outlives the keys of the owner who is purged.
"""

from __future__ import annotations

from datetime import UTC
from typing import Final

from memory.crypto.signing import canonical, is_signed, signer
from memory.errors import Conflict
from memory.models import Purge

PURPOSE: Final = "purge"


class PurgeUnproven(Conflict):
    """This purge was not asked for in this installation, or was changed since. Nothing was erased."""

    code = "purge.unproven"


def proof_of(purge: Purge) -> bytes:
    """Sign what a purge is about, 64 bytes; raises KeysUnavailable without a signing key."""
    return signer().sign(_message(purge), purpose=PURPOSE)


def is_proven(purge: Purge) -> bool:
    """Tell whether a purge is the one that was asked for, whatever its progress says."""
    return is_signed(_message(purge), bytes(purge.proof), public_key=signer().public_key, purpose=PURPOSE)


def _message(purge: Purge) -> bytes:
    return canonical(
        {
            "id": str(purge.pk),
            "of_owner": str(purge.of_owner),
            "pseudonym": str(purge.pseudonym),
            "subject": str(purge.subject),
            "target": purge.target,
            "requested_by": purge.requested_by,
            "requested_at": purge.requested_at.astimezone(UTC).isoformat(),
            "token": bytes(purge.token_digest).hex(),
        }
    )
