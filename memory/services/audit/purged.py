"""Whether chains that have moved to those of the purged belong to owners whom a purge has taken."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from memory.models import Owner, Purge, PurgeState, PurgeSubject
from memory.services.audit.verification import Finding


def not_purged(chains: Iterable[UUID]) -> list[Finding]:
    """Find chains among those of the purged whose owner is open, or is gone without a finished purge.

    Costs two queries. A row of a purge says only that there was one; its receipt is what is signed.

    Args:
        chains: the pseudonyms.
    """
    found = []
    retired = list(chains)
    owners = dict(Owner.objects.filter(pseudonym__in=retired).values_list("pseudonym", "purging_at"))
    purges = Purge.objects.filter(pseudonym__in=retired, subject=PurgeSubject.OWNER)
    states: dict[UUID, set[str]] = {}
    for pseudonym, state in purges.values_list("pseudonym", "state"):
        states.setdefault(pseudonym, set()).add(state)
    for chain in retired:
        if chain in owners and owners[chain] is None:
            found.append(Finding(chain, "chain.not_purged", None, "The owner of this chain is there and not purged."))
        elif chain not in states:
            found.append(Finding(chain, "chain.not_purged", None, "No purge has taken the owner of this chain."))
        elif chain not in owners and PurgeState.DONE not in states[chain]:
            found.append(Finding(chain, "chain.not_purged", None, "The purge of this chain's owner has no end."))
    return found
