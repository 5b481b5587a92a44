"""Every error as `application/problem+json` (RFC 9457): what happened, what was kept, what to do."""

from __future__ import annotations

import logging
import math
import re
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any, Final
from uuid import uuid4

from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.db import InterfaceError, OperationalError
from django.http import Http404, UnreadablePostError
from rest_framework import exceptions
from rest_framework.response import Response

from memory.api.actions import action_of
from memory.api.authentication import REALM
from memory.errors import DatabaseUnavailable, LociError, RateLimited, StatementTimeout
from memory.ports.request_id import current_request_id
from memory.ports.statement_limits import was_cut_off

logger = logging.getLogger(__name__)

MEDIA_TYPE: Final = "application/problem+json"
RESERVED: Final = frozenset({"type", "title", "status", "detail", "code"})
MOST_ERRORS: Final = 50
CUT_OFF_WAIT: Final = 5
UNAVAILABLE_WAIT: Final = 2
# A request refused with one of these was refused as a whole, for what it sent.
REFUSED_AS_SENT: Final = frozenset({400, 413, 415, 422})
# How a message says by itself what was not done.
SAYS_WHAT_WAS_KEPT: Final = re.compile(r"\bNothing (?:of (?:\w+ )+)?was\b")

# What Django REST framework's own codes of single fields become; the rest is `field.type`.
FIELD_CODES: Final[Mapping[str, str]] = {
    "required": "field.required",
    "null": "field.null",
    "min_value": "{name}.out_of_range",
    "max_value": "{name}.out_of_range",
    "invalid_choice": "{name}.invalid",
    "max_length": "{name}.too_many",
    "empty": "{name}.too_few",
    "min_length": "{name}.too_few",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """One error on its way to the caller."""

    status: int
    code: str
    detail: str
    members: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


def problem_response(error: Exception, context: Mapping[str, Any] | None = None) -> Response:
    """Answer an exception of a view; what nobody raised on purpose is logged under an id, without content."""
    view = (context or {}).get("view")
    problem = _naming_media_types(problem_of(error), getattr(view, "parser_classes", ()))
    return as_response(_saying_what_was_kept(problem, context or {}))


def _naming_media_types(problem: Problem, parsers: Sequence[Any]) -> Problem:
    """Name the types of body that the view takes, where another one came."""
    if problem.status != HTTPStatus.UNSUPPORTED_MEDIA_TYPE or not parsers:
        return problem
    types = " or ".join(parser.media_type for parser in parsers)
    return replace(problem, detail=f"The body has to be sent as {types}.")


def _saying_what_was_kept(problem: Problem, context: Mapping[str, Any]) -> Problem:
    """Add that nothing was kept to what is told of a write that was refused for what it sent, unless that is told."""
    method, view = getattr(context.get("request"), "method", None), context.get("view")
    action = action_of(view, method) if view is not None else None
    if action is None or action.rate != "write" or problem.status not in REFUSED_AS_SENT:
        return problem
    if SAYS_WHAT_WAS_KEPT.search(problem.detail):
        return problem
    kept = "Nothing was changed." if method in ("PATCH", "DELETE") else "Nothing was stored."
    return replace(problem, detail=f"{problem.detail} {kept}")


def as_response(problem: Problem) -> Response:
    """Turn a problem into a response."""
    headers = dict(problem.headers)
    if problem.status == HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = REALM
    return Response(problem_body(problem), status=problem.status, headers=headers, content_type=MEDIA_TYPE)


def problem_body(problem: Problem) -> dict[str, Any]:
    """Give the members of a problem, readable by every JSON parser."""
    body: dict[str, Any] = {
        "type": f"urn:loci:problem:{problem.code}",
        "title": HTTPStatus(problem.status).phrase,
        "status": problem.status,
        "detail": problem.detail,
        "code": problem.code,
    }
    body.update((name, value) for name, value in problem.members.items() if name not in RESERVED)
    cleaned: dict[str, Any] = _whole_characters(body)
    return cleaned


def problem_of(error: Exception) -> Problem:
    """Find the status, code and words of an exception."""
    if isinstance(error, LociError):
        return _own(error)
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    return _of_django(error) or _unexpected(error)


def item_error(error: Exception) -> dict[str, Any]:
    """Describe the error of one item of several, in the members of a problem."""
    body = problem_body(problem_of(error))
    del body["type"], body["title"]
    return body


def _own(error: LociError) -> Problem:
    if error.status == HTTPStatus.INTERNAL_SERVER_ERROR:
        return _unexpected(error)
    headers = {"Retry-After": "1"} if error.machine_code == "idempotency.in_progress" else {}
    if "retry_after" in error.details:
        headers["Retry-After"] = str(error.details["retry_after"])
    return Problem(error.status, error.machine_code, error.message, error.details, headers)


def _of_framework(error: exceptions.APIException) -> Problem:
    if isinstance(error, exceptions.ValidationError):
        return _invalid(error)
    status = error.status_code
    if isinstance(error, exceptions.Throttled):
        wait = math.ceil(getattr(error, "wait", None) or 1)
        message = f"Too many requests in a short time. Wait {wait} seconds and try again."
        return _own(RateLimited(message, retry_after=wait))
    known = {
        HTTPStatus.BAD_REQUEST: ("json.malformed", "The body cannot be parsed."),
        HTTPStatus.UNAUTHORIZED: ("auth.required", "No valid agent key or session came with the request."),
        HTTPStatus.FORBIDDEN: ("auth.forbidden", "The key or login lacks the permission for this."),
        HTTPStatus.NOT_FOUND: ("not_found", "There is nothing here."),
        HTTPStatus.METHOD_NOT_ALLOWED: ("method.not_allowed", "This address does not take this method."),
        HTTPStatus.NOT_ACCEPTABLE: ("accept.unsupported", "The answer is only available as application/json."),
        HTTPStatus.UNSUPPORTED_MEDIA_TYPE: (
            "content_type.unsupported",
            "The body has to be sent as application/json.",
        ),
    }
    code, detail = known.get(HTTPStatus(status), ("request.refused", "The request was refused."))
    given = error.get_codes()
    if isinstance(given, str) and "." in given:
        return Problem(status, given, str(error.detail))
    return Problem(status, code, detail)


def _of_django(error: Exception) -> Problem | None:
    if isinstance(error, Http404):
        return Problem(404, "not_found", "There is nothing here.")
    if isinstance(error, PermissionDenied):
        return Problem(403, "auth.forbidden", "The key or login lacks the permission for this.")
    if isinstance(error, ValidationError):
        return Problem(422, "input.invalid", "The request cannot be used as it stands.")
    if isinstance(error, RequestDataTooBig):
        return Problem(413, "body.too_large", "The body is larger than the limit.")
    if isinstance(error, SuspiciousOperation):
        return Problem(400, "request.refused", "The request was refused.")
    if isinstance(error, UnreadablePostError):
        return Problem(400, "body.unreadable", "The body ended before it was complete.")
    if was_cut_off(error):
        logger.error("a statement of a request took longer than DATABASE_STATEMENT_TIMEOUT and was cut off")
        return _own(StatementTimeout(retry_after=CUT_OFF_WAIT))
    if isinstance(error, OperationalError | InterfaceError):
        logger.error("the database failed a request: %s", type(error.__cause__ or error).__name__)
        return _own(DatabaseUnavailable(retry_after=UNAVAILABLE_WAIT))
    return None


def _unexpected(error: Exception) -> Problem:
    number = current_request_id() or uuid4().hex
    # Messages of exceptions can hold what somebody sent, so only the places and the class are logged.
    frames = "".join(traceback.format_tb(error.__traceback__))
    logger.error("request failed, id %s: %s\n%s", number, type(error).__name__, frames)
    return Problem(
        500,
        "internal",
        "Something went wrong on the server. It was logged under the id; what was stored before stays stored.",
        {"id": number},
    )


def _invalid(error: exceptions.ValidationError) -> Problem:
    found = [
        {"field": ".".join(path), "code": field_code(path, detail.code), "message": str(detail)}
        for path, detail in _single(error.detail, ())
    ]
    first = found[0] if found else {"field": "", "code": "input.invalid", "message": "The request cannot be used."}
    where = f"{first['field']}: " if first["field"] else ""
    return Problem(
        422,
        first["code"],
        where + first["message"],
        {"field": first["field"], "errors": found[:MOST_ERRORS]},
    )


def _single(detail: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            yield from _single(inner, path if name == "non_field_errors" else (*path, str(name)))
    elif isinstance(detail, list):
        for index, inner in enumerate(detail):
            yield from _single(inner, path if isinstance(inner, str) else (*path, str(index)))
    else:
        yield path, detail


def field_code(path: tuple[str, ...], code: str) -> str:
    """Give the machine code of a field's error from its path and the framework's code."""
    if "." in code:
        return code
    name = next((part for part in reversed(path) if not part.isdigit()), "body")
    return FIELD_CODES.get(code, "field.type").format(name=name)


def _whole_characters(value: Any) -> Any:
    """Replace halves of surrogate pairs, which may stand in echoed names and which no encoder takes."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, Mapping):
        return {_whole_characters(str(name)): _whole_characters(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_whole_characters(inner) for inner in value]
    return value
