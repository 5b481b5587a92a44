"""What telemetry says on pages that are not its own."""

from __future__ import annotations

from django.utils.translation import gettext as _

from memory.palace.notices import Notice
from memory.services.actors import Actor
from telemetry.services.turns.test_mode import test_mode


def test_mode_notice(actor: Actor) -> Notice | None:
    """Say that test mode is on, where it is."""
    if not test_mode(actor=actor).enabled:
        return None
    sentence = _("Test mode is on. Turn events go to a stream of their own and count in no live report.")
    return Notice(sentence, "telemetry:test-mode", _("Switch it off"))
