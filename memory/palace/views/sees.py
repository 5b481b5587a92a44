"""The tab of what an agent sees: the block that it would get for a prompt, and the reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final
from urllib.parse import urlencode
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import InvalidInput, LociError, NotFound
from memory.models import Agent
from memory.palace.access import person_page
from memory.palace.errors import Problem, problem_of
from memory.palace.file_view import agent_name
from memory.palace.presenters import label
from memory.palace.sees_view import Side, command, revealed_ids, side
from memory.palace.surroundings import surroundings
from memory.recall.profiles import SHIPPED
from memory.services.actors import Actor
from memory.services.agent_look import LookRequest, look_as
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.context import FORMATS, LEVELS
from memory.services.revealing import reveal

# What stands in the address of the page, the second agent and profile for comparing among it.
STATE: Final = (
    "q", "agent", "profile", "format", "max_tokens", "window", "cleaning", "rest", "compare", "agent2", "profile2",
)  # fmt: skip


@person_page("GET", "HEAD", "POST")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show what an agent would get for a prompt; only a form shows it without masks, and that is recorded."""
    agents = list_agents(actor=actor)
    values = {name: request.GET.get(name, "") for name in STATE}
    sides: list[Side] = []
    problem: Problem | None = None
    if values["q"].strip():
        try:
            sides = _sides(actor, agents, values, revealed=request.method == "POST")
        except LociError as error:
            problem = problem_of(error)
    context = {
        "values": values,
        "agents": [(str(one.pk), agent_name(one)) for one in agents],
        "profiles": list(SHIPPED),
        "formats": list(FORMATS),
        "levels": [(name, label(name)) for name in LEVELS],
        "sides": sides,
        "problem": problem,
        "revealed": request.method == "POST" and bool(sides),
        "covered": any(one.covered for one in sides),
        "state": urlencode({name: value for name, value in values.items() if value}),
        "command": command(request.build_absolute_uri(reverse("api:context")), _body(values)) if sides else "",
        **surroundings(request, actor),
    }
    return render(request, "palace/sees/page.html", context, status=problem.status if problem else 200)


def _sides(actor: Actor, agents: list[Agent], values: dict[str, str], *, revealed: bool) -> list[Side]:
    names = {str(one.pk): agent_name(one) for one in agents}
    asked = _asked(values)
    pairs = [(values["agent"], values["profile"])]
    if values["compare"]:
        pairs.append((values["agent2"], values["profile2"]))
    found = []
    for place, (agent, profile) in enumerate(pairs, 1):
        if agent and agent not in names:
            raise NotFound(_("There is no agent with this id here."))
        look = look_as(
            actor=actor, agent_id=UUID(agent) if agent else None, request=replace(asked, profile=profile or None)
        )
        if revealed:
            for memory_id in revealed_ids(look):
                reveal(actor=actor, memory_id=memory_id)
        name = names.get(agent) or _("You, who may read everything")
        found.append(side(look, key=str(place), agent=name, revealed=revealed, now=now()))
    return found


def _asked(values: dict[str, str]) -> LookRequest:
    return LookRequest(
        prompt=values["q"],
        form=values["format"] or None,
        max_tokens=_number(values, "max_tokens"),
        context_window=_number(values, "window"),
        cleaning=values["cleaning"] or None,
        beyond=bool(values["rest"]),
    )


def _body(values: dict[str, str]) -> dict[str, Any]:
    """Give the body of the same request over REST."""
    return {
        "query": values["q"],
        "profile": values["profile"],
        "format": values["format"],
        "max_tokens": _number(values, "max_tokens"),
        "context_window": _number(values, "window"),
        "cleaning": values["cleaning"],
    }


def _number(values: dict[str, str], name: str) -> int | None:
    text = values[name].strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 9):
        raise InvalidInput(_("This takes a whole number."), code=f"{name}.out_of_range", field=name)
    return int(text)
