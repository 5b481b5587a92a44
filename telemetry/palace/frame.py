"""What stands round every page of telemetry."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from telemetry.palace.tabs import TABS


def frame(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """Give what the frame of a telemetry page shows, as plain values: that of every page, and the tabs."""
    return {"tabs": TABS, **surroundings(request, actor)}
