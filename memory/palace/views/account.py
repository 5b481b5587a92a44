"""Logging in and out."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, LogoutView
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from memory.errors import LociError
from memory.palace.errors import error_response
from memory.services.login_attempts import counted_attempt


class LoginForm(AuthenticationForm):
    """Name and password, whose attempts are counted."""

    def clean(self) -> dict[str, Any]:
        """Check both; raises RateLimited and PasswordsBusy besides what Django's own form raises."""
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if self.request is None or name is None or not password:
            return super().clean()
        with counted_attempt(name=name, request=self.request):
            return super().clean()


class Login(LoginView):
    """The login form; Django's own view, which checks where `next` leads."""

    template_name = "palace/login.html"
    authentication_form = LoginForm
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Log in, or say why nobody is let in at this moment."""
        try:
            return super().post(request, *args, **kwargs)
        except LociError as error:
            return error_response(request, error)

    def get_success_url(self) -> str:
        """Give the page that `next` names; the usual one for what is no whole address, and for the login itself.

        Django takes the latter for a loop and fails.
        """
        wanted = self.get_redirect_url()
        if wanted.startswith("/") and wanted.partition("?")[0] != reverse("palace:login"):
            return wanted
        return self.get_default_redirect_url()


class Logout(LogoutView):
    """The end of a login; POST only."""

    http_method_names = ["post", "options"]
