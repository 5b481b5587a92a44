"""Whose memories a command is about, and as whom it acts."""

from __future__ import annotations

from uuid import UUID

from memory.errors import InvalidInput
from memory.models import Owner
from memory.services.actors import Actor, operator
from memory.services.logins import owner_named


def named_owner(login: str | None) -> UUID:
    """Find the owner that `--owner` names by login or id, the only one there is when it was left out.

    Raises:
        NotFound: no such login or id, no owner joined to the login, or no owner at all.
        InvalidInput: no login, although there are several owners; the message says what to type.
    """
    by_id = _owner_of(login or "")
    if by_id is not None:
        return by_id
    try:
        return owner_named(login)
    except InvalidInput as error:
        raise InvalidInput(
            f"{error.message} Add --owner LOGIN; `manage.py owner list` shows the logins.", code=error.machine_code
        ) from error


def _owner_of(typed: str) -> UUID | None:
    try:
        return Owner.objects.filter(pk=UUID(typed)).values_list("pk", flat=True).first()
    except ValueError:
        return None


def shown_owner(owner_id: UUID) -> str:
    """Give an owner's login with the id, the id alone where no login is joined; one statement."""
    login = Owner.objects.filter(pk=owner_id).values_list("user__username", flat=True).first()
    return f"{login} ({owner_id})" if login else str(owner_id)


def acting_for(login: str | None) -> Actor:
    """Give the operator as who acts for the owner that `--owner` names; raises what `named_owner` raises."""
    return operator(named_owner(login))
