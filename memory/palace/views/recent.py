"""The newest memories, filtered by a word: a part of every page, and a page of its own without scripts."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.palace.access import is_partial, person_page
from memory.palace.surroundings import MOST_FILTER_CHARACTERS, recent_cards, shown_until, surroundings
from memory.services.actors import Actor


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show those of the newest memories that hold the word and are of the category."""
    word = request.GET.get("recent", "")[:MOST_FILTER_CHARACTERS]
    category = request.GET.get("category", "")[:MOST_FILTER_CHARACTERS]
    if is_partial(request):
        after = shown_until()
        context = {
            "recent": recent_cards(actor, word, category),
            "recent_word": word,
            "recent_category": category,
            "recent_after": after,
            "partial": True,
        }
        return render(request, "palace/parts/recent_list.html", context)
    context = surroundings(request, actor)
    context |= {"recent": recent_cards(actor, word, category), "recent_word": word, "recent_category": category}
    return render(request, "palace/recent.html", context)
