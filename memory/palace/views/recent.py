"""The newest memories, filtered by a word: a part of every page, and a page of its own without scripts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.palace.access import is_partial, person_page
from memory.palace.surroundings import MOST_FILTER_CHARACTERS, recent_cards, surroundings
from memory.services.actors import Actor


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show those of the newest memories that hold the word."""
    word = request.GET.get("recent", "")[:MOST_FILTER_CHARACTERS]
    if is_partial(request):
        context = {"recent": recent_cards(actor, word), "recent_word": word, "partial": True}
        return render(request, "palace/parts/recent_list.html", context)
    context = surroundings(request, actor)
    context |= {"recent": recent_cards(actor, word), "recent_word": word}
    return render(request, "palace/recent.html", context)
