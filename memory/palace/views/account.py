"""Logging in and out."""

from __future__ import annotations

from django.contrib.auth.views import LoginView, LogoutView


class Login(LoginView):
    """The login form; Django's own view, which checks where `next` leads."""

    template_name = "palace/login.html"
    redirect_authenticated_user = True


class Logout(LogoutView):
    """The end of a login; POST only."""

    http_method_names = ["post", "options"]
