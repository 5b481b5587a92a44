"""What is refused or passed over before Django itself looks at a request, where it would fail."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.core.exceptions import DisallowedHost
from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, JsonResponse
from django.template import loader
from django.utils.decorators import sync_and_async_middleware
from django.views import defaults

from memory.api.problems import MEDIA_TYPE, Problem, problem_body, problem_of
from memory.errors import StatementTimeout, UnknownHost
from memory.palace.errors import error_response
from memory.ports.statement_limits import statements_limited, was_cut_off
from memory.services.session_keys import is_session_key

API_PREFIX: Final = "/api/"
FORMS: Final = frozenset({"application/x-www-form-urlencoded", "multipart/form-data"})


@sync_and_async_middleware
def limited_statements(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make a middleware that limits how long each statement of a request may take, after DATABASE_STATEMENT_TIMEOUT."""
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponse:
            with statements_limited(settings.DATABASE_STATEMENT_TIMEOUT):
                answer: HttpResponse = await get_response(request)
                return answer

        return later

    def at_once(request: HttpRequest) -> HttpResponse:
        with statements_limited(settings.DATABASE_STATEMENT_TIMEOUT):
            answer: HttpResponse = get_response(request)
            return answer

    return at_once


@sync_and_async_middleware
def sound_requests(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make a middleware that drops session cookies of a foreign form and refuses forms that are not in UTF-8.

    Django raises an error for such a form whenever it is looked at, also while its own page for that error is made.
    It has to stand before everything that reads sessions or forms.
    """
    if iscoroutinefunction(get_response):

        async def later(request: HttpRequest) -> HttpResponse:
            answer: HttpResponse = _refused(request) or await get_response(request)
            return answer

        return later

    def at_once(request: HttpRequest) -> HttpResponse:
        answer: HttpResponse = _refused(request) or get_response(request)
        return answer

    return at_once


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Answer what a middleware refuses with an exception, such as a host that is not ours, in the form of its address.

    Django calls it, as `handler400` of the routes.
    """
    if not request.path_info.startswith(API_PREFIX):
        return defaults.bad_request(request, exception)
    if isinstance(exception, DisallowedHost):
        return _as_problem(problem_of(UnknownHost()))
    return _as_problem(Problem(400, "request.refused", "The request was refused. Nothing was stored."))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer what nobody caught: where the database failed, with that and when to try again, else as an error of ours.

    Django calls it, as `handler500` of the routes, while the error is handled.
    """
    error = sys.exc_info()[1]
    if not isinstance(error, OperationalError | InterfaceError):
        return defaults.server_error(request)
    problem = problem_of(error)
    if request.path_info.startswith(API_PREFIX):
        return _as_problem(problem)
    if was_cut_off(error):
        response = error_response(request, StatementTimeout())
    else:
        # Without the request: who is logged in stands in the database.
        response = HttpResponse(loader.render_to_string("503.html"), status=problem.status)
    for name, value in problem.headers.items():
        response[name] = value
    return response


def _refused(request: HttpRequest) -> HttpResponse | None:
    session = request.COOKIES.get(settings.SESSION_COOKIE_NAME)
    if session is not None and not is_session_key(session):
        del request.COOKIES[settings.SESSION_COOKIE_NAME]
    named = (request.content_params or {}).get("charset", "utf-8")
    if request.content_type not in FORMS or named.lower() == "utf-8":
        return None
    if request.path_info.startswith(API_PREFIX):
        return _as_problem(Problem(400, "request.refused", "A form has to be in UTF-8. Nothing was stored."))
    return HttpResponseBadRequest(loader.render_to_string("400.html"))


def _as_problem(problem: Problem) -> HttpResponse:
    return JsonResponse(problem_body(problem), status=problem.status, headers=problem.headers, content_type=MEDIA_TYPE)
