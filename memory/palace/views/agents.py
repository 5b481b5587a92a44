"""Agents and keys: who acts for the owner, what each may do and does."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import LociError
from memory.palace.access import person_page
from memory.palace.agent_costs import agent_costs
from memory.palace.agent_forms import GroupForm, NameForm
from memory.palace.agent_view import agent_row
from memory.palace.errors import add_to_form, problem_of
from memory.palace.permission_words import group_name
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.agent_figures import agent_figures
from memory.services.agents import create_agent, create_group, list_groups, pause_agent
from memory.services.clock import now


@dataclass(slots=True)
class _Forms:
    agent: NameForm = field(default_factory=lambda: NameForm(prefix="agent"))
    group: GroupForm = field(default_factory=lambda: GroupForm(prefix="group"))


@person_page("GET", "HEAD", "POST")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the agents; make one."""
    forms = _Forms()
    if request.method != "POST":
        return _page(request, actor, forms)
    forms.agent = NameForm(request.POST, prefix="agent")
    status = 422
    if forms.agent.is_valid():
        try:
            agent = create_agent(actor=actor, name=forms.agent.cleaned_data["name"] or "")
        except LociError as error:
            add_to_form(forms.agent, error)
            status = problem_of(error).status
        else:
            messages.success(request, _("The agent is there. Give it a key, so that it can come."))
            return HttpResponseRedirect(reverse("palace:agent", args=[agent.pk]) + "#new-key")
    return _page(request, actor, forms, status=status)


@person_page("POST")
def group(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Make a project or squad."""
    forms = _Forms(group=GroupForm(request.POST, prefix="group"))
    status = 422
    if forms.group.is_valid():
        typed = forms.group.cleaned_data
        try:
            made = create_group(actor=actor, kind=typed["kind"] or "", name=typed["name"] or "")
        except LociError as error:
            add_to_form(forms.group, error)
            status = problem_of(error).status
        else:
            messages.success(request, _("Made %(group)s. Open an agent to put it in.") % {"group": group_name(made)})
            return HttpResponseRedirect(reverse("palace:agents") + "#groups")
    return _page(request, actor, forms, status=status)


@person_page("POST")
def pause(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Stop an agent's keys from working, or let them work again."""
    paused = request.POST.get("paused") == "yes"
    pause_agent(actor=actor, agent_id=agent_id, paused=paused)
    messages.success(
        request,
        _("The agent is paused: none of its keys works.") if paused else _("The agent may come again."),
    )
    if request.POST.get("from") == "list":
        return HttpResponseRedirect(reverse("palace:agents"))
    return HttpResponseRedirect(reverse("palace:agent", args=[agent_id]))


def _page(request: HttpRequest, actor: Actor, forms: _Forms, *, status: int = 200) -> HttpResponse:
    current, costs = now(), agent_costs(actor)
    rows = [agent_row(figures, current, costs) for figures in agent_figures(actor=actor)]
    names = {row.id: row.name for row in rows}
    groups: list[dict[str, Any]] = [
        {"name": group_name(one), "members": [names[member] for member in members if member in names]}
        for one, members in list_groups(actor=actor)
    ]
    context = {"agents": rows, "groups": groups, "forms": forms, **surroundings(request, actor)}
    return render(request, "palace/agents/list.html", context, status=status)
