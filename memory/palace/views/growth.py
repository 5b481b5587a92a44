"""How the memories have grown."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.palace.access import person_page
from memory.palace.growth_view import growth_view
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.growth import growth


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Draw the number of memories by week."""
    context = {"growth": growth_view(growth(actor=actor)), **surroundings(request, actor)}
    return render(request, "palace/archive/growth.html", context)
