"""How far a model is fetched, as pages tell it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from django.utils.translation import gettext as _

from memory.palace.numbers import whole
from memory.palace.sentences import said
from memory.providers.ollama_server import tagged
from memory.services.clock import now
from memory.services.model_fetch import Fetch, present_fetch

MEGABYTE: Final = 1_000_000
# How long a model that was fetched may still be missing: processes find out within seconds that it is there.
FOUND_OUT: Final = timedelta(seconds=60)


@dataclass(frozen=True, slots=True)
class FetchView:
    """An order to fetch a model.

    Attributes:
        under_way: whether to look again how far it is.
        waits: whether it needs a worker now.
        words: what is so.
        percent: 0 to 100; None while that is not known.
        reason: why the last try failed, in the server's own words at times, which are for staff.
    """

    under_way: bool
    waits: bool
    words: str
    percent: int | None
    reason: str


def fetch_view(model: str) -> FetchView | None:
    """Say how far a model is fetched that is missing; None where that was not ordered. One statement."""
    order = present_fetch()
    if order is None or tagged(order.model) != tagged(model):
        return None
    if order.state == "done" and now() - order.noted_at > FOUND_OUT:
        return None
    reason = said(order.error)
    if order.state == "failed":
        return FetchView(False, False, _("The model could not be fetched."), None, reason)
    return FetchView(True, order.state == "waiting", _words(order), order.progress.percent, reason)


def _words(order: Fetch) -> str:
    progress = order.progress
    if order.state == "done":
        return _("The model is there, and is tried now.")
    if order.error:
        return _("It is tried again within a minute.")
    if not progress.total:
        return _("The model is being fetched.")
    if not progress.loading:
        return _("The model was fetched, and is being checked.")
    return _("%(done)s of %(total)s MB of the model are fetched.") % {
        "done": whole(progress.completed // MEGABYTE),
        "total": whole(-(-progress.total // MEGABYTE)),
    }
