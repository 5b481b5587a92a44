"""Owners and their logins."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from memory.crypto.keyring import keyring
from memory.errors import Conflict, InvalidInput, NotFound
from memory.ids import new_id
from memory.models import Owner, User
from memory.services.actors import operator
from memory.services.agents import NewKey, create_agent, create_key
from memory.services.audit.sign_ins import OPERATOR
from memory.services.logins import StaffLevel, login_name, set_staff


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
    name = login_name(username)
    user = User(username=name)
    try:
        user.full_clean(exclude=["password"], validate_unique=False)
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), code="account.invalid") from error
    # Names that differ in upper and lower case only are one to people.
    if User.objects.filter(username__iexact=name).exists():
        raise _taken()
    user.set_password(password)
    owner = Owner(id=new_id())
    # The keys come first: an owner without keys could store nothing, keys without an owner protect nothing.
    keyring().create(owner.pk)
    try:
        with transaction.atomic():
            user.save()
            owner.user = user
            owner.save()
            set_staff(username=name, level=level, by=by)
    except Exception as error:
        keyring().destroy(owner.pk)
        if isinstance(error, IntegrityError):
            raise _taken() from error
        raise
    return owner


def _taken() -> Conflict:
    return Conflict("This name is taken. Nothing was created.", code="account.taken")


def create_first_owner(*, username: str = "owner", agent: str = "first agent") -> FirstOwner | None:
    """Create the first owner, its login, an agent and a key; None when there is an owner already."""
    if Owner.objects.exists():
        return None
    password = secrets.token_urlsafe(12)
    owner = create_owner(username=username, password=password, level=StaffLevel.ALL)
    actor = operator(owner.pk)
    made = create_agent(actor=actor, name=agent)
    return FirstOwner(owner.pk, username, password, create_key(actor=actor, agent_id=made.pk, label="first key"))


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
