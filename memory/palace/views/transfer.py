"""Taking memories along and bringing them here."""

from __future__ import annotations

from typing import Any, cast

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.errors import LociError
from memory.palace.access import person_page
from memory.palace.errors import add_to_form, problem_of
from memory.palace.surroundings import surroundings
from memory.palace.taken_over import TakenOver, take_over
from memory.palace.transfer_forms import MOST_BYTES, ImportForm
from memory.services.actors import Actor


@person_page("GET", "HEAD", "POST")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Offer every form of taking memories along; take a file over and say what became of it, item by item."""
    if request.method != "POST":
        return _page(request, actor, ImportForm())
    form = ImportForm(request.POST, request.FILES)
    status = 422
    if form.is_valid():
        values = form.cleaned_data
        try:
            taken = take_over(
                actor=actor,
                file=cast("Any", values["file"]).file,
                most=MOST_BYTES,
                passphrase=values["passphrase"] or None,
                mode=values["mode"],
                settings=values["settings"],
            )
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            return _page(request, actor, ImportForm(), taken=taken)
    return _page(request, actor, form, status=status)


def _page(
    request: HttpRequest, actor: Actor, form: ImportForm, *, status: int = 200, taken: TakenOver | None = None
) -> HttpResponse:
    context = {"form": form, "taken": taken, **surroundings(request, actor)}
    return render(request, "palace/archive/transfer.html", context, status=status)
