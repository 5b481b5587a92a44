"""Logging in and out."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import reverse


class Login(LoginView):
    """The login form; Django's own view, which checks where `next` leads."""

    template_name = "palace/login.html"
    redirect_authenticated_user = True

    def get_redirect_url(self) -> str:  # type: ignore[override]  # the stubs are those of a later Django
        """Give the page that `next` names; none for what is no whole address, and for the login, which leads on itself.

        Django takes the latter for a loop and fails.
        """
        wanted = super().get_redirect_url()
        if not wanted.startswith("/") or wanted.partition("?")[0] == reverse("palace:login"):
            return ""
        return wanted


class Logout(LogoutView):
    """The end of a login; POST only."""

    http_method_names = ["post", "options"]
