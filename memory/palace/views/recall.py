"""The first page: search, with results while typing and the reasons of every hit."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render

from memory.errors import InvalidInput, NotFound
from memory.models import owner_scope
from memory.palace.access import is_partial, person_page
from memory.palace.errors import problem_of
from memory.palace.recall_choices import added_terms, choices_of, names_of
from memory.palace.recall_filters import MOST_TERMS
from memory.palace.recall_history import history_of
from memory.palace.recall_hits import linked_hits, linked_times
from memory.palace.recall_questions import saved_questions, templates_of
from memory.palace.recall_results import Results, Tuned, results_of, tuned_by, untuned
from memory.palace.recall_state import RecallState, pills_of, profile_choices, state_of
from memory.palace.recall_tuning import NAMES, moved_by, sliders
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.suggestions import completions

ADDING: Final = ("add", "go")
"""The buttons that take over what stands in the form for a further filter; typing does not."""


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponseBase:
    """Show the search page, or only its results where htmx asks for them.

    A search that was sent (Enter, the button) counts as a use of what it finds; one while typing, a reload and the
    way back do not, since their address lacks the button's name.
    """
    asked = request.GET
    state, tuned, refused = _read(actor, asked)
    partial = is_partial(request)
    if "add" in asked and not partial and not refused:
        return HttpResponseRedirect(state.address)
    counts, at = "go" in asked, now()
    results = (
        Results("problem", problem=problem_of(refused))
        if refused
        else results_of(
            actor, state, tuned, at=at, counts=counts, typing=partial and not counts, after=asked.get("after", "")
        )
    )
    # One scope for all that is read beside the results: each of its own costs two statements.
    with owner_scope(actor.owner_id):
        names = names_of(actor)
        panel = _tuning(actor, state, tuned)
        beside = {} if partial else {"saved": saved_questions(actor), **surroundings(request, actor)}
    status = results.problem.status if results.problem else 200
    context: dict[str, Any] = {
        "state": state,
        "results": results,
        "hits": linked_hits(results.hits, state, names),
        "times": linked_times(results.times, state),
        "pills": pills_of(state, names),
        "looking_back": state.looking_back(),
        "present_address": state.without("true_on", "known_on").address,
        "rest_address": state.without(*NAMES).address,
        "further_address": f"{state.address}&{urlencode({'after': results.further})}",
        "host": request.build_absolute_uri("/")[:-1],
        **panel,
    }
    if partial:
        context |= {"partial": True, "new_profile": asked.get("base", state.profile) != state.profile}
        response = render(request, "palace/recall/results.html", context, status=status)
        stays = counts or "add" in asked or "keep" in asked
        response["HX-Push-Url" if stays else "HX-Replace-Url"] = state.address
        return response
    context |= {"choices": choices_of(names), "templates": templates_of(), **beside}
    return render(request, "palace/recall/page.html", context, status=status)


def _read(actor: Actor, asked: QueryDict) -> tuple[RecallState, Tuned, InvalidInput | None]:
    """Read a search, how it is set, and why it cannot be made.

    Sliders that stand where the profile puts them are left out of its address, and so are all when another profile was
    chosen: they stood where the former one had put them.
    """
    state, refused = _filtered(asked)
    try:
        tuned = tuned_by(actor, state)
    except NotFound:
        return state, untuned(), refused
    if "base" in asked:
        if asked["base"] != state.profile:
            return state.without(*NAMES), tuned, refused
        at_rest = [name for name, text in state.sliders.items() if text == f"{tuned.stands[name]:g}"]
        state = state.without(*at_rest)
    return state, tuned, refused


def _filtered(asked: QueryDict) -> tuple[RecallState, InvalidInput | None]:
    """Read a search; where it has too many filters, without those that the form adds, or else without any."""
    added = added_terms(asked) if any(name in asked for name in ADDING) else ()
    try:
        return state_of(asked, added=added), None
    except InvalidInput as error:
        refused = error
    if len(asked.getlist("f")) <= MOST_TERMS:
        return state_of(asked), refused
    bare = asked.copy()
    bare.setlist("f", [])
    return state_of(bare), refused


def _tuning(actor: Actor, state: RecallState, tuned: Tuned) -> dict[str, Any]:
    """Give what the panel of the sliders shows."""
    try:
        moved = moved_by(tuned.stands, state.sliders)
    except InvalidInput:
        moved = {}
    return {
        "profiles": profile_choices(),
        "sliders": sliders(tuned.stands, moved),
        "moved": moved,
        "own_order_off": tuned.profile.evidence and ("words" in moved or "meaning" in moved),
        "profile": tuned.profile.name,
        "most": str(tuned.most),
        "history": history_of(actor, tuned.profile.name),
    }


@person_page("GET", "HEAD")
def suggest(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Give the options that the search box offers for what was typed so far."""
    typed = request.GET.get("q", "")
    return render(request, "palace/recall/options.html", {"options": completions(actor=actor, typed=typed)})
