"""Owners and their logins."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotFound
from memory.ids import new_id
from memory.models import Owner, User
from memory.services.actors import operator
from memory.services.agents import NewKey, create_agent, create_key
from memory.services.audit.sign_ins import OPERATOR
from memory.services.logins import StaffLevel, login_name, set_staff

# Of a transaction, so that a pooler between cannot hand it to somebody else, and it ends with whoever dies.
FIRST_OWNER_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtext('loci.first_owner'))"


@dataclass(frozen=True, slots=True)
class FirstOwner:
    """What a new installation begins with; shown once, since neither secret can be read again."""

    owner_id: UUID
    username: str
    password: str
    key: NewKey


def create_owner(*, username: str, password: str, level: StaffLevel = StaffLevel.NONE, by: str = OPERATOR) -> Owner:
    """Create a login and the owner joined to it, with keys of its own.

    Args:
        username: what the login is called; kept in the form of `login_name`.
        password: its password.
        level: what it may do in the admin.
        by: who makes it, as the audit names it.

    Raises:
        InvalidInput: an unusable name or a weak password.
        Conflict: the name is taken.
        KeysUnavailable: the key vault cannot be written; nothing was created.
    """
    user = _new_login(username, password)
    with _new_owner() as owner, transaction.atomic():
        _join(owner, user, level=level, by=by)
    return owner


def create_first_owner(*, username: str = "owner", agent: str = "first agent") -> FirstOwner | None:
    """Create the first owner, its login, an agent and a key, all of them or nothing.

    Of several processes that come at once one creates; the others wait for it, as long as one transaction takes.

    Args:
        username: what the login is called.
        agent: what the agent is called.

    Returns:
        What is shown once; None when there is an owner already.

    Raises:
        Conflict: there is no owner, but a login of this name.
        KeysUnavailable: the key vault cannot be written; nothing was created.
    """
    if Owner.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    user = _new_login(username, password)
    try:
        with _new_owner() as owner, transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute(FIRST_OWNER_LOCK)
            if Owner.objects.exists():
                raise _AnotherWasFirst
            _join(owner, user, level=StaffLevel.ALL, by=OPERATOR)
            actor = operator(owner.pk)
            made = create_agent(actor=actor, name=agent)
            key = create_key(actor=actor, agent_id=made.pk, label="first key")
    except _AnotherWasFirst:
        return None
    return FirstOwner(owner.pk, user.username, password, key)


class _AnotherWasFirst(Exception):
    """Another process has created the first owner since this one looked."""


def _new_login(username: str, password: str) -> User:
    """Make a login that is not saved yet; raises InvalidInput."""
    user = User(username=login_name(username))
    try:
        user.full_clean(exclude=["password"], validate_unique=False)
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), code="account.invalid") from error
    user.set_password(password)
    return user


@contextmanager
def _new_owner() -> Iterator[Owner]:
    """Give an owner with keys for the block to save; when that is refused, the keys go again.

    Where the connection is lost, nobody knows whether the owner was saved. The keys stay then: without the owner they
    protect nothing, and the owner without them could store nothing, ever.
    """
    owner = Owner(id=new_id())
    # The keys come first: an owner without keys could store nothing, keys without an owner protect nothing.
    keyring().create(owner.pk)
    try:
        yield owner
    except (OperationalError, InterfaceError):
        raise
    except Exception:
        keyring().destroy(owner.pk)
        raise


def _join(owner: Owner, user: User, *, level: StaffLevel, by: str) -> None:
    """Save a login and its owner in the caller's transaction; raises Conflict when the name is taken."""
    taken = Conflict("This name is taken. Nothing was created.", code="account.taken")
    # Names that differ in upper and lower case only are one to people.
    if User.objects.filter(username__iexact=user.username).exists():
        raise taken
    try:
        user.save()
    except IntegrityError as error:
        raise taken from error
    owner.user = user
    owner.save()
    set_staff(username=user.username, level=level, by=by)


def owner_of(user: User) -> Owner:
    """Give the owner joined to a login; raises NotFound when there is none."""
    owner = Owner.objects.filter(user=user).first()
    if owner is None:
        raise NotFound("No owner is joined to this login.", code="account.no_owner")
    return owner


def owners_of_vault_alone() -> set[UUID]:
    """List owners whose keys the vault has and of whom the database knows nothing, as when it is another one's."""
    return keyring().vault.owners() - set(Owner.objects.values_list("pk", flat=True))


def owners_without_keys() -> set[UUID]:
    """List owners whose keys the vault lacks; their texts cannot be read. Those who are purged lack them on purpose."""
    known = keyring().vault.owners()
    return set(Owner.objects.filter(purging_at=None).values_list("pk", flat=True)) - known
