"""The pages of the coverage report, whatever they are framed by."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.errors import NotFound
from memory.palace.access import is_partial
from memory.palace.dates import optional_moment
from memory.palace.places import place_of, written_place
from memory.palace.privacy_view import named
from memory.services.actors import STAFF, Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from telemetry.palace.coverage_state import WINDOWS, CoverageState, state_of
from telemetry.palace.coverage_view import report_view, requests_view
from telemetry.palace.frame import Frame
from telemetry.services.coverage.reporting import cluster_events, coverage_report
from telemetry.services.turns.test_mode import test_mode

PAGE_ROWS: Final = 50
_KEY: Final = re.compile(r"r-[0-9a-f]{16}|s-[0-9a-f]{32}", re.ASCII)
"""What names a group in a report, see `Analysis.key`."""
CSV_PAGE: Final = "telemetry-api:pipeline-coverage"


def report_page(request: HttpRequest, actor: Actor, frame: Frame) -> HttpResponse:
    """Show the report that the address asks for; only the part that changes, where only that is asked for, and nothing
    where whoever asks names the version that it would be.

    Args:
        request: its address says which report.
        actor: whose report it is.
        frame: what stands round the page.

    Raises:
        InvalidInput: days, agent or stream are none that there are.
    """
    state = state_of(request.GET)
    report = coverage_report(actor=actor, request=state.request(), live=True)
    if is_partial(request) and not report.pending and request.GET.get("known") == str(report.version):
        return HttpResponse(status=204)
    page, current = f"{frame.namespace}:coverage", now()
    mode = test_mode(actor=actor)
    context: dict[str, Any] = {
        **report_view(report, state, f"{frame.namespace}:requests"),
        "state": state,
        "foreign": actor.kind == STAFF,
        "enabled": report.enabled,
        "test_mode": mode,
        "test_since": optional_moment(mode.since, current),
        "host": request.build_absolute_uri("/")[:-1],
        "addresses": {
            "here": state.address(page),
            "all": replace(state, agent="").address(page),
            "csv": state.address(CSV_PAGE, format="csv"),
        },
        "streams": _streams(state, report.stream, page, testing=mode.enabled),
    }
    if is_partial(request):
        return render(request, "telemetry/coverage/main.html", {**context, "partial": True})
    context |= {
        "windows": _windows(state, page),
        "agents": [{"id": str(agent.pk), "name": named(agent)} for agent in list_agents(actor=actor)],
        "base": frame.base,
        **frame.context(request, actor),
    }
    return render(request, "telemetry/coverage/page.html", context)


def requests_page(request: HttpRequest, actor: Actor, frame: Frame) -> HttpResponse:
    """List the requests of the group that the address names, newest first, with personal data masked.

    Where no group has this name any more, the page says so: groups by spokes go when their requests are compared, which
    a worker does minutes after they came, and others when turns come or go.

    Args:
        request: its address says which report, which group of it, and where the list goes on.
        actor: whose requests they are.
        frame: what stands round the page.

    Raises:
        InvalidInput: days, agent, stream or place are none that there are.
        NotFound: `agent.unknown`; `coverage.cluster_unknown`, for a key that is none of any report.
    """
    state, key = state_of(request.GET), request.GET.get("key", "")
    after = place_of(request.GET.get("after", ""))
    changed, rows = False, []
    try:
        rows = cluster_events(actor=actor, request=state.request(), key=key, after=after, size=PAGE_ROWS + 1)
    except NotFound as error:
        if error.machine_code != "coverage.cluster_unknown" or not _KEY.fullmatch(key):
            raise
        changed = True
    shown, page = rows[:PAGE_ROWS], f"{frame.namespace}:requests"
    goes_on = written_place(shown[-1].occurred_at, shown[-1].event_id) if len(rows) > PAGE_ROWS else ""
    agents = {agent.pk: named(agent) for agent in list_agents(actor=actor)}
    context = {
        "rows": requests_view(shown, agents=agents, current=now()),
        "foreign": actor.kind == STAFF,
        "changed": changed,
        "further": after is not None and not changed,
        "addresses": {
            "back": state.address(f"{frame.namespace}:coverage"),
            "first": state.address(page, key=key),
            "next": state.address(page, key=key, after=goes_on) if goes_on else "",
        },
        "base": frame.base,
        **frame.context(request, actor),
    }
    return render(request, "telemetry/coverage/requests.html", context)


def _windows(state: CoverageState, page: str) -> list[dict[str, Any]]:
    return [
        {"days": days, "address": state.with_days(days).address(page), "chosen": state.chosen_days == str(days)}
        for days in WINDOWS
        if days <= settings.TELEMETRY_RETENTION_DAYS
    ]


def _streams(state: CoverageState, shown: str, page: str, *, testing: bool) -> list[dict[str, str]]:
    """Give the streams to switch to, where there is a choice or the one shown is not the usual one."""
    usual = "test" if testing else "live"
    if not testing and shown == usual:
        return []
    other = "live" if shown == "test" else "test"
    written = replace(state, stream="" if other == usual else other)
    return [{"name": other, "address": written.address(page)}]
