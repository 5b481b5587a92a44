"""The choice of a language, kept in a cookie: it holds before anybody has logged in, too."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from memory.palace.access import safe_next

KEPT_SECONDS: Final = 365 * 86_400


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Keep the chosen language and go back to the page."""
    language = request.POST.get("language", "")
    if language not in dict(settings.LANGUAGES):
        return HttpResponseBadRequest(_("This language is not offered."), content_type="text/plain")
    response = HttpResponseRedirect(safe_next(request, "palace:recall"))
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=KEPT_SECONDS,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
    )
    return response
