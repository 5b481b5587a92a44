"""Rotation of text keys: a new version, the move of everything stored, and the end of the former versions."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings

from memory.crypto.keyring import LIFETIME_SECONDS, keyring
from memory.errors import Conflict, LociError, OwnerPurging
from memory.models import DueWork, Owner, owner_scope
from memory.services.amounts import owners
from memory.services.clock import now
from memory.services.findings import Finding
from memory.services.keys.rekeying import TURN_SECONDS, move_rows
from memory.services.keys.sealed_tables import rows_sealed_with, rows_without_key
from memory.services.open_transactions import database_clock, have_ended
from memory.services.writing import call_for_work

logger = logging.getLogger(__name__)

# Any process has learnt of a new version by then, and has written what it had sealed with the former one.
SETTLING: Final = timedelta(seconds=LIFETIME_SECONDS + 10)
BUSY: Final = timedelta(seconds=10)
# Values that do not open keep their version alive; somebody has to look at them.
BLOCKED: Final = timedelta(days=1)
# So long after its time a rotation counts as overdue: workers look once a day.
OVERDUE: Final = timedelta(days=3)
MOST_OWNERS_LOOKED_AT: Final = 1_000


@dataclass(frozen=True, slots=True)
class VersionAge:
    """One version of an owner's text key."""

    version: int
    made_at: datetime


@dataclass(frozen=True, slots=True)
class KeyStatus:
    """How an owner's text key stands; `waiting` and `without_key` count rows by table."""

    owner_id: UUID
    login: str | None
    versions: Sequence[VersionAge]
    waiting: dict[str, int]
    without_key: dict[str, int]
    next_rotation: datetime | None
    overdue: bool


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of a rotation did: rows moved, rows that do not open, rows left, and whether versions went."""

    moved: int
    closed: int
    left: int
    finished: bool
    again_at: datetime | None


def begin_rotation(*, owner_id: UUID) -> int:
    """Give an owner's text key a new version, which seals from now on, and have workers move what is stored.

    Returns:
        The number of the new version.
    """
    with owner_scope(owner_id):
        call_for_work(DueWork.REKEY, due_at=now())
    return _with_new_version(owner_id, max(keyring().vault.versions(owner_id)))


def rekey_owner(*, owner_id: UUID, at: datetime) -> tuple[int, datetime | None]:
    """Do a turn of an owner's rotation, beginning one where it is due; a job of the workers.

    Returns:
        Rows moved, and when to go on; None when only the newest version exists.
    """
    turn = rotation_turn(owner_id=owner_id, at=at)
    return turn.moved, turn.again_at


def rotation_turn(
    *,
    owner_id: UUID,
    at: datetime,
    despite_damage: bool = False,
    seconds: float = TURN_SECONDS,
    after_batch: Callable[[], None] | None = None,
) -> Turn:
    """Move an owner's rows to the newest version and destroy the older ones once nothing needs them.

    Older versions go when every process knows the newest one, every transaction that began before has ended, and a
    reading of all rows has found none that they sealed.

    Args:
        owner_id: whose.
        at: the moment that counts as now.
        despite_damage: destroy them although values sealed with them do not open, which are lost then for good.
        seconds: after which no further batch of rows is begun.
        after_batch: called after each batch.
    """
    known = keyring().vault.versions(owner_id)
    if _rotation_due(owner_id, known, at):
        _with_new_version(owner_id, max(known))
        known = keyring().vault.versions(owner_id)
    newest = max(known)
    older = sorted(version for version in known if version != newest)
    if not older:
        return Turn(0, 0, 0, True, None)
    done = move_rows(owner_id=owner_id, versions=older, seconds=seconds, after_batch=after_batch)
    if not done.whole:
        return Turn(done.rows, done.closed, -1, False, at)
    # Whoever began before the newest version was known everywhere may still commit what the former one has sealed.
    settled = have_ended(before=_made_at(owner_id, known, newest) + SETTLING)
    left = sum(rows_sealed_with(owner_id=owner_id, versions=older).values())
    if left > (done.closed if despite_damage else 0):
        if done.closed:
            logger.error("%s rows of owner %s do not open and keep a former text key alive", done.closed, owner_id)
        return Turn(done.rows, done.closed, left, False, at + (BLOCKED if left <= done.closed else BUSY))
    if not settled:
        return Turn(done.rows, done.closed, left, False, at + BUSY)
    keyring().vault.destroy_versions(owner_id, below=newest).wipe()
    keyring().forget(owner_id)
    logger.info("former text keys of owner %s were destroyed after %s rows had moved", owner_id, done.rows)
    return Turn(done.rows, done.closed, left, True, None)


def seal_now(
    *,
    owner_id: UUID,
    despite_damage: bool = False,
    tell: Callable[[Turn], None] | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Rotate an owner's text key and destroy the former versions at once, so that what they sealed is lost everywhere.

    Remains of erased texts, in rows that the database has not overwritten and in backups, open no more. Takes somewhat
    more than a minute, until every process knows the new version; longer while an old transaction is open. May be
    interrupted: workers go on.

    Args:
        owner_id: whose.
        despite_damage: as for `rotation_turn`.
        tell: called after each turn.
        wait: waits some seconds.

    Returns:
        Rows moved.

    Raises:
        Conflict: values do not open, so that their version was kept.
    """
    newest = begin_rotation(owner_id=owner_id)
    return end_rotation(owner_id=owner_id, newest=newest, despite_damage=despite_damage, tell=tell, wait=wait)


def end_rotation(
    *,
    owner_id: UUID,
    newest: int,
    despite_damage: bool = False,
    tell: Callable[[Turn], None] | None = None,
    wait: Callable[[float], None] = time.sleep,
) -> int:
    """Move an owner's rows and wait until all versions before `newest` are destroyed; otherwise as `seal_now`."""
    moved = 0
    while True:
        turn = rotation_turn(owner_id=owner_id, at=now(), despite_damage=despite_damage)
        moved += turn.moved
        if tell is not None:
            tell(turn)
        if turn.finished or min(keyring().vault.versions(owner_id)) >= newest:
            return moved
        if turn.closed and turn.left <= turn.closed and not despite_damage:
            raise Conflict(
                f"{turn.closed} rows do not open, so the former version was kept. `keys verify --all` tells where.",
                code="keys.damaged",
            )
        if turn.left >= 0:
            wait(1.0)


def call_for_rotation(*, at: datetime | None = None) -> int:
    """Call for work where a rotation is due or was left unfinished; gives the number of those owners."""
    moment, called = at or now(), 0
    for owner_id in Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True).iterator():
        try:
            known = keyring().vault.versions(owner_id)
        except LociError as error:
            logger.warning("the keys of owner %s cannot be looked at: %s", owner_id, error.machine_code)
            continue
        if len(known) > 1 or _rotation_due(owner_id, known, moment):
            with suppress(OwnerPurging), owner_scope(owner_id):
                call_for_work(DueWork.REKEY, due_at=moment)
            called += 1
    return called


def key_status(*, owner_id: UUID, at: datetime | None = None) -> KeyStatus:
    """Tell how an owner's text key stands; reads every row, opens none."""
    known = keyring().vault.versions(owner_id)
    versions = sorted(known)
    made = [VersionAge(version, _made_at(owner_id, known, version)) for version in versions]
    due = _due_at(owner_id, known)
    return KeyStatus(
        owner_id,
        Owner.objects.filter(pk=owner_id).values_list("user__username", flat=True).first(),
        made,
        rows_sealed_with(owner_id=owner_id, versions=versions[:-1]) if len(versions) > 1 else {},
        rows_without_key(owner_id=owner_id, versions=versions),
        due,
        due is not None and (at or now()) >= due + OVERDUE,
    )


def rotation_finding() -> Finding:
    """Tell whether text keys are rotated in time and rotations end; looks at the first thousand owners."""
    name = "key rotation"
    late = stuck = 0
    moment = now()
    try:
        looked_at = Owner.objects.filter(purging_at=None).order_by("pk").values_list("pk", flat=True)
        for owner_id in looked_at[:MOST_OWNERS_LOOKED_AT]:
            known = keyring().vault.versions(owner_id)
            due = _due_at(owner_id, known)
            late += due is not None and moment >= due + OVERDUE
            stuck += len(known) > 1 and moment >= _made_at(owner_id, known, max(known)) + OVERDUE
    except LociError as error:
        return Finding(name, "degraded", f"The ages of text keys cannot be told ({error.machine_code}).")
    if stuck:
        detail = f"The rotation of the text keys of {owners(stuck)} has not ended for days."
        return Finding(name, "degraded", detail, "python3 manage.py keys status; python3 manage.py keys verify --all")
    if late:
        detail = f"The text keys of {owners(late)} are older than KEY_ROTATION_DAYS."
        return Finding(name, "degraded", detail, "Let a worker run, or `python3 manage.py keys rotate`.")
    if not settings.KEY_ROTATION_DAYS:
        return Finding(name, "ok", "Text keys are rotated on demand only (KEY_ROTATION_DAYS=0).")
    return Finding(name, "ok", f"No text key is older than {settings.KEY_ROTATION_DAYS} days.")


def next_rotation(*, owner_id: UUID) -> datetime | None:
    """Tell when an owner's text key is rotated by itself; None where that is on demand only."""
    return _due_at(owner_id, keyring().vault.versions(owner_id))


def _due_at(owner_id: UUID, known: Mapping[int, datetime | None]) -> datetime | None:
    if not settings.KEY_ROTATION_DAYS:
        return None
    return _made_at(owner_id, known, max(known)) + timedelta(days=settings.KEY_ROTATION_DAYS)


def _rotation_due(owner_id: UUID, known: Mapping[int, datetime | None], at: datetime) -> bool:
    due = _due_at(owner_id, known)
    return due is not None and at >= due


def _made_at(owner_id: UUID, known: Mapping[int, datetime | None], version: int) -> datetime:
    """Give when a version was made; vaults of earlier installations do not say so of the first one."""
    moment = known[version]
    if moment is not None:
        return moment
    created: datetime = Owner.objects.values_list("created_at", flat=True).get(pk=owner_id)
    return created


def _with_new_version(owner_id: UUID, newest: int) -> int:
    # The database's clock, since it is compared with the beginnings of transactions.
    keys = keyring().vault.add_version(owner_id, after=newest, at=database_clock())
    keyring().forget(owner_id)
    made = keys.text_version
    keys.wipe()
    return made
