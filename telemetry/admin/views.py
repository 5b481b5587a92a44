"""The coverage report in the admin."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from memory.admin.access import staff_page
from memory.services.actors import Actor
from telemetry.admin.frame import ADMIN
from telemetry.palace.coverage_pages import report_page, requests_page


@staff_page("GET", "HEAD")
def coverage(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the coverage report of the signed-in person's own owner."""
    return report_page(request, actor, ADMIN)


@staff_page("GET", "HEAD")
def requests(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the requests of one group."""
    return requests_page(request, actor, ADMIN)
