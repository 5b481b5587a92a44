"""A span for each request, named after the pattern of its address."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.exceptions import MiddlewareNotUsed
from django.http import HttpRequest, HttpResponse
from django.utils.decorators import sync_and_async_middleware

from memory.ports.request_id import method_named
from telemetry.metrics.middleware import route_of
from telemetry.metrics.tracing import span_of

if TYPE_CHECKING:
    from opentelemetry.trace import Span

SCRAPE: Final = "/metrics"


@sync_and_async_middleware
def traced_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make a middleware that makes spans of requests, as parts of what their callers do where `traceparent` says so.

    Raises:
        MiddlewareNotUsed: tracing is off.
    """
    if settings.TRACING == "off":
        raise MiddlewareNotUsed
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponse:
            if _passed_over(request):
                answer: HttpResponse = await get_response(request)
                return answer
            with span_of(method_named(request.method), {}, caller=request.headers) as span:
                answer = await get_response(request)
                _describe(span, request, answer)
                return answer

        return later

    def at_once(request: HttpRequest) -> HttpResponse:
        if _passed_over(request):
            answer: HttpResponse = get_response(request)
            return answer
        with span_of(method_named(request.method), {}, caller=request.headers) as span:
            answer = get_response(request)
            _describe(span, request, answer)
            return answer

    return at_once


def _passed_over(request: HttpRequest) -> bool:
    """Tell whether a request says nothing about Loci at work: files, and the scrapes of a collector."""
    return request.path_info.startswith(settings.STATIC_URL) or request.path_info == SCRAPE


def _describe(span: Span, request: HttpRequest, answer: HttpResponse) -> None:
    from opentelemetry.trace import Status, StatusCode

    route, method = route_of(request), method_named(request.method)
    span.update_name(f"{method} {route}")
    span.set_attributes(
        {"http.request.method": method, "http.route": route, "http.response.status_code": answer.status_code}
    )
    if answer.status_code >= 500:
        span.set_status(Status(StatusCode.ERROR))
