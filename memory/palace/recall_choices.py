"""The form that adds a filter: what can be chosen in it, and which filters come of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from django.http import QueryDict
from django.utils.translation import gettext as _

from memory.palace.presenters import CATEGORY_CHOICES, KIND_CHOICES, label
from memory.palace.recall_filters import JSON, SCOPE, Term
from memory.palace.spans import QUICK
from memory.services.actors import Actor, written_scope
from memory.services.agents import list_agents, list_groups
from memory.services.legible import UNREADABLE, legible

OWNER: Final = "owner"
SIMPLE: Final = ("kind", "category", "agent", "source", "tag", SCOPE, "status", JSON)
RANGES: Final = ("confidence", "importance")
SPANS: Final = ("occurred", "created")

Choices = list[tuple[str, str]]


def added_terms(asked: QueryDict) -> tuple[Term, ...]:
    """Read the filters that the form for a further one names; blank fields add nothing."""
    values = {name: asked.get(f"add_{name}", "").strip() for name in SIMPLE}
    for name in RANGES:
        values[name] = _range(asked, f"add_{name}_least", f"add_{name}_most")
    for name in SPANS:
        quick = asked.get(f"add_{name}", "").strip()
        values[name] = quick or _range(asked, f"add_{name}_from", f"add_{name}_until")
    return tuple(Term(name, value) for name, value in values.items() if value)


def _range(asked: QueryDict, first: str, last: str) -> str:
    least, most = asked.get(first, "").strip(), asked.get(last, "").strip()
    return f"{least}..{most}" if least or most else ""


def names_of(actor: Actor) -> Mapping[str, str]:
    """Give what the owner's agents and groups are called, by their ids as filters write them."""
    agents = {str(agent.pk): legible(agent, "name") or _(UNREADABLE) for agent in list_agents(actor=actor)}
    groups = {
        written_scope(group.kind, group.pk): legible(group, "name") or _(UNREADABLE)
        for group, _members in list_groups(actor=actor)
    }
    return {OWNER: _("all of my agents"), **agents, **groups}


def choices_of(names: Mapping[str, str]) -> dict[str, Any]:
    """Give what the form offers, each with a first entry that adds nothing."""
    anything = ("", _("any"))
    scopes = [(value, name) for value, name in names.items() if ":" in value or value == OWNER]
    agents = [(value, name) for value, name in names.items() if ":" not in value and value != OWNER]
    return {
        "kind": [anything, ("turn", label("turn")), *((value, str(name)) for value, name in KIND_CHOICES)],
        "category": [anything, *((value, str(name)) for value, name in CATEGORY_CHOICES)],
        "agent": [anything, *agents] if agents else [],
        "scope": [anything, *scopes] if len(scopes) > 1 else [],
        "span": [anything, *((value, str(name)) for value, name in QUICK.items())],
        "status": [anything, ("holds", _("holds now")), ("ended", _("no longer holds"))],
    }
