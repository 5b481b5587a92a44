"""Logins of an installation as its operator sees them: which there are, and new passwords."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet

from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Owner, User
from memory.ports.live import announce_access
from memory.services.audit.sign_ins import OPERATOR, record_sign_in

ONE_TIME_BYTES: Final = 15


class StaffLevel(StrEnum):
    """What a login may do in the admin: nothing, look at its own owner, or look after all of the installation."""

    NONE = "none"
    OWN = "own"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class Login:
    """A login and the owner joined to it; None for a login without memories of its own."""

    username: str
    owner_id: UUID | None
    staff: bool
    active: bool
    created_at: datetime


def login_name(typed: str) -> str:
    """Give a name in the form in which logins are kept and found: NFKC, as in the form of the login page."""
    return str(User.normalize_username(typed))


def list_logins() -> list[Login]:
    """List all logins, oldest first."""
    owners = dict(Owner.objects.exclude(user=None).values_list("user_id", "pk"))
    rows = User.objects.order_by("date_joined", "pk")
    return [Login(user.username, owners.get(user.pk), user.is_staff, user.is_active, user.date_joined) for user in rows]


def set_password(*, username: str, password: str, by: str = OPERATOR) -> None:
    """Give a login another password, which ends its sessions.

    Args:
        username: which login.
        password: the new one.
        by: who does it, as the audit names it.

    Raises:
        NotFound: no such login.
        InvalidInput: a weak password; the old one was kept.
    """
    user = _named(User.objects.all(), username)
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), code="account.invalid") from error
    user.set_password(password)
    user.save(update_fields=["password"])
    record_sign_in(user, "password", actor=by)


def one_time_password(*, username: str, by: str) -> str:
    """Give a login a random password to be told to the person, who changes it; ends the login's sessions.

    Raises:
        NotFound: no such login.
    """
    made = made_password()
    set_password(username=username, password=made, by=by)
    return made


def made_password() -> str:
    """Make a random password."""
    return secrets.token_urlsafe(ONE_TIME_BYTES)


def set_active(*, username: str, active: bool, by: str) -> None:
    """Let a login in again, or shut it out, which ends its sessions; without effect when it is so already.

    Raises:
        NotFound: no such login.
        Conflict: `account.last_staff`, nobody could come into the admin any more.
    """
    with transaction.atomic():
        user = _locked(username)
        if user.is_active == active:
            return
        if not active:
            _require_other_staff(user)
        user.is_active = active
        user.save(update_fields=["is_active"])
    record_sign_in(user, "enable" if active else "disable", actor=by)
    _tell_pages(user)


def set_staff(*, username: str, level: StaffLevel, by: str) -> None:
    """Say what a login may do in the admin; without effect when it is so already.

    Args:
        username: which login.
        level: nothing, look at the own owner, or everything.
        by: who does it, as the audit names it.

    Raises:
        NotFound: no such login.
        Conflict: `account.last_staff`, nobody could look after the installation any more.
    """
    staff, everything = level != StaffLevel.NONE, level == StaffLevel.ALL
    with transaction.atomic():
        user = _locked(username)
        if (user.is_staff, user.is_superuser) == (staff, everything):
            return
        if not everything:
            _require_other_staff(user)
        raised = (staff, everything) > (user.is_staff, user.is_superuser)
        user.is_staff, user.is_superuser = staff, everything
        user.save(update_fields=["is_staff", "is_superuser"])
    record_sign_in(user, "promote" if raised else "demote", actor=by)
    _tell_pages(user)


def level_of(user: User) -> StaffLevel:
    """Tell what a login may do in the admin."""
    if not user.is_staff:
        return StaffLevel.NONE
    return StaffLevel.ALL if user.is_superuser else StaffLevel.OWN


def _locked(username: str) -> User:
    # All of the staff is locked, so that two who shut each other out at once do not both succeed.
    list(User.objects.select_for_update().filter(is_superuser=True).order_by("pk").values_list("pk", flat=True))
    return _named(User.objects.select_for_update(), username)


def _named(users: QuerySet[User], username: str) -> User:
    user = users.filter(username=login_name(username)).first() if _storable(username) else None
    if user is None:
        raise NotFound("There is no login of this name.", code="account.unknown")
    return user


def _storable(username: str) -> bool:
    """Tell whether a name can be asked for: the database knows no text with a null or half a character."""
    return username.isprintable()


def _require_other_staff(user: User) -> None:
    if user.is_superuser and not (
        User.objects.filter(is_superuser=True, is_staff=True, is_active=True).exclude(pk=user.pk).exists()
    ):
        raise Conflict(
            "This is the last login of staff; nobody could come into the admin any more. Nothing was changed.",
            code="account.last_staff",
        )


def _tell_pages(user: User) -> None:
    owner_id = Owner.objects.filter(user=user).values_list("pk", flat=True).first()
    if owner_id is not None:
        announce_access(owner_id)


def owner_named(username: str | None) -> UUID:
    """Find the owner joined to a login; without a name the only owner there is.

    Raises:
        NotFound: no such login, none joined to it, or no owner at all.
        InvalidInput: no name, although there are several owners.
    """
    joined = Owner.objects.exclude(user=None)
    if username:
        joined = joined.filter(user__username=login_name(username)) if _storable(username) else joined.none()
    found = list(joined.values_list("pk", flat=True)[:2])
    if not found:
        raise NotFound("There is no such owner.", code="account.unknown")
    if len(found) > 1:
        raise InvalidInput("There are several owners. Say which one is meant.", code="account.ambiguous")
    return found[0]
