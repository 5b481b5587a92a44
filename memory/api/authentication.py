"""Who sends a request: an agent with its key, or a person with a session of the palace."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from rest_framework.authentication import BaseAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied
from rest_framework.request import Request

from memory.errors import NotAuthenticated, NotFound
from memory.ports.request_id import note_agent
from memory.services.accounts import owner_of
from memory.services.actors import Actor, person
from memory.services.agents import authenticate
from memory.services.wrong_keys import note_right, note_wrong, refuse_flood

REALM: Final = 'Bearer realm="loci"'
KEY_HEADER: Final = "X-Api-Key"
# How the audit names this way in.
TRANSPORT: Final = "rest"


@dataclass(frozen=True, slots=True)
class AgentCaller:
    """An authenticated agent, in the place where Django expects a user."""

    pk: UUID
    is_authenticated: bool = True
    is_anonymous: bool = False
    is_active: bool = True
    is_staff: bool = False


class AgentKeyAuthentication(BaseAuthentication):
    """Accept `Authorization: Bearer loci_…` or `X-Api-Key: loci_…`.

    A request that brings a key is judged by the key alone: a wrong one is refused although a session exists.
    """

    def authenticate(self, request: Request) -> tuple[AgentCaller, Actor] | None:
        """Give the agent behind the key; None when no key came.

        Raises:
            AuthenticationFailed: the key is unknown, expired or revoked, or its agent is paused.
            RateLimited: too many wrong keys came from this address.
        """
        secret = _secret(request)
        if secret is None:
            return None
        address = request.META.get("REMOTE_ADDR")
        refuse_flood(secret, address)
        try:
            actor = authenticate(secret)
        except NotAuthenticated as error:
            note_wrong(address)
            raise AuthenticationFailed(error.message, code="auth.invalid") from error
        note_right(secret)
        assert actor.agent_id is not None
        note_agent(actor.agent_id)
        return AgentCaller(actor.agent_id), replace(actor, via=TRANSPORT)

    def authenticate_header(self, request: Request) -> str:
        """Say how to authenticate."""
        return REALM


def actor_of(request: Request) -> Actor:
    """Give who sent an authenticated request."""
    assert isinstance(request.auth, Actor)
    return request.auth


def _secret(request: Request) -> str | None:
    scheme, _, rest = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    key = request.headers.get(KEY_HEADER)
    return None if key is None else key.strip()


class PersonAuthentication(SessionAuthentication):
    """Accept the session cookie of the palace; unsafe methods need its CSRF token in `X-CSRFToken`."""

    def authenticate(self, request: Request) -> tuple[Any, Actor] | None:
        """Give the person behind the session; None when nobody is logged in.

        Raises:
            PermissionDenied: the CSRF token is missing or wrong, or no owner is joined to the login.
        """
        user = getattr(request._request, "user", None)
        if user is None or not user.is_authenticated or not user.is_active:
            return None
        self.enforce_csrf(request)
        try:
            owner = owner_of(user)
        except NotFound as error:
            raise PermissionDenied(error.message, code=error.machine_code) from error
        return user, replace(person(owner.pk), via=TRANSPORT)

    def enforce_csrf(self, request: Request) -> None:
        """Check the CSRF token; raises PermissionDenied with the code `auth.csrf`."""
        try:
            super().enforce_csrf(request)
        except PermissionDenied as error:
            raise PermissionDenied(
                "The CSRF token is missing or wrong. Nothing was changed; send it in the header X-CSRFToken.",
                code="auth.csrf",
            ) from error
