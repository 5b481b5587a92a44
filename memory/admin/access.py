"""Who may see a page of the admin: staff. There is one door for passwords, the palace's."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from memory.errors import PermissionRefused
from memory.models import User
from memory.palace.access import PersonPage, person_page
from memory.services.actors import Actor

P = ParamSpec("P")


def staff_page(*methods: str) -> Callable[[PersonPage[P]], Callable[Concatenate[HttpRequest, P], HttpResponseBase]]:
    """Make a view for staff with an owner: it gets that owner's actor, and nothing of another owner.

    Args:
        methods: the HTTP methods that the view takes; others are answered with 405.
    """

    def decorate(view: PersonPage[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @wraps(view)
        def checked(request: HttpRequest, actor: Actor, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not (isinstance(request.user, User) and request.user.is_staff):
                raise PermissionRefused("These pages are for staff. Your login is none of it.", code="account.no_staff")
            return view(request, actor, *args, **kwargs)

        return person_page(*methods)(cast("PersonPage[P]", checked))

    return decorate
