"""Logins, failed logins, lock-outs and log-outs, recorded in the audit of the owner whose name it was.

Names that nobody has are not recorded, and neither are names, passwords and addresses.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from axes.handlers.proxy import AxesProxyHandler
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from memory.errors import OwnerPurging
from memory.models import Owner, User, owner_scope
from memory.services.audit.recording import record
from memory.services.clock import now

PERSON: Final = "person"
OPERATOR: Final = "operator"
# Whoever has not shown to be the person.
UNKNOWN: Final = "unknown"
LONGEST_NAME: Final = 150

# The mark on a request whose password was looked at: while a name is locked, none is.
_TRIED: Final = "_loci_password_was_tried"


def connect() -> None:
    """Join the signals of logins to the audit; done once."""
    user_logged_in.connect(_logged_in, dispatch_uid="loci.audit.login")
    user_logged_out.connect(_logged_out, dispatch_uid="loci.audit.logout")
    user_login_failed.connect(_failed, dispatch_uid="loci.audit.login_failed")
    # Its import joins its own functions, which lock a name and must come after ours.
    from axes.signals import user_locked_out

    user_locked_out.connect(_locked_out, dispatch_uid="loci.audit.login_locked")


def record_sign_in(user: User, verb: str, *, actor: str = PERSON) -> None:
    """Record what happened to a login, where an owner is joined to it and is not being erased."""
    owner_id = Owner.objects.filter(user=user).values_list("pk", flat=True).first()
    if owner_id is None:
        return
    with suppress(OwnerPurging), owner_scope(owner_id):
        record(actor=actor, verb=verb, object_kind="login", at=now())


def _logged_in(sender: Any, user: User, **_: Any) -> None:
    record_sign_in(user, "login")


def _logged_out(sender: Any, user: User | None, **_: Any) -> None:
    if user is not None:
        record_sign_in(user, "logout")


def _failed(sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **_: Any) -> None:
    """Record a wrong password; what is sent while a name is locked is passed over, or anybody could fill the audit."""
    if request is None or not AxesProxyHandler.is_allowed(request, credentials):
        return
    setattr(request, _TRIED, True)
    _record_name(credentials.get("username"), "login_failed")


def _locked_out(sender: Any, request: HttpRequest, username: str | None = None, **_: Any) -> None:
    """Record that a name was locked, once: the signal comes again with each attempt while it is."""
    if getattr(request, _TRIED, False):
        _record_name(username, "login_locked")


def _record_name(name: Any, verb: str) -> None:
    if not isinstance(name, str) or len(name) > LONGEST_NAME or "\0" in name:
        return
    user = User.objects.filter(username=name).first()
    if user is not None:
        record_sign_in(user, verb, actor=UNKNOWN)
