"""Receipts of purges: what was erased, what was looked for and not found, what stays and why; signed."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final

from django.conf import settings

from memory.crypto.signing import canonical, fingerprint, is_signed, signer
from memory.errors import InvalidInput
from memory.models import Purge, PurgeSubject
from memory.services.purge.progress import counts
from memory.services.purge.registry import targets

FORMAT: Final = "loci-receipt/1"
PURPOSE: Final = "receipt"
# What partial purges call the kinds that they count.
KIND: Final = re.compile(r"[a-z_]{1,32}")


@dataclass(frozen=True, slots=True)
class Stay:
    """Something that a purge leaves: what it is, until when it stays, and why."""

    what: str
    until: str
    why: str


AUDIT: Final = Stay(
    "The audit: times, verbs, counts and random ids, under the pseudonym of this receipt.",
    "For as long as the installation keeps its audit.",
    "It proves what was done. In this database nothing ties the pseudonym to a person any more. Backups made before "
    "and archives that were exported hold it beside the owner, until they are deleted.",
)
LEDGER: Final = Stay(
    "An entry in the ledger of purges: salted digests of random ids, and the time.",
    "For as long as there can be backups that are older than the purge.",
    "A restored backup is purged again with it.",
)
DATABASE_BACKUPS: Final = Stay(
    "Backups of the database that were made before: texts in them do not open without the destroyed keys; vectors of "
    "redacted texts, keyed hashes, sizes and times can be read.",
    "Until the operator's retention of backups has run out.",
    "Backups are not changed. A restore is purged again by the ledger.",
)
VAULT_BACKUPS: Final = Stay(
    "Backups of the key vault that were made before, which hold the destroyed keys, wrapped.",
    "Until the operator's retention of the vault's backups has run out, which should be short.",
    "With such a backup, the master key and a backup of the database of that time, texts could be read.",
)
FREED_PAGES: Final = Stay(
    "Freed space in the files of the database: sealed texts, which do not open any more, vectors of redacted texts and "
    "keyed hashes.",
    "Until PostgreSQL writes over it.",
    "A database frees rows without overwriting them.",
)
PROVIDERS: Final = Stay(
    "What outside providers of embeddings and language models log of requests, where any were configured.",
    "As their own terms say.",
    "Texts were sent to them with personal data replaced; Loci cannot delete there.",
)
NEO4J: Final = Stay(
    "What stood in Neo4j of the graph, in freed space of its files, in its transaction logs and in its backups; in "
    "clear as far as NEO4J_TEXT let it leave.",
    "Until Neo4j writes over it and the operator's retention of its logs and backups has run out.",
    "Neo4j's files are not under the owner's keys. Nothing of the owner is found there any more.",
)
NEO4J_LOST: Final = Stay(
    "What stood of the graph in a Neo4j that the operator has given up as gone, with its logs and backups; in clear as "
    "far as NEO4J_TEXT let it leave.",
    "Until whatever is left of that Neo4j is deleted.",
    "Loci was told that it is gone, and could not look there.",
)
LOGIN_COUNTS: Final = Stay(
    "Counts of failed logins in the memory of the web process, and marks of the addresses from which the name was "
    "logged in to, under hashes and codes of name and address.",
    "15 minutes for the counts, a week for the marks; both end with the process.",
    "They keep attackers out, and run out by themselves. Nothing here tells from which addresses, so they cannot be "
    "looked up.",
)
LOGIN_COUNTS_IN_REDIS: Final = Stay(
    "Counts of failed logins in Redis, and in the memory of the web processes while Redis is away, and marks of the "
    "addresses from which the name was logged in to, under hashes and codes of name and address.",
    "15 minutes for the counts, a week for the marks.",
    "They keep attackers out, and run out by themselves. Nothing here tells from which addresses, so they cannot be "
    "looked up.",
)
REDIS_FILES: Final = Stay(
    "What stood in Redis, in its append-only file and its snapshots, where it writes any, and in backups of these: "
    "counts under codes, and calls of workers; no text and no name.",
    "Until Redis has rewritten its file and taken its next snapshot, and the operator's retention of backups has run "
    "out.",
    "Redis deletes keys without changing what it has written before. Nothing of the owner is found there any more.",
)
ALWAYS: Final = (AUDIT, LEDGER, DATABASE_BACKUPS, VAULT_BACKUPS, FREED_PAGES, PROVIDERS)


def owner_stays() -> tuple[Stay, ...]:
    """Say what every purge of a whole owner leaves here."""
    return (*ALWAYS, *((LOGIN_COUNTS_IN_REDIS, REDIS_FILES) if settings.REDIS else (LOGIN_COUNTS,)))


def neo4j_stays(*, projected: bool, given_up: bool) -> tuple[Stay, ...]:
    """Say what a purge leaves of the graph in Neo4j.

    Args:
        projected: whether it stood in one where it was erased.
        given_up: whether it stood in one that was given up as gone.
    """
    return (*((NEO4J,) if projected else ()), *((NEO4J_LOST,) if given_up else ()))


def issue(
    purge: Purge,
    *,
    erased: Mapping[str, int],
    left: Mapping[str, int],
    looked_at: Mapping[str, Any],
    keys: Mapping[str, Any],
    stays: Sequence[Stay | Mapping[str, str]],
    at: datetime,
) -> dict[str, Any]:
    """Write and sign a receipt; saves nothing.

    Args:
        purge: which.
        erased: how many rows, by target; what is no count, or of no target that there is, is left out.
        left: what the verification has found; empty as a rule.
        looked_at: what the verification has looked at.
        keys: which keys were destroyed.
        stays: what stays.
        at: when the purge has ended.

    Raises:
        KeysUnavailable: there is no signing key.
    """
    mine = signer()
    document: dict[str, Any] = {
        "format": FORMAT,
        "key": {
            "algorithm": "Ed25519",
            "public": base64.b64encode(mine.public_key).decode(),
            "fingerprint": fingerprint(mine.public_key),
        },
        "purge": {
            "id": str(purge.pk),
            "pseudonym": str(purge.pseudonym),
            "subject": str(purge.subject),
            "requested_at": _moment(purge.requested_at),
            "began_at": _moment(purge.began_at),
            "finished_at": _moment(at),
        },
        "erased": {name: count for name, count in _counted(purge, erased).items() if count},
        "keys": dict(keys),
        "verification": {"left": {name: n for name, n in left.items() if n}, "looked_at": dict(looked_at)},
        "stays": [asdict(one) if isinstance(one, Stay) else dict(one) for one in stays],
    }
    signature = mine.sign(canonical(document), purpose=PURPOSE)
    return document | {"signature": base64.b64encode(signature).decode()}


def verify_receipt(document: Any, public_key: bytes | None = None) -> bool:
    """Tell whether a receipt stands as it was signed.

    Args:
        document: the receipt, as JSON gives it.
        public_key: of the installation that is said to have signed it, 32 bytes; this one's when left out. The key that
            the receipt itself names proves nothing, since whoever forges a receipt names their own.

    Raises:
        InvalidInput: `receipt.invalid`, the document is no receipt of a form that this version knows.
    """
    if not isinstance(document, dict) or document.get("format") != FORMAT or "signature" not in document:
        raise InvalidInput(f"This is no receipt of the form {FORMAT}.", code="receipt.invalid")
    try:
        signature = base64.b64decode(str(document["signature"]), validate=True)
        message = canonical({name: value for name, value in document.items() if name != "signature"})
    except (binascii.Error, ValueError, RecursionError) as error:
        raise InvalidInput("This receipt has no signature that can be read.", code="receipt.invalid") from error
    known = signer().public_key if public_key is None else public_key
    return is_signed(message, signature, public_key=known, purpose=PURPOSE)


def _counted(purge: Purge, erased: Mapping[str, int]) -> dict[str, int]:
    """Read the counts, which stand in a row that others can write: numbers by words of ours, and nothing else."""
    if purge.subject == PurgeSubject.OWNER:
        return counts(erased, known=[target.name for target in targets()])
    return {name: count for name, count in counts(erased).items() if KIND.fullmatch(name)}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.isoformat()
