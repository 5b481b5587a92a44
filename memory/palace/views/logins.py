"""The person's own login: its browsers, and another password."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy
from django.utils.translation import ngettext

from memory.errors import LociError
from memory.palace.access import person_page
from memory.palace.dates import moment, optional_moment
from memory.palace.errors import add_to_form, problem_of
from memory.palace.forms import PlainText
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.browser_sessions import change_own_password, end_other_sessions, end_session, list_sessions
from memory.services.clock import now


class PasswordForm(forms.Form):
    """The present password, and the new one twice."""

    password = PlainText(
        label=lazy("Your password now"),
        error_messages={"required": lazy("Type your password. Nothing was changed.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )
    new = PlainText(
        label=lazy("The new password"),
        error_messages={"required": lazy("Type the new password.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text=lazy("Several words are long enough and can be remembered."),
    )
    again = PlainText(
        label=lazy("The new password once more"),
        required=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )

    def clean(self) -> dict[str, Any]:
        """Check that both new ones are the same."""
        values: dict[str, Any] = super().clean() or {}
        if "new" in values and values["new"] != values.get("again", ""):
            self.add_error("again", _("This is another password than the first one."))
        return values


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the login and its browsers."""
    return _page(request, actor, PasswordForm())


@person_page("POST")
def password(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Give the login another password."""
    form, status = PasswordForm(request.POST), 422
    if form.is_valid():
        typed = form.cleaned_data
        try:
            change_own_password(actor=actor, password=typed["password"], new=typed["new"], request=request)
        except LociError as error:
            if error.machine_code == "auth.password_wrong":
                form.add_error("password", _("The password is wrong. Nothing was changed."))
            else:
                add_to_form(form, error)
            status = problem_of(error).status
        else:
            messages.success(request, _("The password is changed. All other browsers are logged out."))
            return HttpResponseRedirect(reverse("palace:account"))
    return _page(request, actor, form, status=status)


@person_page("POST")
def end(request: HttpRequest, actor: Actor) -> HttpResponse:
    """End one of the other browsers, or all of them."""
    chosen = request.POST.get("session", "")
    if chosen:
        end_session(actor=actor, session_id=chosen, request=request)
        messages.success(request, _("That browser is logged out."))
    else:
        ended = end_other_sessions(actor=actor, request=request)
        words = ngettext("%(count)d other browser was logged out.", "%(count)d other browsers were logged out.", ended)
        messages.success(request, words % {"count": ended})
    return HttpResponseRedirect(reverse("palace:account"))


def _page(request: HttpRequest, actor: Actor, form: PasswordForm, *, status: int = 200) -> HttpResponse:
    current = now()
    sessions = [
        {
            "id": one.id,
            "browser": one.browser or _("a browser that does not say its name"),
            "begun": optional_moment(one.begun_at, current),
            "ends": moment(one.ends_at, current),
            "current": one.current,
        }
        for one in list_sessions(actor=actor, request=request)
    ]
    context = {"form": form, "sessions": sessions, "others": len(sessions) > 1, **surroundings(request, actor)}
    return render(request, "palace/account/page.html", context, status=status)
