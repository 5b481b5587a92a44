"""What the pages of the admin that are no lists of rows have in common."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _

from memory.admin.site import site
from memory.errors import LociError
from memory.models import User
from memory.palace.errors import add_to_form, problem_of
from memory.palace.forms import PlainText
from memory.services.reauthentication import confirm_login


class PasswordForm(forms.Form):
    """The password of whoever asks, once more."""

    password = PlainText(
        label=_("Your password"),
        error_messages={"required": _("Type your password. Nothing was changed.")},
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
        help_text=_("So that nobody else can do this at an unlocked screen."),
    )

    def confirm(self, request: HttpRequest) -> None:
        """Check the password that was typed; raises PermissionRefused or RateLimited."""
        confirm_login(user=cast("User", request.user), password=self.cleaned_data["password"], request=request)


def page(request: HttpRequest, template: str, title: Any, context: dict[str, Any], status: int = 200) -> HttpResponse:
    """Draw a page of the admin."""
    whole = {**site.each_context(request), "title": title, **context}
    return render(request, f"admin/pages/{template}.html", whole, status=status)


def tried(form: forms.Form, act: Callable[[], HttpResponse]) -> HttpResponse | int:
    """Do what a form asks for; give its answer, or the status of the page that shows the form again.

    Args:
        form: what was typed.
        act: does it; a domain error that it raises is shown in the form.
    """
    if not form.is_valid():
        return 422
    try:
        return act()
    except LociError as error:
        add_to_form(form, error)
        return problem_of(error).status
