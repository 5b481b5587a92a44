"""The graph page with what its script draws, and the map of the communities."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import LociError
from memory.models import Kind
from memory.palace.access import person_page
from memory.palace.community_map import community_map
from memory.palace.dates import moment
from memory.palace.errors import problem_of
from memory.palace.graph_page import graph_page, words_of_seed
from memory.palace.graph_state import GraphState, state_of
from memory.palace.graph_words import kind_word
from memory.palace.numbers import local, whole
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.graph.communities import (
    MOST_BRIDGES,
    bridges,
    divide_now,
    division,
    list_communities,
    rename_community,
)
from memory.services.graph_view.view import graph_view

MOST_COMMUNITIES: Final = 60


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show what is around a seed, as a picture and as a list."""
    state, status, problem = state_of(request.GET), 200, None
    try:
        context = _shown(actor, state)
    except LociError as error:
        # What cannot be shown is said above the form that asked for it, beside the view without a seed.
        problem = problem_of(error)
        status = problem.status
        context = _shown(actor, GraphState(depth=state.depth, layer=state.layer, colour=state.colour))
    context |= {"typed": state, "problem": problem, **surroundings(request, actor)}
    return render(request, "palace/graph/page.html", context, status=status)


@person_page("GET", "HEAD")
def communities(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the communities as a map and as a table, and what joins them."""
    found = list_communities(actor=actor, size=MOST_COMMUNITIES + 1)
    state = division(actor=actor)
    drawn = community_map(found[:MOST_COMMUNITIES], bridges(actor=actor, size=MOST_BRIDGES))
    context = {
        "map": drawn,
        "is_cut": len(found) > MOST_COMMUNITIES,
        "division": None
        if state is None
        else {
            "modularity": local(f"{state.modularity:.2f}"),
            "communities": state.communities,
            "when": moment(state.computed_at, now()),
        },
        **surroundings(request, actor),
    }
    return render(request, "palace/graph/communities.html", context)


@person_page("POST")
def divide(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Look for communities at once."""
    try:
        found = divide_now(actor=actor)
    except LociError as error:
        messages.error(request, problem_of(error).message)
    else:
        messages.success(request, _("Looked again: %(count)s communities.") % {"count": whole(found.communities)})
    return _to_communities()


@person_page("POST")
def rename(request: HttpRequest, actor: Actor, number: int) -> HttpResponse:
    """Call a community by a name, or let its members name it again."""
    called: Any = request.POST.get("name", "").strip() or None
    try:
        rename_community(actor=actor, number=number, name=called)
    except LociError as error:
        if error.status == 404:
            raise
        messages.error(request, problem_of(error).message)
    else:
        messages.success(request, _("Renamed.") if called else _("It is named by its members again."))
    return _to_communities()


def _shown(actor: Actor, state: GraphState) -> dict[str, Any]:
    view = graph_view(actor=actor, request=state.request())
    seed = words_of_seed(view.things, state, view.communities)
    return {
        "state": state,
        "graph": graph_page(view, state, now=now(), seed_words=seed),
        "memory_address": reverse("palace:memory", args=[NOBODY]),
        "entity_address": reverse("palace:entity", args=[NOBODY]),
        "around_memory": state.seeded(memory=NOBODY),
        "around_entity": state.seeded(entity=NOBODY),
        "turn_word": kind_word(Kind.TURN),
        "has_seed": bool(state.q or state.memory or state.entity or state.community),
        "without_seed": state.seeded(),
    }


NOBODY: Final = "00000000-0000-0000-0000-000000000000"


def _to_communities() -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("palace:communities"))
