"""Where items are reviewed: a person's own in the palace, and those of the chosen owner in the admin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.http import HttpRequest
from django.urls import reverse

from memory.palace.review_state import QueueState
from memory.services.actors import STAFF, Actor
from memory.services.revealing import REASONS

PAGES: Final = ("batch", "undo", "item", "decide", "edit", "reveal")


@dataclass(frozen=True, slots=True)
class Desk:
    """The pages on which items are shown and decided.

    Attributes:
        app: the application whose addresses these are.
        memory: the name of the address of a memory.
        layout: the template that stands round each page.
        frame: gives what that template shows.
        check: raises where a form was not made for whose items these are.
        drawer: whether a memory opens beside the page.
        masks_agents: whether personal data in the names of agents is masked.
    """

    app: str
    memory: str
    layout: str
    frame: Callable[[HttpRequest, Actor], Mapping[str, Any]]
    check: Callable[[HttpRequest, Actor], None]
    drawer: bool
    masks_agents: bool

    def address(self, state: QueueState, page: str = "review", **more: str) -> str:
        """Give the address of the queue, or of its batches, in a state."""
        return f"{reverse(f'{self.app}:{page}')}{state.query(**more)}"

    def context(self, request: HttpRequest, actor: Actor) -> dict[str, Any]:
        """Give what every page shows beside the items: the names of addresses, and why staff may reveal."""
        at = {page: f"{self.app}:review-{page}" for page in PAGES}
        return {
            "layout": self.layout,
            "at": {
                **at,
                "queue": f"{self.app}:review",
                "consolidation": f"{self.app}:consolidation",
                "memory": self.memory,
                "drawer": self.drawer,
            },
            "reasons": REASONS if actor.kind == STAFF else (),
            # Changes are heard of by the login that they belong to.
            "live": actor.kind != STAFF,
            **self.frame(request, actor),
        }
