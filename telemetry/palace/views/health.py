"""The page about health: of the installation, and of the owner's memory."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.models import User
from memory.palace.access import person_page
from memory.services.actors import Actor
from memory.services.health import recent_findings
from telemetry.palace.frame import frame
from telemetry.palace.health_view import installation_view, score_view
from telemetry.services.score_card import score_card


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show how the installation is, and the score card of the owner's memory."""
    assert isinstance(request.user, User)
    context = {
        "installation": installation_view(recent_findings(), staff=request.user.is_staff),
        "staff": request.user.is_staff,
        "card": score_view(score_card(actor=actor)),
        **frame(request, actor),
    }
    return render(request, "telemetry/health.html", context)
