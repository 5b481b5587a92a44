"""The archive: what no search finds any more, and the way back."""

from __future__ import annotations

from datetime import datetime
from typing import Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.errors import InvalidInput
from memory.models import Memory, Status
from memory.palace.access import person_page
from memory.palace.presenters import card
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.memories import ListRequest, list_memories
from memory.text.limits import checked_moment

PAGE_ROWS: Final = 50
PREVIEW_CHARACTERS: Final = 140


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List archived memories and those that are being forgotten, newest first."""
    rows = list_memories(
        actor=actor,
        request=ListRequest(statuses=(Status.ARCHIVED, Status.ERASING)),
        after=_place(request.GET.get("after", "")),
        size=PAGE_ROWS + 1,
    )
    moment = now()
    shown = rows[:PAGE_ROWS]
    context = {
        "rows": [card(row, moment, characters=PREVIEW_CHARACTERS) for row in shown],
        "next_place": _written_place(shown[-1]) if len(rows) > PAGE_ROWS else "",
        "further": "after" in request.GET,
        **surroundings(request, actor),
    }
    return render(request, "palace/archive.html", context)


def _written_place(row: Memory) -> str:
    return f"{row.created_at.isoformat()}_{row.pk}"


def _place(written: str) -> tuple[datetime, UUID] | None:
    if not written:
        return None
    written_moment, _, memory_id = written.partition("_")
    try:
        created, row_id = datetime.fromisoformat(written_moment), UUID(memory_id)
        if created.tzinfo is None:
            raise ValueError
        return checked_moment(created), row_id
    except (ValueError, InvalidInput) as error:
        raise InvalidInput(
            "This page of the archive does not exist. Begin with its first page.", code="cursor.invalid"
        ) from error
