"""What stands round the pages of telemetry in the admin."""

from __future__ import annotations

from typing import Any, Final

from django.http import HttpRequest
from django.utils.translation import gettext as _

from memory.admin.site import site
from memory.services.actors import Actor
from telemetry.palace.frame import Frame
from telemetry.services.turns.test_mode import test_mode


def frame(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """Give what the admin's frame of a telemetry page shows: that of every page, and test mode."""
    return {**site.each_context(request), "test_mode": test_mode(actor=actor), "title": _("Coverage")}


ADMIN: Final = Frame("telemetry/admin_base.html", "telemetry-admin", frame)
