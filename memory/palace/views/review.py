"""Review: what waits for the person's judgement, one item at a time beside what it was drawn from, or in batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from memory.palace import review_batches, review_edits, review_pages
from memory.palace.access import person_page
from memory.palace.review_desk import Desk
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor

Guard = Callable[..., Callable[[Any], Any]]


def _own(request: HttpRequest, actor: Actor) -> None:
    """Take every form: in the palace nobody sees but the own items."""


PALACE: Final = Desk(
    app="palace",
    memory="palace:memory",
    layout="palace/page.html",
    frame=surroundings,
    check=_own,
    drawer=True,
    masks_agents=False,
)


def addresses(desk: Desk, guard: Guard) -> list[URLPattern]:
    """Give the addresses of the review.

    Args:
        desk: where it stands.
        guard: makes a view of such a page for whoever may see it, given the methods that it takes.
    """

    def at(view: Callable[..., HttpResponse], *methods: str) -> Any:
        @wraps(view)
        def there(request: HttpRequest, actor: Actor, **ids: UUID) -> HttpResponse:
            if request.method == "POST":
                desk.check(request, actor)
            return view(request, actor, desk, **ids)

        return guard(*methods)(there)

    look, send = ("GET", "HEAD"), ("GET", "HEAD", "POST")
    return [
        path("review/", at(review_pages.queue, *look), name="review"),
        path("review/batch/", at(review_batches.batch, *send), name="review-batch"),
        path("review/undo/", at(review_pages.undo, "POST"), name="review-undo"),
        path("review/<uuid:item_id>/", at(review_pages.item, *look), name="review-item"),
        path("review/<uuid:item_id>/decide/", at(review_pages.decide, "POST"), name="review-decide"),
        path("review/<uuid:item_id>/edit/", at(review_edits.edit, *send), name="review-edit"),
        path("review/<uuid:item_id>/reveal/", at(review_pages.reveal, *send), name="review-reveal"),
    ]


palace_addresses: Final = addresses(PALACE, person_page)
