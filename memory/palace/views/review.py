"""Review: what waits for the person's judgement, one item at a time beside what it was drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import Conflict, InvalidInput, LociError
from memory.models import ReviewState
from memory.palace import review_words as words
from memory.palace.access import is_partial, person_page
from memory.palace.errors import add_to_form, problem_of
from memory.palace.privacy_view import named
from memory.palace.review_flash import keep_decided, recently_decided
from memory.palace.review_forms import FORMS, ProposalForm
from memory.palace.review_state import QueueState, choices, read_state
from memory.palace.review_view import ItemView, item_view
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.revealing import EDITED
from memory.services.review_context import memories_behind, reveal_review, touched_by
from memory.services.review_decisions import MOST_AT_ONCE, approve, decide_many, reject, snooze
from memory.services.review_queue import Place, queue_item, queue_page
from memory.services.reviews import Reviewed, get_review

SNOOZES: Final = {"day": timedelta(days=1), "week": timedelta(days=7)}


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the item of the queue that the address names, else the first one."""
    state = read_state(request.GET)
    if is_partial(request):
        # Only how many there are: a page that is open says when there are more, and changes nothing under the reader.
        total = queue_page(actor=actor, request=state.request, size=1).total
        return render(request, "palace/review/news.html", {"total": total, "address": _address(state)})
    found = queue_item(actor=actor, request=state.request, item_id=state.item_id)
    if found is None:
        return _empty(request, actor, state)
    return _page(request, actor, found.reviewed, state, found.place)


@person_page("GET", "HEAD")
def item(request: HttpRequest, actor: Actor, item_id: UUID) -> HttpResponse:
    """Show one item, whatever became of it."""
    return _page(request, actor, get_review(actor=actor, item_id=item_id), read_state(request.GET), None)


@person_page("GET", "HEAD", "POST")
def reveal(request: HttpRequest, actor: Actor, item_id: UUID) -> HttpResponse:
    """Show one item without masks, this once. Only a form reveals; the address alone leads to the item."""
    state = read_state(request.GET)
    if request.method != "POST":
        return HttpResponseRedirect(_address(state, item=str(item_id)))
    reviewed, _behind = reveal_review(actor=actor, item_id=item_id)
    found = queue_item(actor=actor, request=state.request, item_id=item_id)
    place = found.place if found is not None and found.reviewed.item.pk == item_id else None
    return _page(request, actor, reviewed, state, place, revealed=True)


@person_page("POST")
def decide(request: HttpRequest, actor: Actor, item_id: UUID) -> HttpResponse:
    """Decide one item and go to the next one."""
    state = read_state(request.GET)
    decision, following = request.POST.get("decision", ""), request.POST.get("following", "")
    try:
        _decide(actor, item_id, decision, request.POST)
    except Conflict as error:
        if error.machine_code not in ("review.version", "review.decided"):
            return _stay(request, state, item_id, error)
        messages.warning(request, _decided_elsewhere(actor, item_id))
    except LociError as error:
        return _stay(request, state, item_id, error)
    else:
        keep_decided(request, [item_id], decision)
    return HttpResponseRedirect(_address(state, item=following))


@person_page("POST")
def undo(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Take decisions back and go to the first of the items, which is open again."""
    state = read_state(request.GET)
    ids = item_ids(request)
    results = decide_many(actor=actor, item_ids=ids, decision="undo")
    refused = [one.error for one in results if one.error is not None]
    done = len(results) - len(refused)
    keep_decided(request, [], "")
    if done:
        said = ngettext("Taken back: %(count)s item waits again.", "Taken back: %(count)s items wait again.", done) % {
            "count": done
        }
        messages.success(request, said)
    for error in refused[:3]:
        messages.error(request, _sentence(error))
    first = next((str(one.item_id) for one in results if one.error is None), "")
    if request.GET.get("back") == "batch":
        return HttpResponseRedirect(f"{reverse('palace:review-batch')}{state.query()}")
    return HttpResponseRedirect(_address(state, item=first))


@person_page("GET", "HEAD", "POST")
def edit(request: HttpRequest, actor: Actor, item_id: UUID) -> HttpResponse:
    """Change what an item proposes, then approve it."""
    state = read_state(request.GET)
    reviewed = get_review(actor=actor, item_id=item_id)
    make = FORMS.get(reviewed.item.kind)
    if make is None or reviewed.state not in (ReviewState.OPEN, ReviewState.SNOOZED):
        messages.info(request, _("There is nothing in it that can be changed before it is decided."))
        return HttpResponseRedirect(_address(state, item=str(item_id)))
    form = make(reviewed.item.payload, request.POST if request.method == "POST" else None)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                version = _version(request.POST.get("version", ""))
                approve(actor=actor, item_id=item_id, changes=form.changes(), version=version)
            except LociError as error:
                add_to_form(form, error)
                status = problem_of(error).status
            else:
                keep_decided(request, [item_id], "approve")
                return HttpResponseRedirect(_address(state, item=request.POST.get("following", "")))
    return _edit_page(request, actor, reviewed, state, form, status)


def item_ids(request: HttpRequest) -> list[UUID | str]:
    """Give the ids of the items that a form names; raises InvalidInput for none or too many."""
    written = list(dict.fromkeys(request.POST.getlist("ids")))
    if not 1 <= len(written) <= MOST_AT_ONCE:
        raise InvalidInput(
            _("Choose between 1 and %(most)s items.") % {"most": MOST_AT_ONCE}, code="batch.size", field="ids"
        )
    found: list[UUID | str] = []
    for one in written:
        try:
            found.append(UUID(one))
        except ValueError:
            found.append(one[:64])
    return found


def snoozed_until(posted: Mapping[str, str]) -> datetime | str:
    """Give the end of a snooze that a form names: a day, a week, or a date."""
    chosen = posted.get("until", "")
    if chosen in SNOOZES:
        return now() + SNOOZES[chosen]
    date = posted.get("date", "")
    if not date:
        raise InvalidInput(_("Choose until when it is to wait: a day, a week, or a date."), code="date.invalid")
    return f"{date}T00:00:00Z"


def agent_names(actor: Actor) -> dict[UUID, str]:
    """Give the names of the owner's agents."""
    return {agent.pk: named(agent) for agent in list_agents(actor=actor)}


def _decide(actor: Actor, item_id: UUID, decision: str, posted: Mapping[str, str]) -> None:
    version = _version(posted.get("version", ""))
    if decision == "approve":
        approve(actor=actor, item_id=item_id, version=version)
    elif decision == "reject":
        reject(actor=actor, item_id=item_id, version=version)
    elif decision == "snooze":
        snooze(actor=actor, item_id=item_id, until=snoozed_until(posted), version=version)
    else:
        raise InvalidInput(_("Approve it, reject it, or put it off."), code="decision.invalid", field="decision")


def _version(written: str) -> int:
    if not written.isascii() or not written.isdigit() or len(written) > 9:
        raise InvalidInput(
            _("The form does not say which version it was made from. Load the page again."), code="review.version"
        )
    return int(written)


def _decided_elsewhere(actor: Actor, item_id: UUID) -> str:
    reviewed = get_review(actor=actor, item_id=item_id)
    state = str(words.STATES[reviewed.state])
    return _("Somebody has decided or changed this meanwhile; it is now: %(state)s. Nothing was changed by you.") % {
        "state": state.lower()
    }


def _stay(request: HttpRequest, state: QueueState, item_id: UUID, error: LociError) -> HttpResponse:
    messages.error(request, _sentence(error))
    return HttpResponseRedirect(_address(state, item=str(item_id)))


def _sentence(error: LociError) -> str:
    problem = problem_of(error)
    return f"{problem.message} {problem.advice}".strip()


def _address(state: QueueState, **more: str) -> str:
    return f"{reverse('palace:review')}{state.query(**more)}"


def _view(actor: Actor, reviewed: Reviewed, agents: Mapping[UUID, str], *, revealed: bool) -> ItemView:
    return item_view(
        reviewed,
        behind=memories_behind(actor=actor, items=[reviewed]),
        agents=agents,
        now=now(),
        touched=touched_by(actor=actor, reviewed=reviewed),
        revealed=revealed,
    )


def _page(
    request: HttpRequest,
    actor: Actor,
    reviewed: Reviewed,
    state: QueueState,
    place: Place | None,
    *,
    revealed: bool = False,
) -> HttpResponse:
    agents = agent_names(actor)
    here = str(reviewed.item.pk)
    context: dict[str, Any] = {
        "item": _view(actor, reviewed, agents, revealed=revealed),
        "place": place,
        "following": str((place.after or place.before or "") if place else ""),
        "before": _address(state, item=str(place.before)) if place and place.before else "",
        "after": _address(state, item=str(place.after)) if place and place.after else "",
        "query": state.query(),
        "here_query": state.query(item=here),
        **_queue_context(request, state, agents),
        **surroundings(request, actor),
    }
    return render(request, "palace/review/page.html", context)


def _empty(request: HttpRequest, actor: Actor, state: QueueState) -> HttpResponse:
    context = {
        "item": None,
        "place": None,
        "query": state.query(),
        **_queue_context(request, state, agent_names(actor)),
        **surroundings(request, actor),
    }
    return render(request, "palace/review/page.html", context)


def _queue_context(request: HttpRequest, state: QueueState, agents: Mapping[UUID, str]) -> dict[str, Any]:
    return {
        "choices": choices(state, agents),
        "source": state.value("source"),
        "least": state.value("from"),
        "most": state.value("to"),
        "session": state.value("session"),
        "filtered": state.filtered,
        "state": state.request.state,
        "undoable": recently_decided(request),
    }


def _edit_page(
    request: HttpRequest, actor: Actor, reviewed: Reviewed, state: QueueState, form: ProposalForm, status: int
) -> HttpResponse:
    agents = agent_names(actor)
    if _view(actor, reviewed, agents, revealed=False).masked:
        reveal_review(actor=actor, item_id=reviewed.item.pk, reason=EDITED)
    found = queue_item(actor=actor, request=state.request, item_id=reviewed.item.pk)
    place = found.place if found is not None and found.reviewed.item.pk == reviewed.item.pk else None
    context = {
        "item": _view(actor, reviewed, agents, revealed=True),
        "form": form,
        "following": request.POST.get("following") or str((place.after or place.before or "") if place else ""),
        "version": request.POST.get("version") or str(reviewed.item.version),
        "query": state.query(),
        "back": _address(state, item=str(reviewed.item.pk)),
        **surroundings(request, actor),
    }
    return render(request, "palace/review/edit.html", context, status=status)
