"""Asking for purges, and asking about them."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Any, Final, NamedTuple
from uuid import UUID

from django.db import OperationalError, connection, transaction

from memory.errors import Conflict, NotFound, OwnerPurging, PermissionRefused, QueueUnavailable
from memory.models import Owner, Purge, PurgeState, PurgeSubject, owner_scope
from memory.ports.live import announce_access
from memory.services.actors import Actor
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.purge.caches import forget_owner
from memory.services.purge.lease import OPEN, SUPERSEDED
from memory.services.purge.proof import PurgeUnproven, is_proven, proof_of
from memory.services.purge.registry import Subject, targets
from memory.services.wrong_keys import note_right, note_wrong, refuse_flood

logger = logging.getLogger(__name__)

TOKEN_BYTES: Final = 32
WAY_IN: Final = "receipts"
"""The way in for tokens of purges, whose wrong ones count by themselves."""
# Writers that began before hold the owner's row for the time of one transaction.
PATIENCE: Final = "20s"


class NewPurge(NamedTuple):
    """A purge and the token that opens its state and receipt without a login; the token cannot be read again."""

    purge: Purge
    token: str


def preview_owner(*, owner_id: UUID) -> dict[str, int]:
    """Count what a purge of an owner would erase, by target; what is not there is left out.

    Counts every row, which takes about a second for 100,000 memories.

    Raises:
        NotFound: there is no such owner.
        OwnerPurging: a purge of this owner has begun.
    """
    subject = _subject_of(_owner(owner_id))
    with owner_scope(owner_id):
        inside = {target.name: target.count(subject) for target in targets() if not target.outside}
    outside = {target.name: target.count(subject) for target in targets() if target.outside}
    return {name: count for name, count in (inside | outside).items() if count}


def begin_purge(*, actor: Actor, at: datetime | None = None) -> NewPurge:
    """Begin to erase everything of an owner; from then on nothing of that owner is read or written any more.

    Cannot be undone. Waits up to 20 seconds for writers that have begun before.

    Args:
        actor: the person, an operator, or staff.
        at: the moment that counts as now.

    Raises:
        PermissionRefused: the actor is an agent.
        OwnerPurging: a purge of this owner has begun already.
        Conflict: a writer does not come to its end (`owner.busy`); nothing was begun.
    """
    if not actor.human:
        raise PermissionRefused("Only a person can have everything erased. Nothing was changed.")
    made = request_purge(
        owner_id=actor.owner_id,
        subject=PurgeSubject.OWNER,
        target={},
        requested_by=actor.label,
        expected=preview_owner(owner_id=actor.owner_id),
        at=at or now(),
    )
    forget_owner(actor.owner_id)
    return made


def request_purge(
    *,
    owner_id: UUID,
    subject: str,
    target: Mapping[str, Any],
    requested_by: str,
    expected: Mapping[str, int],
    at: datetime,
    call: Callable[[], object] | None = None,
    again: bool = False,
) -> NewPurge:
    """Make a purge and its token, record it in the audit, and have workers called; who may ask is for the caller.

    The owner's row is locked for the moment, so no two purges of the same thing come to be. For a whole owner all later
    scopes are refused from the commit on, and what is open of parts of the owner has ended.

    Args:
        owner_id: whose.
        subject: what the purge is about, one of `PurgeSubject`.
        target: which agent, source or memories, by ids and keyed hashes.
        requested_by: the actor's label.
        expected: what the preview has counted.
        at: the moment that counts as now.
        call: calls the workers after the commit; the queue's own call when left out.
        again: also where the owner is closed already.

    Raises:
        NotFound: there is no such owner.
        OwnerPurging: everything of this owner is being erased already.
        Conflict: the same is being erased already (`purge.under_way`), or a writer does not come to its end.
    """
    token = secrets.token_urlsafe(TOKEN_BYTES)
    with _locked(owner_id, again=again) as owner:
        whole = subject == PurgeSubject.OWNER
        # The login is part of what is signed, since the owner's row loses it on the way.
        named = {"user": str(owner.user_id) if owner.user_id else None} if whole else dict(target)
        same = Purge.objects.filter(of_owner=owner_id, state__in=OPEN, subject=subject, target=named)
        if not whole and same.exists():
            raise Conflict("The same is being erased already. Nothing was changed.", code="purge.under_way")
        purge = Purge(
            of_owner=owner_id,
            pseudonym=owner.pseudonym,
            subject=subject,
            target=named,
            expected=dict(expected),
            requested_by=requested_by,
            requested_at=at,
            token_digest=_digest(token),
        )
        purge.proof = proof_of(purge)
        purge.save(force_insert=True)
        if whole:
            Owner.objects.filter(pk=owner_id, purging_at=None).update(purging_at=at)
            announce_access(owner_id)
            parts = Purge.objects.filter(of_owner=owner_id, state__in=OPEN).exclude(pk=purge.pk)
            parts.update(state=PurgeState.FAILED, error_code=SUPERSEDED, finished_at=at)
        with owner_scope(owner_id, purging=True):
            record(actor=requested_by, verb="purge", object_kind=subject, object_id=purge.pk, at=at)
        transaction.on_commit(call or _call_workers)
    return NewPurge(purge, token)


def vouch_for(*, purge_id: UUID) -> None:
    """Say for an operator that a purge was asked for, although nothing proves it: the signing key was replaced since.

    Only purges that were refused for that are changed; they wait again.

    Raises:
        KeysUnavailable: there is no signing key.
    """
    with transaction.atomic():
        refused = Purge.objects.select_for_update().filter(pk=purge_id, error_code=PurgeUnproven.code)
        for purge in refused.filter(state=PurgeState.FAILED, of_owner__isnull=False):
            purge.proof = proof_of(purge)
            purge.state, purge.error_code, purge.finished_at = PurgeState.WAITING, "", None
            purge.save(update_fields=["proof", "state", "error_code", "finished_at"])


def proven_purge(*, owner_id: UUID) -> Purge | None:
    """Give the purge of a whole owner that is under way and was asked for here, if there is one."""
    rows = Purge.objects.filter(of_owner=owner_id, subject=PurgeSubject.OWNER, state__in=OPEN).order_by("requested_at")
    return next((row for row in rows if is_proven(row)), None)


def purge_by_token(*, purge_id: UUID, token: str, address: str | None) -> Purge:
    """Give a purge to whoever has its token, also when its owner is gone.

    Args:
        purge_id: which.
        token: as it was sent.
        address: from where; wrong tokens are counted by it as wrong keys are.

    Raises:
        NotFound: there is no such purge, or the token is another one; nobody is told which.
        RateLimited: too many wrong tokens came from this address.
    """
    refuse_flood(token, address, way_in=WAY_IN)
    purge = Purge.objects.filter(pk=purge_id).first()
    known = bytes(purge.token_digest) if purge is not None else bytes(TOKEN_BYTES)
    if not compare_digest(known, _digest(token)) or purge is None:
        note_wrong(address, way_in=WAY_IN)
        raise NotFound("There is no such purge, or its token is another one.", code="purge.unknown")
    note_right(token, way_in=WAY_IN)
    return purge


@contextmanager
def _locked(owner_id: UUID, *, again: bool) -> Iterator[Owner]:
    """Hold the owner's row against everybody; raises NotFound, OwnerPurging or Conflict."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('lock_timeout', %s, true)", [PATIENCE])
        try:
            with transaction.atomic():
                owner = Owner.objects.select_for_update().filter(pk=owner_id).first()
        except OperationalError as error:
            if getattr(error.__cause__, "sqlstate", "") != "55P03":
                raise
            raise Conflict(
                "Something of this owner is being written and does not end. Nothing was begun; try again.",
                code="owner.busy",
            ) from error
        if owner is None:
            raise NotFound("There is no such owner.", code="account.unknown")
        if owner.purging_at is not None and not again:
            raise OwnerPurging
        yield owner


def _owner(owner_id: UUID) -> Owner:
    owner = Owner.objects.filter(pk=owner_id).first()
    if owner is None:
        raise NotFound("There is no such owner.", code="account.unknown")
    return owner


def _subject_of(owner: Owner) -> Subject:
    return Subject(owner.pk, owner.pseudonym, user_id=owner.user_id)


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _call_workers() -> None:
    from memory.services.jobs import RUN_PURGES, call_worker

    try:
        call_worker(RUN_PURGES)
    except QueueUnavailable:
        # The purge stands in its table, and the workers look there by themselves.
        logger.warning("a purge was asked for while the queue does not answer; it begins when that is back")
