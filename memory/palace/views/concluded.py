"""What was concluded: insights, patterns, reflections and summaries that stand, newest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.errors import InvalidInput
from memory.models import Kind
from memory.palace.access import person_page
from memory.palace.places import place_of, written_place
from memory.palace.presenters import card
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.consolidation.made import CONCLUDED, list_concluded

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PAGE_ROWS: Final = 30
PREVIEW_CHARACTERS: Final = 280
KINDS: Final[dict[str, StrOrPromise]] = {
    Kind.INSIGHT: lazy("Insights"),
    Kind.PATTERN: lazy("Patterns"),
    Kind.REFLECTION: lazy("Reflections"),
    Kind.SUMMARY: lazy("Summaries"),
}


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List what was concluded, all of it or of one kind."""
    kind = request.GET.get("kind", "")
    if kind and kind not in CONCLUDED:
        raise InvalidInput(_("Choose one of the kinds in the list."), code="kind.invalid", field="kind")
    after = place_of(request.GET.get("after", ""))
    rows, counts = list_concluded(actor=actor, kinds=[kind] if kind else [], after=after, size=PAGE_ROWS + 1)
    shown, moment = rows[:PAGE_ROWS], now()
    context = {
        "rows": [card(row, moment, characters=PREVIEW_CHARACTERS) for row in shown],
        "kind": kind,
        "kinds": [(name, str(words), counts.get(name, 0)) for name, words in KINDS.items()],
        "total": sum(counts.values()),
        "next_place": written_place(shown[-1].created_at, shown[-1].pk) if len(rows) > PAGE_ROWS else "",
        "further": after is not None,
        **surroundings(request, actor),
    }
    return render(request, "palace/consolidation/concluded.html", context)
