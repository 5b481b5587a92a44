"""What stands round the pages of telemetry: the palace, or the admin for those that stand there too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from django.http import HttpRequest

from memory.palace.notices import notices
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from telemetry.palace.tabs import TABS
from telemetry.services.turns.test_mode import test_mode


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a page stands.

    Args:
        base: the template that the page extends.
        namespace: the namespace of its addresses.
        context: gives what the base shows, as plain values.
    """

    base: str
    namespace: str
    context: Callable[[HttpRequest, Actor], dict[str, Any]]


def frame(request: HttpRequest, actor: Actor) -> dict[str, Any]:
    """Give what the palace's frame of a telemetry page shows: that of every page, the tabs, and test mode.

    These pages say of test mode in a part of their own, which is replaced with what changes.
    """
    others = partial(notices, actor, without=frozenset({"test-mode"}))
    return {**surroundings(request, actor), "tabs": TABS, "test_mode": test_mode(actor=actor), "notices": others}


PALACE: Final = Frame("telemetry/base.html", "telemetry", frame)
