"""The state of the review queue as its address holds it: which items, in which order, and which one is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as lazy

from memory.errors import InvalidInput
from memory.models import ReviewState
from memory.palace import review_words as words
from memory.services.review_queue import ORDERS, QueueRequest

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise

PERCENT: Final = 100
MOST_CHARACTERS: Final = 200
MOST_LABEL: Final = 2**63 - 1
AGES: Final[Mapping[str, tuple[StrOrPromise, int | None, int | None]]] = {
    "day": (lazy("Of the last day"), 1, None),
    "week": (lazy("Of the last week"), 7, None),
    "month": (lazy("Of the last month"), 30, None),
    "older-week": (lazy("Older than a week"), None, 7),
    "older-month": (lazy("Older than a month"), None, 30),
}
"""Choices of age: in words, the days within which and before which an item was opened."""
NAMES: Final = ("state", "kind", "agent", "session", "source", "origin", "from", "to", "age", "order")


@dataclass(frozen=True, slots=True)
class Choice:
    """One entry of a list of choices."""

    value: str
    label: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class QueueState:
    """What an address asks for, as the service takes it and as the address writes it."""

    request: QueueRequest
    written: tuple[tuple[str, str], ...]
    item_id: UUID | None

    def query(self, **more: str) -> str:
        """Write the state as the query of an address, with the leading question mark where there is any."""
        pairs = [*self.written, *((name, value) for name, value in more.items() if value)]
        return f"?{urlencode(pairs)}" if pairs else ""

    @property
    def filtered(self) -> bool:
        """Tell whether some items are left out beside those of other states."""
        return any(name not in ("state", "order") for name, _value in self.written)

    def value(self, name: str) -> str:
        """Give what is chosen for one name."""
        return dict(self.written).get(name, "")


def read_state(query: QueryDict) -> QueueState:
    """Read the state from the query of an address; raises InvalidInput for what is no id, number or choice."""
    written = [
        (name, value.strip()[:MOST_CHARACTERS])
        for name in NAMES
        for value in (dict.fromkeys(query.getlist(name)) if name == "kind" else query.getlist(name)[-1:])
        if value.strip()
    ]
    chosen = dict(written)
    age = chosen.get("age", "")
    if age and age not in AGES:
        raise InvalidInput(_("Choose one of the ages in the list."), code="age.unknown", field="age")
    newer, older = AGES[age][1:] if age else (None, None)
    request = QueueRequest(
        state=chosen.get("state", ReviewState.OPEN),
        kinds=tuple(value for name, value in written if name == "kind"),
        agent_id=_id(chosen.get("agent", "")),
        session_id=_id(chosen.get("session", "")),
        source=chosen.get("source", ""),
        source_label=_label(chosen.get("origin", "")),
        least=_unit(chosen.get("from", "0")),
        most=_unit(chosen.get("to", "100")),
        newer_days=newer,
        older_days=older,
        order=chosen.get("order", "oldest"),
    )
    return QueueState(request, tuple(written), _id(query.get("item", "")))


def choices(state: QueueState, agents: Mapping[UUID, str]) -> dict[str, list[Choice]]:
    """Give the lists of choices of the form that filters, with what is chosen."""
    request = state.request
    return {
        "states": [Choice(value, str(shown), value == request.state) for value, shown in words.STATES.items()],
        "kinds": [Choice(value, str(shown), value in request.kinds) for value, shown in words.KINDS.items()],
        "agents": [Choice(str(pk), name, pk == request.agent_id) for pk, name in agents.items()],
        "ages": [Choice(name, str(age[0]), name == state.value("age")) for name, age in AGES.items()],
        "orders": [Choice(name, str(words.ORDERS[name]), name == request.order) for name in ORDERS],
    }


def _id(written: str) -> UUID | None:
    if not written:
        return None
    try:
        return UUID(written)
    except ValueError as error:
        raise InvalidInput(_("This address is not complete: an id in it is none."), code="id.invalid") from error


def _label(written: str) -> int | None:
    if not written:
        return None
    try:
        label = int(written)
    except ValueError:
        label = MOST_LABEL + 1
    if not -MOST_LABEL - 1 <= label <= MOST_LABEL:
        raise InvalidInput(_("This address is not complete: an id in it is none."), code="id.invalid")
    return label


def _unit(written: str) -> float:
    try:
        number = float(written)
    except ValueError as error:
        raise InvalidInput(_("Choose a number of percent between 0 and 100."), code="unit.invalid") from error
    if not 0 <= number <= PERCENT:
        raise InvalidInput(_("Choose a number of percent between 0 and 100."), code="unit.invalid")
    return number / PERCENT
