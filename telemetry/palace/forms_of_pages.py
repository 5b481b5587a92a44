"""Addresses that take a form of a page and show nothing of their own."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import cast

from django.http import HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse

from memory.palace.access import P, Page, PersonPage, person_page
from memory.services.actors import Actor


def form_of(page: str) -> Callable[[PersonPage[P]], Page[P]]:
    """Make a view for a form of a page: by POST it gets the form, by GET it leads to the page, with the same query.

    A refused form is shown again under this address, from where people load the page again, or come back to it after
    they have logged in.

    Args:
        page: the name of the page that the form stands on.
    """

    def decorate(view: PersonPage[P]) -> Page[P]:
        @wraps(view)
        def inner(request: HttpRequest, actor: Actor, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if request.method == "POST":
                return view(request, actor, *args, **kwargs)
            query = request.META.get("QUERY_STRING", "")
            return HttpResponseRedirect(f"{reverse(page)}?{query}" if query else reverse(page))

        return person_page("GET", "HEAD", "POST")(cast("PersonPage[P]", inner))

    return decorate
