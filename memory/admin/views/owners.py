"""Choosing whose rows the admin shows, and how much each owner stores."""

from __future__ import annotations

from typing import Any, Final, cast

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.admin import columns
from memory.admin.access import OWN, staff_page
from memory.admin.lists import uuid_in
from memory.admin.owner_choice import choose, find_owners, may_choose, require_chooser
from memory.admin.views.frame import page
from memory.errors import InvalidInput
from memory.models import User
from memory.palace.access import is_partial
from memory.palace.numbers import local, whole
from memory.services import storage as stores
from memory.services.actors import Actor
from memory.services.storage import Stored, largest_of_storage, page_of_storage, storage_of

MOST_PAGES: Final = 100_000
LONGEST_NUMBER: Final = 9
LARGEST: Final = 5


@staff_page("GET", "HEAD", "POST")
def owners(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Find owners, and choose whose rows are shown from now on."""
    require_chooser(request)
    if request.method == "POST":
        owner_id = uuid_in(request.POST.get("chosen", ""))
        if owner_id is None:
            raise InvalidInput(_("Choose an owner. Nothing was changed."), code="rows.invalid")
        choose(request, own=getattr(request, OWN), owner_id=owner_id)
        return HttpResponseRedirect(reverse("admin:index"))
    query = request.GET.get("q", "")
    found = [
        {**one, "made": columns.when(one["created_at"]), "chosen": one["id"] == actor.owner_id}
        for one in find_owners(query)
    ]
    return page(request, "owners", _("Choose an owner"), {"query": query, "found": found})


@staff_page("POST")
def own(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Go back to the person's own owner."""
    choose(request, own=getattr(request, OWN), owner_id=getattr(request, OWN))
    messages.success(request, _("You see your own owner again."))
    return HttpResponseRedirect(reverse("admin:index"))


@staff_page("GET", "HEAD")
def storage(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show how many rows each owner has, and about how many bytes."""
    require_chooser(request)
    written = request.GET.get("page", "")[:LONGEST_NUMBER]
    number = min(MOST_PAGES, max(1, int(written) if written.isdecimal() else 1))
    rows, more = page_of_storage(page=number)
    context = {
        "lines": [_line(row) for row in rows],
        "before": str(number - 1) if number > 1 else "",
        "after": str(number + 1) if more else "",
    }
    return page(request, "storage", _("Storage"), context)


@staff_page("GET", "HEAD")
def largest(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show, as a part of the front page, who stores the most; whoever may look at the own owner only sees that one."""
    if not is_partial(request):
        return HttpResponseRedirect(reverse("admin:index"))
    everything = may_choose(cast("User", request.user))
    rows, more = largest_of_storage(most=LARGEST) if everything else (storage_of([actor.owner_id]), False)
    context = {"lines": [_line(row) for row in rows], "among": whole(stores.LARGEST_AMONG) if more else ""}
    return render(request, "admin/parts/largest.html", context)


def _line(row: Stored) -> dict[str, Any]:
    return {
        "login": row.login or columns.NOTHING,
        "owner": str(row.owner_id),
        "numbers": [_number(one) for one in (row.memories, row.vectors, row.sessions)],
        "size": columns.NOTHING if row.size is None else local(f"{row.size / 1_000_000:,.1f} MB"),
    }


def _number(value: int | None) -> str:
    return columns.NOTHING if value is None else whole(value)
