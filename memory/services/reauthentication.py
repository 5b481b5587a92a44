"""Asking a person for the password once more, before something that cannot be undone."""

from __future__ import annotations

from typing import Final

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth import authenticate
from django.http import HttpRequest

from memory.errors import InvalidInput, PermissionRefused, RateLimited
from memory.models import User
from memory.services.actors import Actor
from memory.services.login_attempts import counted_attempt

LONGEST_PASSWORD: Final = 4_096


def confirm_person(*, actor: Actor, password: str, confirm: str | None, request: HttpRequest) -> None:
    """Check that whoever asks is the person that the actor stands for, by the password.

    A wrong password counts like one of a login does, and locks like it: then the right one is refused too.

    Args:
        actor: who asks.
        password: as it was typed.
        confirm: the name of the login, typed to say that everything is meant; None where that is not asked for.
        request: from which address.

    Raises:
        PermissionRefused: `auth.person_only`, the actor is no person; `auth.password_wrong`.
        InvalidInput: `confirm.mismatch`, another name was typed.
        RateLimited: `auth.locked`, too many wrong passwords; `auth.flood`, too many of the network.
        PasswordsBusy: too many passwords are being checked at once.
    """
    user = User.objects.filter(owner__id=actor.owner_id).first() if actor.kind == "person" else None
    if user is None:
        raise PermissionRefused(
            "Only a person who is logged in can do this. Nothing was changed.", code="auth.person_only"
        )
    if confirm is not None and confirm != user.username:
        raise InvalidInput(
            "Type the name of your login to say that you mean it. Nothing was changed.",
            code="confirm.mismatch",
            field="confirm",
        )
    confirm_login(user=user, password=password, request=request)


def confirm_login(*, user: User, password: str, request: HttpRequest) -> None:
    """Check that whoever sits at the screen has a login's password.

    A wrong one counts like one of a login does, and locks like it: then the right one is refused too.

    Args:
        user: the login.
        password: as it was typed.
        request: from which address.

    Raises:
        PermissionRefused: `auth.password_wrong`.
        RateLimited: `auth.locked`, too many wrong passwords; `auth.flood`, too many of the network.
        PasswordsBusy: too many passwords are being checked at once.
    """
    credentials = {"username": user.username}
    if not AxesProxyHandler.is_allowed(request, credentials):
        raise _locked()
    with counted_attempt(name=user.username, request=request):
        # Passwords that long are no one's, and hashing them would cost the server more than the caller.
        found = authenticate(request, username=user.username, password=password[:LONGEST_PASSWORD])
        # The middleware would put the page of the login form in the place of the answer.
        request.axes_locked_out = False  # type: ignore[attr-defined]
        if found is not None and found.pk == user.pk and len(password) <= LONGEST_PASSWORD:
            return
        if not AxesProxyHandler.is_allowed(request, credentials):
            raise _locked()
        raise PermissionRefused("The password is wrong. Nothing was changed.", code="auth.password_wrong")


def _locked() -> RateLimited:
    return RateLimited("Too many wrong passwords. Wait a quarter of an hour. Nothing was changed.", code="auth.locked")
