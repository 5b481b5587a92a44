"""The coverage report in the palace."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from memory.palace.access import person_page
from memory.services.actors import Actor
from telemetry.palace.coverage_pages import report_page, requests_page
from telemetry.palace.frame import PALACE


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the coverage report, or its part that changes where only that is asked for."""
    return report_page(request, actor, PALACE)


@person_page("GET", "HEAD")
def requests(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the requests of one group."""
    return requests_page(request, actor, PALACE)
