"""Limits of requests per time, for each agent key or, for persons, each owner."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from memory.api.actions import action_of
from memory.api.authentication import actor_of
from memory.services.actors import Actor

if TYPE_CHECKING:
    from rest_framework.views import APIView


class ActionThrottle(SimpleRateThrottle):
    """Count a request against the rate of its action: `read`, `write` or `recall`.

    Counts stand in the process, so several web processes allow as many times the rate.
    """

    def __init__(self) -> None:
        """Wait for the request, which says which rate applies."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Tell whether the request is within its rate; requests without a caller are not counted."""
        action = action_of(view, request.method)
        if action is None or not isinstance(request.auth, Actor):
            return True
        self.scope = action.rate
        self.rate = self.get_rate()
        self.num_requests, self.duration = self.parse_rate(self.rate)
        return bool(super().allow_request(request, view))

    def get_cache_key(self, request: Request, view: APIView) -> str | None:
        """Name the counter of this caller and rate."""
        actor = actor_of(request)
        caller = f"key:{actor.key_id}" if actor.key_id else f"owner:{actor.owner_id}"
        return f"throttle:{self.scope}:{caller}"
