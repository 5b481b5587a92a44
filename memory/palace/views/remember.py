"""The form for remembering something by hand."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from memory.errors import LociError
from memory.palace.access import person_page
from memory.palace.errors import add_to_form, problem_of
from memory.palace.forms import RememberForm
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.remember import Stored, remember

FIRST_VALUES = {"category": "general", "kind": "note", "importance": 5}


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


def _form(request: HttpRequest, actor: Actor, form: RememberForm, *, status: int = 200) -> HttpResponse:
    context = {"form": form, **surroundings(request, actor)}
    return render(request, "palace/remember.html", context, status=status)


def _tell(request: HttpRequest, stored: Stored) -> None:
    """Say what became of a statement, without its text: messages travel in a cookie."""
    if stored.created:
        messages.success(request, "I remember this now. It can be found at once.")
    else:
        messages.info(request, "I knew this already: it was noted once more, with its source, and counts as used.")
    if stored.vector_pending:
        messages.warning(request, "Search by meaning is unavailable; this is found by words until it is back.")
    for note in stored.notes:
        messages.warning(request, note["message"])
