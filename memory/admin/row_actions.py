"""What can be done to rows from the admin: each act calls the service that every other interface calls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import InvalidInput, LociError
from memory.palace.sentences import said
from memory.services.actors import Actor

MOST_AT_ONCE: Final = 100


@dataclass(frozen=True, slots=True)
class RowAction:
    """An act on one row, by its id.

    Args:
        name: names it in forms.
        label: what the button says.
        run: does it, by the service.
        fits: tells whether a row can be acted on so; every row when left out.
        meant: what the page that asks once more says; empty where nothing is lost by a slip.
    """

    name: str
    label: Any
    run: Callable[[Actor, UUID], object]
    fits: Callable[[Any], bool] = lambda row: True
    meant: Any = ""


def chosen_ids(request: HttpRequest) -> list[UUID]:
    """Read the ids of the rows that were ticked.

    Raises:
        InvalidInput: none, too many, or no ids.
    """
    written = request.POST.getlist("_selected_action")
    if not written:
        raise InvalidInput(_("Choose at least one row. Nothing was changed."), code="rows.none")
    if len(written) > MOST_AT_ONCE:
        raise InvalidInput(_("Choose at most 100 rows. Nothing was changed."), code="rows.too_many")
    try:
        return list(dict.fromkeys(UUID(one) for one in written))
    except ValueError:
        raise InvalidInput(_("These are not ids of rows. Nothing was changed."), code="rows.invalid") from None


def act(request: HttpRequest, actor: Actor, action: RowAction, ids: Sequence[UUID]) -> None:
    """Do something to rows, each for itself, and say how many were done and why the others were not."""
    refused: Counter[str] = Counter()
    for one in ids:
        try:
            action.run(actor, one)
        except LociError as error:
            refused[said(error.message)] += 1
    done = len(ids) - refused.total()
    if done:
        sentence = ngettext("%(label)s: done for %(count)s row.", "%(label)s: done for %(count)s rows.", done)
        messages.success(request, sentence % {"label": action.label, "count": done})
    for sentence, count in refused.items():
        messages.error(request, f"{sentence} ({count})" if count > 1 else sentence)
