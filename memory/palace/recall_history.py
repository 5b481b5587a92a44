"""The owner's former changes to a profile, in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from memory.palace.dates import Moment, moment
from memory.palace.numbers import local
from memory.palace.presenters import label
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.profiles import profile_history

SHOWN: Final = 8


@dataclass(frozen=True, slots=True)
class FormerValues:
    """One version of the owner's changes: what it says, when it was made, and whether it holds."""

    number: str
    said: str
    made: Moment
    holds: bool


@dataclass(frozen=True, slots=True)
class History:
    """The versions, newest first; `undo` is the version before the one that holds, None where nothing was changed."""

    versions: list[FormerValues]
    changed: bool
    undo: int | None

    @property
    def undo_value(self) -> str:
        """Write the version to go back to as a form takes it."""
        return "" if self.undo is None else str(self.undo)


def history_of(actor: Actor, name: str) -> History:
    """Describe the owner's changes to a profile and what comes before the last one; version 0 is the shipped one."""
    rows = profile_history(actor=actor, name=name, size=SHOWN)
    at = now()
    versions = [
        FormerValues(str(row.version), _said(row.values), moment(row.at, at), place == 0)
        for place, row in enumerate(rows)
    ]
    if not rows:
        return History([], changed=False, undo=None)
    return History(versions, changed=bool(rows[0].values), undo=rows[0].version - 1)


def _said(values: Mapping[str, Any]) -> str:
    if not values:
        return _("as shipped")
    return ", ".join(f"{label(name)} {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return _("on") if value else _("off")
    if isinstance(value, Mapping):
        return " ".join(f"{label(str(name))} {number:g}" for name, number in value.items()) or _("none")
    if isinstance(value, list | tuple):
        return " ".join(str(one) for one in value)
    return local(f"{value:g}") if isinstance(value, int | float) else str(value)
