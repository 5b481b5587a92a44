"""`/metrics`: what a collector of metrics reads; outside the interface for agents, and not about any owner."""

from __future__ import annotations

import hmac
from typing import Final

from django.conf import settings
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe
from rest_framework.exceptions import AuthenticationFailed, PermissionDenied

from memory.api.problems import MEDIA_TYPE, problem_body, problem_of
from memory.errors import RateLimited
from memory.services.wrong_keys import note_right, note_wrong, refuse_flood
from telemetry.metrics.exposition import scraped

# What wrong tokens are counted under, apart from agents' keys: neither flood locks out the others.
WAY_IN: Final = "metrics"
REALM: Final = 'Bearer realm="loci metrics"'


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Give all metrics to whoever brings METRICS_TOKEN, or has logged in as staff."""
    try:
        _require_reader(request)
    except (AuthenticationFailed, PermissionDenied, RateLimited, OperationalError, InterfaceError) as error:
        return _refusal(error)
    body, media_type = scraped(request.headers.get("Accept", ""))
    return HttpResponse(body, content_type=media_type, headers={"Cache-Control": "no-store"})


def _require_reader(request: HttpRequest) -> None:
    header = request.headers.get("Authorization")
    if header is not None:
        _require_token(header, request.META.get("REMOTE_ADDR"))
    elif settings.SESSION_COOKIE_NAME not in request.COOKIES or not request.user.is_authenticated:
        raise AuthenticationFailed("Bring METRICS_TOKEN as a bearer token, or log in as staff.", code="auth.required")
    elif not (request.user.is_active and request.user.is_staff):
        raise PermissionDenied("Metrics are for staff, and for whoever has METRICS_TOKEN.", code="auth.forbidden")


def _require_token(header: str, address: str | None) -> None:
    scheme, _, token = header.partition(" ")
    token = token.strip()
    refuse_flood(token, address, way_in=WAY_IN)
    given, wanted = token.encode("utf-8", "surrogatepass"), settings.METRICS_TOKEN.encode()
    if scheme.lower() != "bearer" or not hmac.compare_digest(given, wanted):
        note_wrong(address, way_in=WAY_IN)
        raise AuthenticationFailed("This is not METRICS_TOKEN.", code="auth.invalid")
    note_right(token, way_in=WAY_IN)


def _refusal(error: Exception) -> HttpResponse:
    problem = problem_of(error)
    headers = {**problem.headers, "Cache-Control": "no-store"}
    if problem.status == AuthenticationFailed.status_code:
        headers["WWW-Authenticate"] = REALM
    return JsonResponse(problem_body(problem), status=problem.status, content_type=MEDIA_TYPE, headers=headers)
