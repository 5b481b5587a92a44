"""Whether open pages hear of changes, as one of the checks of health."""

from __future__ import annotations

from typing import Final

from channels.layers import get_channel_layer

from memory.live.layer import TravellingLayer
from memory.live.sockets import open_sockets
from memory.services.findings import Finding

NAME: Final = "live"


def live_finding() -> Finding:
    """Tell whether this process hears notices for the pages that are open; asks nothing of anybody."""
    layer = get_channel_layer()
    is_tried = isinstance(layer, TravellingLayer) and layer.listens
    if not len(open_sockets) and not is_tried:
        return Finding(NAME, "ok", "No page is open that waits for changes.")
    if isinstance(layer, TravellingLayer) and not layer.hears:
        detail = "Notices of changes are not heard; open pages look for them every 30 seconds."
        return Finding(NAME, "degraded", detail, layer.remedy)
    return Finding(NAME, "ok", "Open pages are told of changes.")
