"""The archive: what no search finds any more, and the way back."""

from __future__ import annotations

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.models import Status
from memory.palace.access import person_page
from memory.palace.places import place_of, written_place
from memory.palace.presenters import card
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.memories import ListRequest, list_memories

PAGE_ROWS: Final = 50
PREVIEW_CHARACTERS: Final = 140


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List archived memories and those that are being forgotten, newest first."""
    rows = list_memories(
        actor=actor,
        request=ListRequest(statuses=(Status.ARCHIVED, Status.ERASING)),
        after=place_of(request.GET.get("after", "")),
        size=PAGE_ROWS + 1,
    )
    moment = now()
    shown = rows[:PAGE_ROWS]
    context = {
        "rows": [card(row, moment, characters=PREVIEW_CHARACTERS) for row in shown],
        "next_place": written_place(shown[-1].created_at, shown[-1].pk) if len(rows) > PAGE_ROWS else "",
        "further": "after" in request.GET,
        **surroundings(request, actor),
    }
    return render(request, "palace/archive.html", context)
