"""Logging in and out."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView
from django.urls import reverse


class Login(LoginView):
    """The login form; Django's own view, which checks where `next` leads."""

    template_name = "palace/login.html"
    redirect_authenticated_user = True

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
