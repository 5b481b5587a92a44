"""The two addresses by which an orchestrator tells whether the web process lives, and whether it can serve.

They are answered before sessions, logins and the check of host names: probes come by an address and carry no cookie.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

from asgiref.sync import iscoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

from memory.services.health import recent_findings, state_of

LIVE: Final = "/health/live"
READY: Final = "/health/ready"
PROBES: Final = frozenset({LIVE, READY})
ASKING: Final = frozenset({"GET", "HEAD"})

Answer = Callable[[HttpRequest], HttpResponseBase]
LaterAnswer = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


@sync_and_async_middleware
def probes(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make a middleware that answers probes and passes everything else on."""
    if not iscoroutinefunction(get_response):

        def at_once(request: HttpRequest) -> HttpResponseBase:
            if request.path_info not in PROBES:
                return cast("Answer", get_response)(request)
            return _refused(request) or (live() if request.path_info == LIVE else ready())

        return at_once

    async def later(request: HttpRequest) -> HttpResponseBase:
        if request.path_info not in PROBES:
            return await cast("LaterAnswer", get_response)(request)
        # Within the loop, so that it is answered also while threads wait for the database.
        return _refused(request) or (live() if request.path_info == LIVE else await sync_to_async(ready)())

    return later


def live() -> HttpResponse:
    """Say that the process answers; asks nothing of anybody."""
    return _never_kept(JsonResponse({"status": "ok"}))


def ready() -> HttpResponse:
    """Tell by names and states whether requests can be served: 200, also with less than all of Loci, or 503."""
    findings = recent_findings()
    state = state_of(findings)
    checks = [{"name": found.name, "status": found.status} for found in findings]
    return _never_kept(JsonResponse({"status": state, "checks": checks}, status=503 if state == "failing" else 200))


def _refused(request: HttpRequest) -> HttpResponse | None:
    if request.method in ASKING:
        return None
    return _never_kept(HttpResponse(status=405, headers={"Allow": ", ".join(sorted(ASKING))}))


def _never_kept(response: HttpResponse) -> HttpResponse:
    response.headers["Cache-Control"] = "no-store"
    return response
