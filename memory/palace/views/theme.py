"""The choice between light, dark and what the system prefers, kept in a cookie so that pages come in their colours."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.views.decorators.http import require_POST

from memory.palace.access import safe_next

THEMES: Final = ("system", "light", "dark")
COOKIE: Final = "loci_theme"
KEPT_SECONDS: Final = 365 * 86_400


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the chosen theme and go back to the page."""
    theme = request.POST.get("theme", "")
    if theme not in THEMES:
        return HttpResponseBadRequest("The theme is system, light or dark.", content_type="text/plain")
    response = HttpResponseRedirect(safe_next(request, "palace:recall"))
    # Scripts set the same cookie, hence not HttpOnly; it holds nothing but the word.
    response.set_cookie(
        COOKIE, theme, max_age=KEPT_SECONDS, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE, httponly=False
    )
    return response
