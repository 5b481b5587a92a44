"""Limits of requests per time, for each agent key or, for persons, each owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from memory.api.actions import action_of
from memory.api.authentication import actor_of
from memory.services.actors import Actor
from memory.services.limits import caller_of, count_shared

if TYPE_CHECKING:
    from rest_framework.views import APIView


class ActionThrottle(SimpleRateThrottle):
    """Count a request against the rate of its action: `read`, `write` or `recall`.

    With Redis, counts are those of all processes. Without it, and while it does not answer, each process counts alone,
    so that several of them allow as many times the rate.
    """

    def __init__(self) -> None:
        """Wait for the request, which says which rate applies."""
        self._shared_wait: float | None = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Tell whether the request is within its rate; requests without a caller are not counted."""
        action = action_of(view, request.method)
        if action is None or not isinstance(request.auth, Actor):
            return True
        self.scope = action.rate
        self.rate = self.get_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        if self.num_requests is None or self.duration is None:
            return True
        shared = count_shared(caller=_caller(request), rate=self.scope, most=self.num_requests, seconds=self.duration)
        if shared is None:
            return bool(super().allow_request(request, view))
        self._shared_wait = shared.wait
        return shared.allowed

    def wait(self) -> float | None:
        """Give the seconds after which a refused request is within its rate."""
        return super().wait() if self._shared_wait is None else self._shared_wait

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """Name the counter of this caller and rate."""
        return f"throttle:{self.scope}:{_caller(request)}"


def _caller(request: Request) -> str:
    actor = actor_of(request)
    return caller_of(actor.owner_id, actor.key_id)
