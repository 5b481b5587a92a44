"""The form for remembering something by hand, and what would be understood of it."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import LociError
from memory.palace.access import is_partial, person_page
from memory.palace.errors import add_to_form, problem_of
from memory.palace.forms import RememberForm
from memory.palace.surroundings import surroundings
from memory.palace.understood import UnderstoodView, understood_view
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.remember import Stored, remember
from memory.services.understanding import understand
from memory.text.limits import is_blank

FIRST_VALUES: Final = {"category": "general", "kind": "note", "importance": 5}


@person_page("GET", "HEAD", "POST")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the form; store what was sent and show what became of it. Errors keep what was typed."""
    if request.method != "POST":
        return _form(request, actor, RememberForm(initial=FIRST_VALUES))
    form = RememberForm(request.POST)
    status = 422
    if form.is_valid():
        try:
            stored = remember(actor=actor, draft=form.draft())
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            _tell(request, stored)
            mark = "new" if stored.created else "again"
            return HttpResponseRedirect(f"{reverse('palace:memory', args=[stored.memory_id])}?stored={mark}")
    return _form(request, actor, form, status=status)


@person_page("GET", "HEAD", "POST")
def preview(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show what would be understood of a statement: beside the form while it is typed, or with the form as a page."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse("palace:remember"))
    form = RememberForm(request.POST)
    view: UnderstoodView | None = None
    problem, status = None, 200
    if is_partial(request) and is_blank(request.POST.get("content", "")):
        return render(request, "palace/remember/understood.html", {"partial": True})
    if not form.is_valid():
        status = 422
    else:
        try:
            view = understood_view(understand(actor=actor, draft=form.draft()), now())
        except LociError as error:
            problem = problem_of(error)
            status = problem.status
            add_to_form(form, error)
    if is_partial(request):
        context = {"understood": view, "problem": problem, "wrong": not form.is_valid(), "partial": True}
        return render(request, "palace/remember/understood.html", context)
    return _form(request, actor, form, status=status, understood=view, asked=True)


def _form(request: HttpRequest, actor: Actor, form: RememberForm, *, status: int = 200, **further: Any) -> HttpResponse:
    context = {"form": form, "fresh": request.method != "POST", **further, **surroundings(request, actor)}
    return render(request, "palace/remember/page.html", context, status=status)


def _tell(request: HttpRequest, stored: Stored) -> None:
    """Say what became of a statement, without its text: messages travel in a cookie."""
    if stored.created:
        messages.success(request, _("I remember this now. It can be found at once."))
    else:
        messages.info(request, _("I knew this already: it was noted once more, with its source, and counts as used."))
    if stored.vector_pending:
        messages.warning(request, _("Search by meaning is unavailable; this is found by words until it is back."))
    for note in stored.notes:
        messages.warning(request, _(note["message"]))
