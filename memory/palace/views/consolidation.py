"""Consolidation: how it stands, what comes next, running it now, its settings, its runs and what they made."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import LociError, NotFound
from memory.palace.access import is_partial, person_page
from memory.palace.consolidation_forms import SettingsForm, names_of, settings_forms
from memory.palace.consolidation_view import made_view, next_groups, run_view, size, why_next
from memory.palace.consolidation_words import GROUPS, sentence
from memory.palace.covering import cover
from memory.palace.dates import moment, optional_moment
from memory.palace.errors import add_to_form, problem_of
from memory.palace.places import place_of, written_place
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.consolidation.failures import failed_memories, list_failures, retry_failure
from memory.services.consolidation.made import made_by
from memory.services.consolidation.runs import (
    ask_for_run,
    consolidation_status,
    described,
    get_run,
    list_runs,
)
from memory.services.consolidation.upcoming import upcoming
from memory.services.health.heartbeat import worker_is_silent
from memory.services.settings import change_settings, get_settings
from memory.services.settings_table import CONSOLIDATION

LAST_RUNS: Final = 5
PAGE_ROWS: Final = 20
FAILED_CHARACTERS: Final = 140


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show how consolidation stands; only that part where a page that is open asks for it."""
    if is_partial(request):
        return render(request, "palace/consolidation/state.html", _state(actor))
    return _page(request, actor)


@person_page("POST")
def run(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Ask for a run of the groups that are named, or of all; a worker does it."""
    try:
        ask_for_run(actor=actor, groups=request.POST.getlist("groups") or None)
    except LociError as error:
        _say(request, error)
    else:
        if worker_is_silent():
            messages.warning(request, _("The run waits: no worker is running, so nothing does it yet."))
    return HttpResponseRedirect(reverse("palace:consolidation"))


@person_page("POST")
def switch(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Switch consolidation on or off."""
    on = request.POST.get("on") == "true"
    change_settings(actor=actor, changes={"consolidation": on})
    messages.success(request, _("Consolidation is on.") if on else _("Consolidation is off; what is kept stays."))
    return HttpResponseRedirect(reverse("palace:consolidation"))


@person_page("POST")
def settings(request: HttpRequest, actor: Actor, group: str) -> HttpResponse:
    """Change the settings of one group, or bring them to their defaults."""
    if group not in CONSOLIDATION or not names_of(group):
        raise NotFound(_("There is no such group of settings."))
    form = SettingsForm(group, get_settings(actor=actor)["values"], request.POST)
    status = 422
    if "reset" in request.POST or form.is_valid():
        changes = form.defaults() if "reset" in request.POST else form.changes()
        try:
            if changes:
                change_settings(actor=actor, changes=changes)
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            messages.success(request, _("Kept. It counts from the next run on."))
            return HttpResponseRedirect(f"{reverse('palace:consolidation')}#settings-{group}")
    return _page(request, actor, bound=form, status=status)


@person_page("GET", "HEAD")
def runs(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the runs of the last thirty days, the newest first."""
    after = place_of(request.GET.get("after", ""))
    rows = list_runs(actor=actor, after=after, size=PAGE_ROWS + 1)
    shown, current = rows[:PAGE_ROWS], now()
    context = {
        "runs": [run_view(described(row, full=True), current) for row in shown],
        "next_place": written_place(shown[-1].started_at, shown[-1].pk) if len(rows) > PAGE_ROWS else "",
        "further": after is not None,
        **surroundings(request, actor),
    }
    return render(request, "palace/consolidation/runs.html", context)


@person_page("GET", "HEAD")
def one_run(request: HttpRequest, actor: Actor, run_id: UUID) -> HttpResponse:
    """Show one run with the report of every stage and what it made; only its progress where a page asks for it."""
    current = now()
    view = run_view(described(get_run(actor=actor, run_id=run_id), full=True), current)
    if is_partial(request):
        return render(request, "palace/consolidation/report.html", {"run": view})
    made, reviews = made_view(made_by(actor=actor, run_id=run_id), current)
    context = {"run": view, "made": made, "reviews": reviews, **surroundings(request, actor)}
    return render(request, "palace/consolidation/run.html", context)


@person_page("GET", "HEAD")
def failures(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the memories from which nothing could be drawn, the newest failure first."""
    after = place_of(request.GET.get("after", ""))
    rows = list_failures(actor=actor, after=after, size=PAGE_ROWS + 1)
    shown, current = rows[:PAGE_ROWS], now()
    memories = failed_memories(actor=actor, failures=shown)
    context = {
        "rows": [
            {
                "id": one.memory_id,
                "text": _preview(memories.get(one.memory_id)),
                "why": sentence(one.code),
                "attempts": one.attempts,
                "failed": moment(one.failed_at, current),
                "next": optional_moment(one.next_at, current),
            }
            for one in shown
        ],
        "next_place": written_place(shown[-1].failed_at, shown[-1].memory_id) if len(rows) > PAGE_ROWS else "",
        "further": after is not None,
        **surroundings(request, actor),
    }
    return render(request, "palace/consolidation/failures.html", context)


@person_page("POST")
def retry(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Let the next run try a memory again."""
    retry_failure(actor=actor, memory_id=memory_id)
    messages.success(request, _("It is tried again in the next run, which a worker begins soon."))
    return HttpResponseRedirect(reverse("palace:extraction-failures"))


def _preview(row: Any) -> str:
    if row is None:
        return _("It is not there any more.")
    flat = " ".join(cover(row).text.split())
    return flat if len(flat) <= FAILED_CHARACTERS else f"{flat[: FAILED_CHARACTERS - 1].rstrip()}…"


def _say(request: HttpRequest, error: LociError) -> None:
    problem = problem_of(error)
    messages.error(request, f"{problem.message} {problem.advice}".strip())


def _state(actor: Actor) -> dict[str, Any]:
    status, coming, current = consolidation_status(actor=actor), upcoming(actor=actor), now()
    working = status["running"]
    asked = [get_run(actor=actor, run_id=pk) for pk in status["asked"][:1]]
    at_work = working or next((described(row, full=True) for row in asked), None)
    return {
        "enabled": status["enabled"],
        "run": run_view(at_work, current) if at_work else None,
        "last": run_view(status["last_run"], current) if status["last_run"] else None,
        "next": optional_moment(status["next_run_at"], current),
        "why": why_next(coming, status["settings"], asked=bool(asked), now=current),
        "groups": next_groups(coming, current) if status["enabled"] else [],
        "pending_rows": status["pending_rows"],
        "pending_size": size(status["pending_bytes"]),
        "unslept": coming.unslept,
        "errors": status["errors"],
        "worker": not worker_is_silent(),
        "choices": [(name, str(GROUPS[name])) for name in status["groups"]],
    }


def _page(request: HttpRequest, actor: Actor, *, bound: SettingsForm | None = None, status: int = 200) -> HttpResponse:
    current = now()
    rows = list_runs(actor=actor, after=None, size=LAST_RUNS)
    context = {
        **_state(actor),
        "runs": [run_view(described(row, full=True), current) for row in rows],
        "forms": settings_forms(get_settings(actor=actor)["values"], bound=bound),
        "failed": len(list_failures(actor=actor, after=None, size=PAGE_ROWS)),
        "most_failed": PAGE_ROWS,
        **surroundings(request, actor),
    }
    return render(request, "palace/consolidation/page.html", context, status=status)
