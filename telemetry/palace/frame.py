"""What stands round every page of telemetry."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from telemetry.palace.tabs import TABS
from telemetry.services.test_mode import test_mode


def frame(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """Give what the frame of a telemetry page shows, as plain values: that of every page, the tabs, and test mode."""
    return {"tabs": TABS, "test_mode": test_mode(actor=actor), **surroundings(request, actor)}
