"""One memory: its page, its correction, and what can be done with it."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import Conflict, LociError
from memory.models import Memory, Status
from memory.palace.access import in_drawer, is_partial, person_page, place_of, safe_next
from memory.palace.covering import is_covered
from memory.palace.errors import add_to_form, problem_of
from memory.palace.forms import CorrectForm
from memory.palace.memory_page import PREVIEWED, memory_context
from memory.palace.presenters import Card, card
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.changes import change_memory
from memory.services.clock import now
from memory.services.memories import get_memory
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from memory.services.revealing import EDITED
from memory.services.revealing import reveal as reveal_memory

SIMILAR: Final = 3
ASKED_CHARACTERS: Final = 1_000


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Show everything that is known about a memory, with personal data masked."""
    return _page(request, actor, get_memory(actor=actor, memory_id=memory_id))


@person_page("GET", "HEAD", "POST")
def reveal(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Show a memory without masks, this once: its page, or only its text where a list asks for that part.

    Only a form reveals. Whoever comes by the address alone, as after a login or by going back, is led to the page.
    """
    if request.method != "POST":
        return HttpResponseRedirect(reverse("palace:memory", args=[memory_id]))
    row = reveal_memory(actor=actor, memory_id=memory_id)
    if is_partial(request) and not in_drawer(request):
        return render(request, "palace/memory/revealed.html", {"memory": row})
    return _page(request, actor, row, revealed=True)


def _page(request: HttpRequest, actor: Actor, row: Memory, *, revealed: bool = False) -> HttpResponse:
    moment = now()
    context = memory_context(actor, row, now=moment, revealed=revealed)
    if "stored" in request.GET and row.status == Status.LIVE:
        context["similar"] = _similar(actor, row)
    if row.erase_at is not None:
        context["undo_seconds"] = max(0, round((row.erase_at - moment).total_seconds()))
    return shown(request, actor, "page", context)


@person_page("GET", "HEAD", "POST")
def edit(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Show the form of a memory; keep what was changed as a new version.

    The form shows what other pages mask, and that is recorded as every revealing is.
    When somebody else changed the memory meanwhile, the form comes back with what was typed, beside what is stored.
    """
    row = get_memory(actor=actor, memory_id=memory_id)
    if request.method != "POST":
        return _edit_form(request, actor, row, CorrectForm(row, place=place_of(request)))
    form = CorrectForm(row, request.POST, place=place_of(request))
    status = 422
    if form.is_valid():
        changes = form.changes()
        if not changes and form.cleaned_data["version"] == row.version:
            messages.info(request, _("Nothing was different, so nothing was changed."))
            return to_page(row.pk)
        try:
            change_memory(actor=actor, memory_id=row.pk, changes=changes, version=form.cleaned_data["version"])
        except Conflict as error:
            add_to_form(form, error)
            newer = get_memory(actor=actor, memory_id=row.pk)
            return _edit_form(request, actor, newer, form, status=error.status)
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            messages.success(request, _("Changed. What it said before stands in its history."))
            return to_page(row.pk)
    return _edit_form(request, actor, row, form, status=status)


@person_page("POST")
def archive(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Take a memory out of every search."""
    archive_memory(actor=actor, memory_id=memory_id, reason="archived by person")
    messages.success(request, _("Archived. No search finds it any more; you can restore it at any time."))
    return to_page(memory_id)


@person_page("POST")
def restore(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Bring a memory back from the archive, or undo that it is being forgotten."""
    restore_memory(actor=actor, memory_id=memory_id)
    messages.success(request, _("It is back, and searches find it again."))
    return HttpResponseRedirect(safe_next(request, reverse("palace:memory", args=[memory_id])))


@person_page("POST")
def forget(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Erase a memory after ten seconds, in which this can be undone on its page."""
    delete_memory(actor=actor, memory_id=memory_id)
    return to_page(memory_id)


def shown(request: HttpRequest, actor: Actor, name: str, context: dict[str, Any], *, status: int = 200) -> HttpResponse:
    """Show a page of a memory, or its main part where only that is asked for, as the drawer does."""
    if is_partial(request):
        context["place"] = place_of(request)
        return render(request, f"palace/memory/{name}_part.html", context, status=status)
    context |= {"place": place_of(request), **surroundings(request, actor)}
    return render(request, f"palace/memory/{name}.html", context, status=status)


def to_page(memory_id: UUID) -> HttpResponse:
    """Lead to the page of a memory; the drawer follows and shows its main part."""
    return HttpResponseRedirect(reverse("palace:memory", args=[memory_id]))


def _similar(actor: Actor, row: Memory) -> list[Card]:
    """Give the memories closest to one just stored, so that a person sees near duplicates."""
    request = RecallRequest(query=row.text[:ASKED_CHARACTERS], limit=SIMILAR + 1, reinforce=False, record=False)
    moment = now()
    found = [hit.memory for hit in recall(actor=actor, request=request).hits if hit.memory.pk != row.pk]
    return [card(memory, moment, characters=PREVIEWED) for memory in found[:SIMILAR]]


def _edit_form(
    request: HttpRequest, actor: Actor, row: Memory, form: CorrectForm, *, status: int = 200
) -> HttpResponse:
    """Show the form; where it was made from an older version, beside what is stored now, so that it can replace it."""
    if is_covered(row):
        reveal_memory(actor=actor, memory_id=row.pk, reason=EDITED)
    made_from = form.data.get("version", str(row.version)) if form.is_bound else str(row.version)
    context = {
        "form": form,
        "memory_id": row.pk,
        "kind": row.kind,
        "version": row.version,
        "stored_text": row.text if made_from != str(row.version) else "",
    }
    return shown(request, actor, "edit", context, status=status)
