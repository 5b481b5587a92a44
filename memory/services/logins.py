"""Logins of an installation as its operator sees them: which there are, and new passwords."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError

from memory.errors import InvalidInput, NotFound
from memory.models import Owner, User
from memory.services.audit.sign_ins import OPERATOR, record_sign_in


@dataclass(frozen=True, slots=True)
class Login:
    """A login and the owner joined to it; None for a login without memories of its own."""

    username: str
    owner_id: UUID | None
    staff: bool
    active: bool
    created_at: datetime


def list_logins() -> list[Login]:
    """List all logins, oldest first."""
    owners = dict(Owner.objects.exclude(user=None).values_list("user_id", "pk"))
    rows = User.objects.order_by("date_joined", "pk")
    return [Login(user.username, owners.get(user.pk), user.is_staff, user.is_active, user.date_joined) for user in rows]


def set_password(*, username: str, password: str) -> None:
    """Give a login another password, which ends its sessions.

    Raises:
        NotFound: no such login.
        InvalidInput: a weak password; the old one was kept.
    """
    user = User.objects.filter(username=username).first()
    if user is None:
        raise NotFound("There is no login of this name.", code="account.unknown")
    try:
        validate_password(password, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), code="account.invalid") from error
    user.set_password(password)
    user.save(update_fields=["password"])
    record_sign_in(user, "password", actor=OPERATOR)


def owner_named(username: str | None) -> UUID:
    """Find the owner joined to a login; without a name the only owner there is.

    Raises:
        NotFound: no such login, none joined to it, or no owner at all.
        InvalidInput: no name, although there are several owners.
    """
    joined = Owner.objects.exclude(user=None)
    found = list((joined.filter(user__username=username) if username else joined).values_list("pk", flat=True)[:2])
    if not found:
        raise NotFound("There is no such owner.", code="account.unknown")
    if len(found) > 1:
        raise InvalidInput("There are several owners. Say which one is meant.", code="account.ambiguous")
    return found[0]
