"""The archive: what no search finds any more, the way back, and the way out for good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import InvalidInput
from memory.models import Kind, Status
from memory.palace.access import person_page
from memory.palace.places import place_of, written_place
from memory.palace.presenters import CATEGORY_CHOICES, KIND_CHOICES, card
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.bringing_back import restore_memories
from memory.services.clock import now
from memory.services.memories import ListRequest, list_memories
from memory.services.retirement import archive_memory, delete_memory

PAGE_ROWS: Final = 50
PREVIEW_CHARACTERS: Final = 140
CATEGORIES: Final = frozenset({"", *(name for name, _label in CATEGORY_CHOICES)})
KINDS: Final = frozenset({"", *Kind.values})


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List archived memories and those that are being forgotten, newest first."""
    chosen = _filters(request.GET)
    rows = list_memories(
        actor=actor,
        request=ListRequest(
            statuses=(Status.ARCHIVED, Status.ERASING),
            categories=(chosen["category"],) if chosen["category"] else (),
            kinds=(chosen["kind"],) if chosen["kind"] else (),
        ),
        after=place_of(request.GET.get("after", "")),
        size=PAGE_ROWS + 1,
    )
    moment = now()
    shown = rows[:PAGE_ROWS]
    context = {
        "rows": [card(row, moment, characters=PREVIEW_CHARACTERS) for row in shown],
        "next_place": written_place(shown[-1].created_at, shown[-1].pk) if len(rows) > PAGE_ROWS else "",
        "further": "after" in request.GET,
        "chosen": chosen,
        "filtered": any(chosen.values()),
        "query": urlencode({name: value for name, value in chosen.items() if value}),
        "categories": CATEGORY_CHOICES,
        "kinds": [*KIND_CHOICES, ("turn", _("turn"))],
        **_undoable(request),
        **surroundings(request, actor),
    }
    return render(request, "palace/archive/page.html", context)


@person_page("POST")
def many(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Restore, archive again or erase the memories that were chosen; what became of them can be undone on the page."""
    wanted, ids = request.POST.get("do", ""), _ids(request.POST.getlist("id"))
    if wanted not in ("restore", "erase", "archive"):
        raise InvalidInput("What to do is restore, erase or archive.", code="field.type", field="do")
    chosen = {name: value for name, value in _filters(request.POST).items() if value}
    if not ids:
        messages.warning(request, _("Nothing was chosen. Tick the memories first."))
    elif wanted == "restore":
        found = restore_memories(actor=actor, memory_ids=ids)
        refused = {str(one["id"]) for one in found.refused}
        chosen["back"] = ",".join(str(one) for one in ids if str(one) not in refused)
        for reason in dict.fromkeys(str(one["detail"]) for one in found.refused):
            messages.warning(request, _(reason))
    elif wanted == "erase":
        for memory_id in ids:
            delete_memory(actor=actor, memory_id=memory_id)
        chosen["gone"] = ",".join(map(str, ids))
    else:
        for memory_id in ids:
            archive_memory(actor=actor, memory_id=memory_id, reason="archived by person")
        told = ngettext("%(count)s memory is archived again.", "%(count)s memories are archived again.", len(ids))
        messages.success(request, told % {"count": len(ids)})
    address = reverse("palace:archive")
    return HttpResponseRedirect(f"{address}?{urlencode(chosen)}" if chosen else address)


def _filters(values: Any) -> dict[str, str]:
    """Read what the list is narrowed to; raises InvalidInput for a choice that there is not."""
    chosen = {name: values.get(name, "") for name in ("category", "kind")}
    if chosen["category"] not in CATEGORIES:
        raise InvalidInput("There is no such category.", code="category.unknown", field="category")
    if chosen["kind"] not in KINDS:
        raise InvalidInput("There is no such kind.", code="kind.invalid", field="kind")
    return chosen


def _ids(written: Sequence[str]) -> list[UUID]:
    """Read the ids that a form or an address names; raises InvalidInput."""
    if len(written) > PAGE_ROWS:
        raise InvalidInput(f"At most {PAGE_ROWS} at once.", code="batch.size", field="id")
    try:
        return [UUID(one) for one in dict.fromkeys(written)]
    except ValueError as error:
        raise InvalidInput("This is no id of a memory.", code="id.invalid", field="id") from error


def _undoable(request: HttpRequest) -> dict[str, Any]:
    """Give what was just done to several memories, as the address names it, so that it can be undone."""
    for name, undo in (("back", "archive"), ("gone", "restore")):
        ids = _ids([one for one in request.GET.get(name, "").split(",") if one])
        if ids:
            return {"done": name, "done_ids": [str(one) for one in ids], "undo": undo, "done_count": len(ids)}
    return {"done": ""}
