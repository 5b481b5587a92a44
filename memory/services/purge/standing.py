"""Targets that are neither plain tables nor doors: earlier purges, the audit, and the keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from django.db.models import QuerySet

from memory.crypto.keyring import keyring
from memory.models import AuditEvent, AuditSeal, Owner, Purge, PurgeState
from memory.services.audit.retiring import retire
from memory.services.purge.lease import OPEN, SUPERSEDED
from memory.services.purge.registry import Subject, Traces

NO_PURGE: Final = UUID(int=0)


class PurgesTarget:
    """Other purges of the owner: their receipts stay, what they were about goes, and open ones end."""

    name: Final = "purges"
    tables: Sequence[str] = (Purge._meta.db_table,)
    outside = False

    def count(self, subject: Subject) -> int:
        """Count the other purges that name the owner."""
        return int(self._rows(subject).count())

    def erase(self, subject: Subject, most: int) -> int:
        """Let them name nobody any more."""
        rows = self._rows(subject)
        rows.filter(state__in=OPEN).update(state=PurgeState.FAILED, error_code=SUPERSEDED)
        return int(rows.update(of_owner=None, target={}, position={}, samples=None))

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the other purges that still name the owner."""
        return self.count(subject)

    def _rows(self, subject: Subject) -> QuerySet[Purge]:
        return Purge.objects.filter(of_owner=subject.owner_id).exclude(pk=subject.purge_id or NO_PURGE)


class AuditTarget:
    """The audit, which moves to the tables of those who are gone and stays there under its pseudonym."""

    name: Final = "audit_moved"
    tables: Sequence[str] = (AuditEvent._meta.db_table, AuditSeal._meta.db_table)
    outside = False

    def count(self, subject: Subject) -> int:
        """Count the events."""
        return int(AuditEvent.objects.count())

    def erase(self, subject: Subject, most: int) -> int:
        """Move all of them with their seals, in one step."""
        if not Owner.objects.filter(pk=subject.owner_id).exists():
            # The row goes last, and takes the last doubt with it.
            return 0
        return retire(subject.owner_id)

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the events and seals that are left."""
        return int(AuditEvent.objects.count() + AuditSeal.objects.count())


class KeysTarget:
    """The owner's root key with all versions of the text key, in the key vault."""

    name: Final = "keys"
    tables: Sequence[str] = ()
    outside = True

    def count(self, subject: Subject) -> int:
        """Count the vault's entries for the owner: one, or none. One that does not open counts too."""
        return int(subject.owner_id in keyring().vault.owners())

    def erase(self, subject: Subject, most: int) -> int:
        """Destroy the keys, in the vault and in this process."""
        present = self.count(subject)
        keyring().destroy(subject.owner_id)
        return present

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the entries that are left."""
        return self.count(subject)
