"""The coverage report in the admin, and what the front page shows of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from memory.admin.access import staff_page
from memory.palace.access import is_partial
from memory.services.actors import Actor
from telemetry.admin.frame import ADMIN
from telemetry.models import Stream
from telemetry.palace.coverage_pages import report_page, requests_page
from telemetry.palace.coverage_state import CoverageState
from telemetry.palace.coverage_view import pareto_view
from telemetry.services.coverage.reporting import coverage_report
from telemetry.services.summary import DAYS

FEW_BARS: Final = 5


@staff_page("GET", "HEAD")
def coverage(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the coverage report of the owner that is shown; what leads to the palace is there for the own one only."""
    return report_page(request, actor, ADMIN)


@staff_page("GET", "HEAD")
def front(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show, as a part of the front page, the largest groups of requests that no spoke fitted."""
    if not is_partial(request):
        return HttpResponseRedirect(reverse("telemetry-admin:coverage"))
    state = CoverageState(stream=Stream.LIVE).with_days(min(DAYS, settings.TELEMETRY_RETENTION_DAYS))
    report = coverage_report(actor=actor, request=replace(state.request(), top_n=FEW_BARS), live=True)
    context = {"turns": report.total_turns, **pareto_view(report, state, "telemetry-admin:requests")}
    return render(request, "telemetry/coverage/front.html", context)


@staff_page("GET", "HEAD")
def requests(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the requests of one group."""
    return requests_page(request, actor, ADMIN)
