"""The language of pages: the one that a person has chosen, else one that the browser asks for, else English."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware

from config.middleware import API_PREFIX

HTML = "text/html"


@sync_and_async_middleware
def languages(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make a middleware that answers in the person's language and says which one that is.

    The interface for programs always answers in English, so that an answer does not depend on who asks. Static files
    are answered before, and so stay as they are.
    """
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponse:
            with translation.override(language_for(request)):
                return _marked(request, await get_response(request))

        return later

    def at_once(request: HttpRequest) -> HttpResponse:
        with translation.override(language_for(request)):
            return _marked(request, get_response(request))

    return at_once


def language_for(request: HttpRequest) -> str:
    """Give the language in which a request is answered, one of `LANGUAGES`."""
    if request.path_info.startswith(API_PREFIX):
        return settings.LANGUAGE_CODE
    return translation.get_language_from_request(request)


def _marked(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Say in which language a page is, and that another one may ask for it in another."""
    if request.path_info.startswith(API_PREFIX) or not response.get("Content-Type", "").startswith(HTML):
        return response
    response.headers.setdefault("Content-Language", translation.get_language() or settings.LANGUAGE_CODE)
    patch_vary_headers(response, ("Accept-Language", "Cookie"))
    return response
