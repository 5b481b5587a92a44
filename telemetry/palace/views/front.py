"""The way to the first page of telemetry."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from memory.palace.access import person_page
from memory.services.actors import Actor
from telemetry.palace.tabs import TABS


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Lead to the page of the first tab."""
    return HttpResponseRedirect(reverse(TABS[0].page))
