"""The browsers in which a person is logged in, ending them, and another password."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.contrib.auth import SESSION_KEY, update_session_auth_hash
from django.contrib.auth.password_validation import validate_password
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from memory.errors import InvalidInput, NotFound, PermissionRefused
from memory.models import User
from memory.services.actors import Actor
from memory.services.audit.sign_ins import PERSON, record_sign_in
from memory.services.clock import now
from memory.services.reauthentication import confirm_person

BEGUN: Final = "begun"
BROWSER: Final = "browser"
MOST_LOOKED_AT: Final = 10_000
LONGEST_AGENT: Final = 400
# The first that fits counts, since each calls itself after those below it too.
BROWSERS: Final = (
    ("Edg/", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
SYSTEMS: Final = (
    ("Android", "Android"),
    ("iPhone", "iPhone"),
    ("iPad", "iPad"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """One browser that is logged in.

    Attributes:
        id: a name for it that opens nothing.
        browser: roughly which, such as `Firefox, Linux`; empty where it does not say.
        begun_at: when it logged in; None for one from before that was noted.
        ends_at: when it ends by itself.
        current: whether it is the one that asks.
    """

    id: str
    browser: str
    begun_at: datetime | None
    ends_at: datetime
    current: bool


def connect() -> None:
    """Join the signal of logins; done once."""
    user_logged_in.connect(_begun, dispatch_uid="loci.sessions.begun")


def list_sessions(*, actor: Actor, request: HttpRequest) -> list[BrowserSession]:
    """List the browsers in which the actor's person is logged in, this one first, then the newest.

    Sessions do not say in the database whose they are, so at most the 10,000 newest of the installation are opened.

    Raises:
        PermissionRefused: `auth.person_only`, the actor is no person.
    """
    found = [_described(row, data, request) for row, data in _rows(_user(actor))]
    return sorted(found, key=lambda one: (not one.current, -one.begun_at.timestamp() if one.begun_at else 0.0))


def end_session(*, actor: Actor, session_id: str, request: HttpRequest) -> None:
    """End one of the person's other browsers, with the pages that are open in it.

    Raises:
        NotFound: none of this person's has this id.
        InvalidInput: `session.current`, it is the one that asks.
    """
    for row, _data in _rows(_user(actor)):
        if _id_of(row) == session_id:
            if row.session_key == request.session.session_key:
                raise InvalidInput("This is the browser that you use. Log out instead.", code="session.current")
            row.delete()
            record_sign_in(_user(actor), "logout")
            return
    raise NotFound("This browser is not logged in any more.", code="session.gone")


def end_other_sessions(*, actor: Actor, request: HttpRequest) -> int:
    """End all of the person's browsers but the one that asks; gives how many."""
    user, ended = _user(actor), 0
    for row, _data in list(_rows(user)):
        if row.session_key != request.session.session_key:
            row.delete()
            ended += 1
    if ended:
        record_sign_in(user, "logout")
    return ended


def change_own_password(*, actor: Actor, password: str, new: str, request: HttpRequest) -> None:
    """Give the person's login another password; the browser that asks stays logged in, all others do not.

    Raises:
        PermissionRefused: `auth.password_wrong`, or `auth.person_only`.
        RateLimited: `auth.locked`, too many wrong passwords.
        InvalidInput: `account.invalid`, a weak password; the old one was kept.
    """
    user = _user(actor)
    confirm_person(actor=actor, password=password, confirm=None, request=request)
    try:
        validate_password(new, user)
    except ValidationError as error:
        raise InvalidInput(" ".join(error.messages), code="account.invalid", field="new") from error
    user.set_password(new)
    user.save(update_fields=["password"])
    record_sign_in(user, "password", actor=PERSON)
    update_session_auth_hash(request, user)
    request.session.save()
    end_other_sessions(actor=actor, request=request)


def _user(actor: Actor) -> User:
    user = User.objects.filter(owner__id=actor.owner_id).first() if actor.kind == "person" else None
    if user is None:
        raise PermissionRefused(
            "Only a person who is logged in can do this. Nothing was changed.", code="auth.person_only"
        )
    return user


def _rows(user: User) -> Iterator[tuple[Session, dict[str, Any]]]:
    rows = Session.objects.filter(expire_date__gt=now()).order_by("-expire_date")[:MOST_LOOKED_AT]
    for row in rows.iterator(chunk_size=500):
        data = row.get_decoded()
        if str(data.get(SESSION_KEY)) == str(user.pk):
            yield row, data


def _described(row: Session, data: dict[str, Any], request: HttpRequest) -> BrowserSession:
    begun = data.get(BEGUN)
    return BrowserSession(
        id=_id_of(row),
        browser=str(data.get(BROWSER, "")),
        begun_at=datetime.fromisoformat(begun) if isinstance(begun, str) else None,
        ends_at=row.expire_date,
        current=row.session_key == request.session.session_key,
    )


def _id_of(row: Session) -> str:
    return hashlib.sha256(f"browser session|{row.session_key}".encode()).hexdigest()[:32]


def _begun(sender: Any, request: HttpRequest, user: User, **_: Any) -> None:
    """Note in a session when it began and in roughly which browser, so that the person can tell it from others."""
    if not hasattr(request, "session"):
        return
    request.session[BEGUN] = now().isoformat()
    request.session[BROWSER] = _browser(request.headers.get("User-Agent", "")[:LONGEST_AGENT])


def _browser(agent: str) -> str:
    found = (next((name for mark, name in marks if mark in agent), "") for marks in (BROWSERS, SYSTEMS))
    return ", ".join(filter(None, found))
