"""The first page: search, with results while typing and the reasons of every hit."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from memory.errors import LociError, MemoryDisabled
from memory.palace.access import is_partial, person_page
from memory.palace.errors import Problem, problem_of
from memory.palace.presenters import CATEGORY_CHOICES, KIND_CHOICES, HitView, hit_view
from memory.palace.recall_state import PROFILE_CHOICES, RecallState, state_of
from memory.palace.surroundings import surroundings
from memory.recall.gate import Verdict
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.memories import ListRequest, list_memories
from memory.services.recall import Recalled, recall
from memory.services.suggestions import completed, completions, corrected
from memory.text.limits import is_blank

ARM_NAMES: Final = {"dense": "meaning", "lexical": "words", "graph": "links between memories", "time": "time"}


@dataclass(frozen=True, slots=True)
class Results:
    """What stands below the search box.

    `state` is `start` (nothing asked), `empty` (nothing stored yet), `found`, `nothing`, `skip` and `unclear` (the
    question needs no search) or `problem`. `shown_for` is the other question that these results are for, and `meant`
    one that may have been meant. `recall_id` is that of a search which was meant and is kept, so that a person can say
    whether it has helped, where this is counted.
    """

    state: str
    hits: list[HitView] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    problem: Problem | None = None
    profile: str = ""
    considered: int = 0
    shown_for: str = ""
    meant: RecallState | None = None
    recall_id: UUID | None = None

    @property
    def announcement(self) -> str:
        """Say in a few words what came out, for the live region."""
        if self.state == "found":
            return f"{len(self.hits)} {'memory' if len(self.hits) == 1 else 'memories'} found"
        return {"nothing": "Nothing found", "problem": "The search did not work"}.get(self.state, "")


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the search page, or only its results where htmx asks for them.

    A search that was sent (Enter, the button) counts as a use of what it finds; one while typing, a reload and the
    way back do not, since their address lacks the button's name.
    """
    state = state_of(request.GET)
    counts = "go" in request.GET
    results = _results(actor, state, counts=counts, typing=is_partial(request) and not counts)
    status = results.problem.status if results.problem else 200
    context: dict[str, Any] = {"state": state, "results": results, "host": request.build_absolute_uri("/")[:-1]}
    if is_partial(request):
        response = render(request, "palace/recall/results.html", context | {"partial": True}, status=status)
        response["HX-Push-Url" if counts else "HX-Replace-Url"] = state.address
        return response
    context |= {
        "profiles": PROFILE_CHOICES,
        "categories": [("", "any"), *CATEGORY_CHOICES],
        "kinds": [("", "any"), ("turn", "turn"), *KIND_CHOICES],
        **surroundings(request, actor),
    }
    return render(request, "palace/recall/page.html", context, status=status)


@person_page("GET", "HEAD")
def suggest(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Give the options that the search box offers for what was typed so far."""
    typed = request.GET.get("q", "")
    return render(request, "palace/recall/options.html", {"options": completions(actor=actor, typed=typed)})


def _results(actor: Actor, state: RecallState, *, counts: bool, typing: bool) -> Results:
    if is_blank(state.q):
        any_rows = list_memories(actor=actor, request=ListRequest(), after=None, size=1)
        return Results("start" if any_rows else "empty")
    try:
        return _search(actor, state, counts=counts, typing=typing)
    except MemoryDisabled:
        raise
    except LociError as error:
        return Results("problem", problem=problem_of(error))


def _search(actor: Actor, state: RecallState, *, counts: bool, typing: bool) -> Results:
    """Search for what was typed, for its completion while it is half a word, or for its correction."""
    whole = completed(actor=actor, typed=state.q) if typing else None
    asked = replace(state, q=whole) if whole else state
    answer = recall(actor=actor, request=asked.request(counts=counts))
    if answer.gate != Verdict.RECALL:
        return Results(str(answer.gate))
    other = None if whole else corrected(actor=actor, query=state.q)
    meant = replace(state, q=other) if other else None
    # Something of like meaning is nearly always found, so what counts is whether any word of the question was.
    if meant and not any(hit.matched for hit in answer.hits):
        again = recall(actor=actor, request=meant.request(counts=counts))
        if again.gate == Verdict.RECALL and again.hits:
            return _shown(again, shown_for=meant.q, kept=counts)
    return replace(_shown(answer, shown_for=whole or "", kept=counts), meant=meant)


def _shown(answer: Recalled, *, shown_for: str, kept: bool) -> Results:
    moment = now()
    hits = [hit_view(hit, place, moment) for place, hit in enumerate(answer.hits, start=1)]
    return Results(
        "found" if hits else "nothing",
        hits=hits,
        notices=_notices(answer),
        profile=answer.profile,
        considered=answer.considered,
        shown_for=shown_for,
        recall_id=answer.recall_id if kept and settings.TELEMETRY_ENABLED else None,
    )


def _notices(answer: Recalled) -> list[str]:
    notices = []
    for code in answer.degraded:
        kind, _, arm = code.partition(":")
        name = ARM_NAMES.get(arm, arm)
        if kind == "embedder.unavailable":
            notices.append("Search by meaning is unavailable, so these were found by words only. Nothing is lost.")
        elif kind == "embedder.unfamiliar":
            notices.append("The model knows none of these signs, so they were looked for by words only.")
        elif kind == "reranker.unavailable":
            notices.append("The model that puts hits in order did not answer, so they stand in the order they had.")
        elif kind == "expansion.unavailable":
            notices.append("No further words could be thought of, so only yours were looked for.")
        elif kind == "budget.exceeded":
            notices.append("The budget for models is used up, so this was found without them. Nothing is lost.")
        elif kind in {"arm.failed", "arm.timeout", "arm.skipped"}:
            notices.append(f"Search by {name} did not answer in time and was left out. Try again in a moment.")
    if answer.fallback:
        notices.append("No word of yours matched, so I looked for its letters in the newest 2,000 memories.")
    return notices
