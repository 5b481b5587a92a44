"""Who may see a page of the palace: a person with an owner; and what every answer carries."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, Final, ParamSpec, cast
from urllib.parse import unquote, urlsplit

from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import resolve_url
from django.urls import Resolver404, resolve
from django.utils.cache import add_never_cache_headers, patch_vary_headers
from django.utils.encoding import iri_to_uri
from django.utils.http import MAX_URL_LENGTH, url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.http import require_http_methods
from django_htmx.http import HttpResponseClientRedirect

from memory.errors import LociError
from memory.models import User
from memory.palace.errors import error_response
from memory.services.accounts import owner_of
from memory.services.actors import Actor, person

P = ParamSpec("P")
Page = Callable[Concatenate[HttpRequest, P], HttpResponseBase]
PersonPage = Callable[Concatenate[HttpRequest, Actor, P], HttpResponseBase]

TAKES: Final = "takes_methods"
"""The attribute of a view of ours that holds the HTTP methods that it takes."""


def person_page(*methods: str) -> Callable[[PersonPage[P]], Page[P]]:
    """Make a view for a logged-in person: it gets the owner's actor, and its domain errors become pages.

    Args:
        methods: the HTTP methods that the view takes; others are answered with 405.
    """

    def decorate(view: PersonPage[P]) -> Page[P]:
        @wraps(view)
        def inner(request: HttpRequest, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if not isinstance(request.user, User):
                return _never_kept(_to_login(request))
            try:
                response: HttpResponseBase = view(request, person(owner_of(request.user).pk), *args, **kwargs)
            except LociError as error:
                response = error_response(request, error)
            return _never_kept(response)

        setattr(inner, TAKES, frozenset(methods))
        return cast("Page[P]", require_http_methods(list(methods))(inner))

    return decorate


def _never_kept(response: HttpResponseBase) -> HttpResponseBase:
    """Forbid browsers and proxies to keep a page that shows memories."""
    add_never_cache_headers(response)
    patch_vary_headers(response, ("HX-Request", "Cookie"))
    return response


def to_login(address: str) -> HttpResponse:
    """Lead to the login, which leads back to an address; to its path only where the whole is too long for that."""
    return redirect_to_login(_way_back(address))


def _way_back(address: str) -> str:
    address = page_above(address)
    # Of a longer one the login would take no notice, and one that is longer still cannot be led to at all.
    found = (one for one in (address, address.partition("?")[0]) if len(iri_to_uri(one)) <= MAX_URL_LENGTH)
    return next(found, "/")


def page_above(address: str) -> str:
    """Give an address of this server as it is, and for one that takes forms only the nearest page above it.

    Whoever is led there comes with GET, as after a login or with another language, and would see an empty refusal.
    """
    path = address.partition("?")[0]
    if _takes_get(path) is not False:
        return address
    while len(path) > 1:
        path = path[: path.rstrip("/").rfind("/") + 1]
        if _takes_get(path):
            return path
    return "/"


def _takes_get(path: str) -> bool | None:
    """Tell whether an address shows a page; None where there is none, or none of ours."""
    try:
        methods: frozenset[str] | None = getattr(resolve(unquote(path)).func, TAKES, None)
    except Resolver404:
        return None
    return None if methods is None else "GET" in methods


def _to_login(request: HttpRequest) -> HttpResponse:
    if not is_partial(request):
        return to_login(request.get_full_path())
    # The part would be put into the page, so the browser is told to leave the page instead.
    login = resolve_url("palace:login")
    back = _way_back(page_of(request))
    return HttpResponseClientRedirect(f"{login}?{urlencode({'next': back})}")


def page_of(request: HttpRequest) -> str:
    """Give the address of the page that a part is asked for, without its server; the first page where none is named."""
    return _path_of(request.headers.get("HX-Current-URL", ""))


def _path_of(address: str) -> str:
    """Give an address without its server; the first page for anything that is no address."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "/"
    return f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"


def is_partial(request: HttpRequest) -> bool:
    """Tell whether only a part of a page is asked for, and not the page that the browser's history brings back."""
    return "HX-Request" in request.headers and request.headers.get("HX-History-Restore-Request") != "true"


def in_drawer(request: HttpRequest) -> bool:
    """Tell whether the drawer asks, which shows a memory beside the page that lists it."""
    return is_partial(request) and request.headers.get("HX-Target") == "drawer"


def place_of(request: HttpRequest) -> str:
    """Say where an answer is shown, so that ids within a part of a page differ from those of the page around it."""
    return "drawer" if is_partial(request) else "page"


def safe_next(request: HttpRequest, default: str) -> str:
    """Give the address of this server that a form names as the next page, else the default.

    Only whole addresses, from the first slash: what is none would lead on from the address of the form, where no page
    is. In place of an address that takes forms only, as a page that refused one has, comes the page above it.
    """
    wanted: Any = request.POST.get("next", "")
    if wanted.startswith("/") and url_has_allowed_host_and_scheme(
        wanted, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    ):
        return page_above(str(wanted))
    return resolve_url(default)
