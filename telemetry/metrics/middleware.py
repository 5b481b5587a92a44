"""Count every request by the pattern of its address, and measure it."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from memory.ports.request_id import method_named
from telemetry.metrics.counting import begin, increase, observe
from telemetry.metrics.definitions import HTTP_REQUESTS, HTTP_SECONDS

STATIC: Final = "static"
UNKNOWN: Final = "unknown"
# The last pattern of the interface, which answers for every address that there is not.
CATCH_ALL: Final = "api/v1/"


@sync_and_async_middleware
def counted_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make a middleware that counts requests with their method and status, and how long their answers took.

    An answer that is sent in pieces is measured up to its head. It stands before everything that may refuse.
    """
    begin()
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponse:
            began = perf_counter()
            answer: HttpResponse = await get_response(request)
            _count(request, answer, perf_counter() - began)
            return answer

        return later

    def at_once(request: HttpRequest) -> HttpResponse:
        began = perf_counter()
        answer: HttpResponse = get_response(request)
        _count(request, answer, perf_counter() - began)
        return answer

    return at_once


def route_of(request: HttpRequest) -> str:
    """Give the pattern of a request's address, which holds names of parameters and never their values."""
    match = request.resolver_match
    if match is not None:
        return f"/{match.route}" if match.route != CATCH_ALL else UNKNOWN
    return STATIC if request.path_info.startswith(settings.STATIC_URL) else UNKNOWN


def _count(request: HttpRequest, answer: HttpResponse, seconds: float) -> None:
    route = route_of(request)
    increase(HTTP_REQUESTS, route, method_named(request.method), f"{answer.status_code // 100}xx")
    observe(HTTP_SECONDS, seconds, route)
