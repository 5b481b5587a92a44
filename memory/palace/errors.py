"""The one place where domain errors become what a person reads: a sentence, what to do, a page or a message."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from memory.errors import LociError
from memory.palace.sentences import said
from memory.ports.request_id import current_request_id

ADVICE: Final = {
    "account.no_owner": _("Ask whoever runs this server to join an owner to your login, or log in with another name."),
    "account.no_staff": _("Ask whoever runs this server, or go on in the palace."),
    "memory.disabled": _("Ask whoever runs this server to set MEMORY_ENABLED=true and start it again."),
    "keys.unavailable": _(
        "Ask whoever runs this server to type `manage.py doctor`; it says what is wrong with the keys."
    ),
    "memory.version": _("Compare what is stored now with your text below, then save again."),
    "memory.duplicate": _("Open the other memory, or change the text so that it says something else."),
    "memory.not_live": _("Restore the memory, then change it."),
    "profile.unknown": _("Choose one of the profiles in the list."),
    "category.unknown": _("Choose one of the categories in the list."),
    "kind.invalid": _("Choose one of the kinds in the list."),
    "limit.out_of_range": _("Choose how many you want to see with the field below the search box."),
    "threshold.out_of_range": _("Choose a number of percent between 0 and 100."),
    "filter.invalid": _("Take this filter away, or add it again with another value."),
    "profile.invalid": _("Move the slider again, or choose another profile."),
    "date.invalid": _("Choose a day with the field, or write it as year, month and day: 2026-01-31."),
    "query.too_long": _("Ask with a few words or one sentence."),
    "budget.exceeded": _("Raise the budget under Telemetry, Costs, or wait until its day or month is over."),
    "queue.unavailable": _("Try again once the check of Redis is well; `manage.py doctor` says what is wrong with it."),
    "embedder.unavailable": _("Nothing is lost. Try again in a moment, or search by words."),
}
NOT_FOUND_ADVICE: Final = _("It may have been forgotten, or the address is not complete. Search for it by its words.")

# To the services a login without an owner is a thing not found; to the person at the screen it is a closed door.
STATUSES: Final = {"account.no_owner": 403}

# The services name inputs as the API does; forms name two of them as people do.
FIELD_NAMES: Final = {"text": "content"}


@dataclass(frozen=True, slots=True)
class Problem:
    """An error as it is shown: what happened, what to do, the code to look it up by, and the id that the log has."""

    message: str
    advice: str
    code: str
    status: int
    request_id: str = ""


def problem_of(error: LociError) -> Problem:
    """Turn a domain error into what is shown."""
    advice = ADVICE.get(error.machine_code, NOT_FOUND_ADVICE if error.status == 404 else "")
    return Problem(
        said(error.message),
        str(advice),
        error.machine_code,
        STATUSES.get(error.machine_code, error.status),
        current_request_id(),
    )


def error_response(request: HttpRequest, error: LociError) -> HttpResponse:
    """Answer with a page that shows the error, or with the bare message where only a part of a page was asked for."""
    template = "palace/parts/problem.html" if request.headers.get("HX-Request") else "palace/problem.html"
    problem = problem_of(error)
    response = render(request, template, {"problem": problem}, status=problem.status)
    if "retry_after" in error.details:
        response["Retry-After"] = str(error.details["retry_after"])
    return response


def add_to_form(form: forms.Form, error: LociError) -> None:
    """Put a domain error beside the field that it names, or above the form when it names none."""
    name = str(error.details.get("field", ""))
    name = FIELD_NAMES.get(name, name)
    problem = problem_of(error)
    # Beside its field a sentence need not name it as the API does.
    named, this = f"'{error.details.get('field', '')}'", gettext("this field")
    message = problem.message.replace(named, this)
    sentence = f"{message[:1].upper()}{message[1:]} {problem.advice}".strip()
    form.add_error(name if name in form.fields else None, forms.ValidationError(sentence, code=problem.code))
