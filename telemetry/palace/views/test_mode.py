"""Switching test mode, after saying what that erases."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import InvalidInput
from memory.palace.access import person_page
from memory.services.actors import Actor
from telemetry.palace.frame import frame
from telemetry.services.turns.test_mode import set_test_mode

SWITCHES = {"true": True, "false": False}


@person_page("GET", "HEAD", "POST")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Ask whether to switch test mode, and switch it."""
    if request.method != "POST":
        return render(request, "telemetry/test_mode.html", frame(request, actor))
    enabled = SWITCHES.get(request.POST.get("enabled", ""))
    if enabled is None:
        raise InvalidInput("Say whether test mode is to be on.", code="test_mode.invalid", field="enabled")
    set_test_mode(actor=actor, enabled=enabled)
    if enabled:
        said = _("Test mode is on: turn events go to the test stream.")
    else:
        said = _("Test mode is off: turn events go to the live stream.")
    messages.success(request, said)
    return HttpResponseRedirect(reverse("telemetry:index"))
