"""Who may see a page of the admin: staff. There is one door for passwords, the palace's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, Final, ParamSpec, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memory.admin.owner_choice import chosen_actor
from memory.errors import PermissionRefused
from memory.models import User
from memory.palace.access import PersonPage, person_page
from memory.services.actors import Actor

P = ParamSpec("P")

ACTOR: Final = "admin_actor"
OWN: Final = "admin_own"


def staff_page(*methods: str) -> Callable[[PersonPage[P]], Callable[Concatenate[HttpRequest, P], HttpResponseBase]]:
    """Make a view for staff with an owner: it gets the actor of the owner that was chosen, and nothing of another one.

    Args:
        methods: the HTTP methods that the view takes; others are answered with 405.
    """

    def decorate(view: PersonPage[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @wraps(view)
        def checked(request: HttpRequest, own: Actor, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not (isinstance(request.user, User) and request.user.is_staff):
                raise PermissionRefused("These pages are for staff. Your login is none of it.", code="account.no_staff")
            actor = chosen_actor(request, own.owner_id)
            setattr(request, ACTOR, actor)
            setattr(request, OWN, own.owner_id)
            return view(request, actor, *args, **kwargs)

        return person_page(*methods)(cast("PersonPage[P]", checked))

    return decorate


def actor_of(request: HttpRequest) -> Actor:
    """Give the actor of the owner that was chosen, within a page of the admin."""
    return cast("Actor", getattr(request, ACTOR))
