"""Where every chain ends, written down to be kept elsewhere, so that a cut tail can be noticed later."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from memory.crypto.signing import canonical, fingerprint, is_signed, signer
from memory.errors import InvalidInput, OwnerPurging
from memory.models import AuditSeal, Owner, RetiredAuditSeal, owner_scope
from memory.services.audit.chain import same
from memory.services.audit.verification import Finding, Verified
from memory.services.clock import now

FORMAT: Final = "loci-audit-heads"
PURPOSE: Final = "audit heads"

Head = tuple[int, bytes]
"""The number and digest of a chain's last seal."""


def ends() -> dict[UUID, Head]:
    """Give the number and digest of the last seal of every chain, of those who were purged too; nothing is verified.

    Costs a query for each owner. Whoever is being purged just now is left out.
    """
    last = RetiredAuditSeal.objects.order_by("pseudonym", "-number").distinct("pseudonym")
    found = {seal.pseudonym: (seal.number, bytes(seal.digest)) for seal in last}
    owners = Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", "pseudonym")
    for owner_id, pseudonym in list(owners):
        with suppress(OwnerPurging), owner_scope(owner_id):
            seal = AuditSeal.objects.order_by("-number").first()
            if seal is not None:
                found[pseudonym] = seal.number, bytes(seal.digest)
    return found


def heads_of(chains: Mapping[UUID, Head], *, at: datetime | None = None) -> dict[str, Any]:
    """Write the number and digest of each chain's last seal as a signed document."""
    body = {
        "format": FORMAT,
        "version": 1,
        "written_at": (at or now()).isoformat(),
        "signed_by": fingerprint(signer().public_key),
        "public_key": signer().public_key.hex(),
        "heads": {str(chain): {"number": number, "digest": digest.hex()} for chain, (number, digest) in chains.items()},
    }
    return {**body, "signature": signer().sign(canonical(body), purpose=PURPOSE).hex()}


def checked_heads(document: Any, *, public_key: bytes | None = None) -> dict[UUID, Head]:
    """Read a document of heads: number and digest by chain.

    Raises:
        InvalidInput: `heads.invalid` where it is none, or was not signed with this key.
    """
    if not isinstance(document, Mapping) or document.get("format") != FORMAT or document.get("version") != 1:
        raise InvalidInput("This is no file that `audit heads` has written.", code="heads.invalid")
    body = {name: value for name, value in document.items() if name != "signature"}
    try:
        signature = bytes.fromhex(document["signature"])
        heads = {
            UUID(chain): (int(head["number"]), bytes.fromhex(head["digest"])) for chain, head in body["heads"].items()
        }
        message = canonical(body)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput("This file of heads is damaged.", code="heads.invalid") from error
    if not is_signed(message, signature, public_key=public_key or signer().public_key, purpose=PURPOSE):
        raise InvalidInput("This file of heads was changed, or signed with another key.", code="heads.invalid")
    return heads


def compare(chains: Iterable[Verified], heads: Mapping[UUID, Head], *, all_chains: bool) -> list[Finding]:
    """Tell where chains do not contain what they ended with when the heads were written.

    Args:
        chains: what was verified.
        heads: what `checked_heads` gives.
        all_chains: whether a chain of the file that is not among them is missing, or was only not looked at.
    """
    there = {one.chain: one.digests for one in chains}
    found = []
    for chain, (number, digest) in heads.items():
        if chain not in there:
            if all_chains:
                found.append(Finding(chain, "chain.missing", None, "The chain is not there any more."))
        elif number not in there[chain]:
            last = max(there[chain], default=0)
            found.append(Finding(chain, "head.missing", number, f"The chain ends with seal {last} now."))
        elif not same(there[chain][number], digest):
            found.append(Finding(chain, "head.changed", number, "The seal is another one than it was."))
    return found
