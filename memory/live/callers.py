"""Who is at the other end of a socket: a person by the session's cookie or an agent by its key, judged repeatedly.

Everything here asks the database and belongs into a thread.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.http import parse_cookie
from django.utils.crypto import constant_time_compare

from memory.errors import NotAuthenticated, OwnerPurging
from memory.models import Owner, User
from memory.services.actors import Actor, person
from memory.services.agents import authenticate, authenticate_again
from memory.services.session_keys import is_session_key
from memory.services.wrong_keys import note_right, note_wrong, refuse_flood

# How the audit names this way in.
TRANSPORT: Final = "live"


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a client has shown on its way in: a session or an agent's key."""

    session: str | None = field(default=None, repr=False)
    secret: str | None = field(default=None, repr=False)
    address: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """One who was let in; keeps no agent key, only which one it was."""

    actor: Actor
    session: str | None = field(default=None, repr=False)

    @property
    def counted_as(self) -> UUID:
        """Give the id under which this one's sockets are counted."""
        return self.actor.caller_id


def shown(headers: Iterable[tuple[bytes, bytes]], client: Any) -> Credentials:
    """Read what a client shows: a key in `Authorization: Bearer` or `X-Api-Key`, else the cookie of a session.

    Only a page has a session, and a page names its origin, which the door has looked at.
    """
    found = {name: value.decode("latin-1") for name, value in headers}
    address = client[0] if client else None
    scheme, _, rest = found.get(b"authorization", "").partition(" ")
    secret = rest.strip() if scheme.lower() == "bearer" else found.get(b"x-api-key")
    if secret is not None:
        return Credentials(secret=secret.strip(), address=address)
    if b"authorization" in found or b"origin" not in found:
        return Credentials(address=address)
    session = parse_cookie(found.get(b"cookie", "")).get(settings.SESSION_COOKIE_NAME)
    sound = session is not None and is_session_key(session)
    return Credentials(session=session if sound else None, address=address)


def let_in(credentials: Credentials) -> Caller:
    """Find out who a client is; one that brings a key is judged by the key alone.

    Raises:
        NotAuthenticated: no valid key or session.
        OwnerPurging: everything of the owner is being erased.
        RateLimited: too many wrong keys came from this address.
    """
    secret = credentials.secret
    if secret is None:
        return Caller(_person(credentials.session), credentials.session)
    refuse_flood(secret, credentials.address)
    try:
        actor = authenticate(secret)
    except NotAuthenticated:
        note_wrong(credentials.address)
        raise
    note_right(secret)
    return Caller(replace(actor, via=TRANSPORT))


def judge_again(caller: Caller) -> Caller:
    """Look whether somebody who was let in may still listen, and with which permissions.

    Raises:
        NotAuthenticated: the session has ended, the login is closed or has another password, the key was revoked or has
            run out, the agent is paused.
        OwnerPurging: everything of the owner is being erased.
    """
    if caller.actor.agent_id is not None:
        return replace(caller, actor=replace(authenticate_again(caller.actor), via=TRANSPORT))
    actor = _person(caller.session)
    if actor.owner_id != caller.actor.owner_id:
        raise NotAuthenticated
    return replace(caller, actor=actor)


def _person(session_key: str | None) -> Actor:
    if session_key is None:
        raise NotAuthenticated
    # Read as Django's own middleware reads it, but never written: a socket prolongs no session.
    session = import_module(settings.SESSION_ENGINE).SessionStore(session_key)
    user = User.objects.filter(pk=session.get(SESSION_KEY), is_active=True).first()
    if user is None or not constant_time_compare(session.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash()):
        raise NotAuthenticated
    owner = Owner.objects.filter(user=user).only("id", "purging_at").first()
    if owner is None:
        raise NotAuthenticated
    if owner.purging_at is not None:
        raise OwnerPurging
    return replace(person(owner.pk), via=TRANSPORT)
