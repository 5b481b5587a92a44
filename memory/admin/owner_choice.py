"""Whose rows the admin shows: one owner at a time, the person's own unless another is chosen, which is recorded."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest
from django.utils.translation import gettext as _

from memory.errors import Conflict, InvalidInput, NotFound, PermissionRefused
from memory.models import Owner, User, owner_scope
from memory.services.actors import Actor, person, staff
from memory.services.audit.staff import record_look
from memory.services.clock import now

KEPT_IN: Final = "admin_owner"
# A choice that is forgotten in an open browser ends by itself.
LASTS: Final = timedelta(hours=1)
MOST_FOUND: Final = 50
LONGEST_NAME: Final = 150


@dataclass(frozen=True, slots=True)
class Choice:
    """The owner whose rows are shown: id, the name of the login, and whether it is the person's own."""

    owner_id: UUID
    name: str
    own: bool


def may_choose(user: User) -> bool:
    """Tell whether somebody of the staff may look at other owners than the own."""
    return user.is_active and user.is_staff and user.is_superuser


def require_chooser(request: HttpRequest) -> User:
    """Give the person who asks; raises PermissionRefused where this one may look at the own owner only."""
    user = request.user
    if not isinstance(user, User) or not may_choose(user):
        raise PermissionRefused(
            "Your login may look at your own owner only. Nothing was changed.", code="account.own_only"
        )
    return user


def chosen_actor(request: HttpRequest, own: UUID) -> Actor:
    """Give the actor of the chosen owner: the person for the own one, staff for another, whose audit tells of it.

    Args:
        request: of a person of the staff.
        own: the owner joined to that person's login.
    """
    owner_id = _kept(request, own)
    if owner_id == own:
        return person(own)
    return staff(owner_id, pseudonym=pseudonym_of(own))


def choose(request: HttpRequest, *, own: UUID, owner_id: UUID) -> None:
    """Choose whose rows the admin shows from now on; that another owner was chosen stands in that owner's audit.

    Raises:
        PermissionRefused: `account.own_only`.
        NotFound: `account.unknown`, no such owner.
        OwnerPurging: everything of that owner is being erased.
    """
    if owner_id == own:
        request.session.pop(KEPT_IN, None)
        return
    require_chooser(request)
    if not Owner.objects.filter(pk=owner_id).exists():
        raise NotFound("There is no such owner.", code="account.unknown")
    moment = now()
    with owner_scope(owner_id):
        record_look(actor=staff(owner_id, pseudonym=pseudonym_of(own)), at=moment)
    request.session[KEPT_IN] = [str(owner_id), moment.isoformat()]


def choice_of(actor: Actor) -> Choice:
    """Describe the owner that an actor of the admin stands for."""
    name = Owner.objects.filter(pk=actor.owner_id).values_list("user__username", flat=True).first()
    return Choice(actor.owner_id, name or _("an owner without a login"), actor.staff_id is None)


def find_owners(text: str, *, most: int = MOST_FOUND) -> list[dict[str, Any]]:
    """Find owners by the beginning of the login's name or by the id; the oldest first when nothing is asked for.

    Raises:
        InvalidInput: `query.too_long`.
    """
    word = text.strip().replace("\0", "")
    if len(word) > LONGEST_NAME:
        raise InvalidInput(f"A name has at most {LONGEST_NAME} characters.", code="query.too_long", field="q")
    rows = Owner.objects.filter(purging_at=None).select_related("user")
    if word:
        try:
            rows = rows.filter(pk=UUID(word))
        except ValueError:
            rows = rows.filter(user__username__istartswith=word)
    return [
        {"id": row.pk, "name": row.user.username if row.user else "", "created_at": row.created_at}
        for row in rows.order_by("created_at", "pk")[:most]
    ]


def require_same(request: HttpRequest, actor: Actor) -> None:
    """Check that a form was made for the owner that is chosen now, which another tab may have changed.

    Raises:
        Conflict: `admin.other_owner`; nothing was done.
    """
    if request.POST.get("owner") != str(actor.owner_id):
        raise Conflict(
            "Another owner was chosen since this page was shown. Load it again. Nothing was changed.",
            code="admin.other_owner",
        )


def pseudonym_of(owner_id: UUID) -> UUID:
    """Give the name that an owner has in audits."""
    pseudonym: UUID = Owner.objects.values_list("pseudonym", flat=True).get(pk=owner_id)
    return pseudonym


def _kept(request: HttpRequest, own: UUID) -> UUID:
    """Give the choice that the session keeps while it may be used, else the own owner."""
    found = request.session.get(KEPT_IN)
    if found is None:
        return own
    owner_id, at = UUID(found[0]), datetime.fromisoformat(found[1])
    allowed = isinstance(request.user, User) and may_choose(request.user)
    if allowed and now() - at < LASTS and Owner.objects.filter(pk=owner_id, purging_at=None).exists():
        return owner_id
    del request.session[KEPT_IN]
    return own
