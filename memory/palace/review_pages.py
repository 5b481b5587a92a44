"""Review: what waits for the person's judgement, one item at a time beside what it was drawn from."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import Conflict, InvalidInput, LociError
from memory.palace import review_words as words
from memory.palace.access import is_partial
from memory.palace.errors import problem_of
from memory.palace.privacy_view import named
from memory.palace.review_desk import Desk
from memory.palace.review_flash import keep_decided, recently_decided
from memory.palace.review_state import Choice, QueueState, choices, read_state
from memory.palace.review_view import ItemView, item_view
from memory.privacy.masking import masked_value
from memory.services.actors import STAFF, Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.revealing import ASKED
from memory.services.review_context import memories_behind, reveal_review, touched_by
from memory.services.review_decisions import MOST_AT_ONCE, approve, decide_many, reject, snooze
from memory.services.review_queue import Place, queue_item, queue_page, source_named
from memory.services.reviews import Reviewed, get_review

SNOOZES: Final = {"day": timedelta(days=1), "week": timedelta(days=7)}


def queue(request: HttpRequest, actor: Actor, desk: Desk) -> HttpResponse:
    """Show the item of the queue that the address names, else the first one."""
    state = read_state(request.GET)
    if is_partial(request):
        # Only how many there are: a page that is open says when there are more, and changes nothing under the reader.
        total = queue_page(actor=actor, request=state.request, size=1).total
        return render(request, "palace/review/news.html", {"total": total, "address": desk.address(state)})
    found = queue_item(actor=actor, request=state.request, item_id=state.item_id)
    if found is None:
        return _empty(request, actor, desk, state)
    return _page(request, actor, desk, found.reviewed, state, found.place)


def item(request: HttpRequest, actor: Actor, desk: Desk, item_id: UUID) -> HttpResponse:
    """Show one item, whatever became of it."""
    return _page(request, actor, desk, get_review(actor=actor, item_id=item_id), read_state(request.GET), None)


def reveal(request: HttpRequest, actor: Actor, desk: Desk, item_id: UUID) -> HttpResponse:
    """Show one item without masks, this once. Only a form reveals; the address alone leads to the item."""
    state = read_state(request.GET)
    if request.method != "POST":
        return HttpResponseRedirect(desk.address(state, item=str(item_id)))
    try:
        reviewed, _behind = reveal_review(actor=actor, item_id=item_id, reason=reason_of(request, actor, ASKED))
    except InvalidInput as error:
        return _stay(request, desk, state, item_id, error)
    place = place_in(actor, state, item_id)
    return _page(request, actor, desk, reviewed, state, place, revealed=True)


def decide(request: HttpRequest, actor: Actor, desk: Desk, item_id: UUID) -> HttpResponse:
    """Decide one item and go to the next one."""
    state = read_state(request.GET)
    decision, following = request.POST.get("decision", ""), request.POST.get("following", "")
    try:
        _decide(actor, item_id, decision, request.POST)
    except Conflict as error:
        if error.machine_code not in ("review.version", "review.decided"):
            return _stay(request, desk, state, item_id, error)
        messages.warning(request, _decided_elsewhere(actor, item_id))
    except LociError as error:
        return _stay(request, desk, state, item_id, error)
    else:
        keep_decided(request, actor, [item_id], decision)
    return HttpResponseRedirect(desk.address(state, item=following))


def undo(request: HttpRequest, actor: Actor, desk: Desk) -> HttpResponse:
    """Take decisions back and go to the first of the items, which is open again."""
    state = read_state(request.GET)
    ids = item_ids(request)
    results = decide_many(actor=actor, item_ids=ids, decision="undo")
    refused = [one.error for one in results if one.error is not None]
    done = len(results) - len(refused)
    keep_decided(request, actor, [], "")
    if done:
        said = ngettext("Taken back: %(count)s item waits again.", "Taken back: %(count)s items wait again.", done) % {
            "count": done
        }
        messages.success(request, said)
    for error in refused[:3]:
        messages.error(request, _sentence(error))
    first = next((str(one.item_id) for one in results if one.error is None), "")
    if request.GET.get("back") == "batch":
        return HttpResponseRedirect(desk.address(state, "review-batch"))
    return HttpResponseRedirect(desk.address(state, item=first))


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


def agent_names(actor: Actor, desk: Desk) -> dict[UUID, str]:
    """Give the names of the owner's agents, as the desk shows them."""
    names = {agent.pk: named(agent) for agent in list_agents(actor=actor)}
    return {pk: str(masked_value(name)) for pk, name in names.items()} if desk.masks_agents else names


def reason_of(request: HttpRequest, actor: Actor, own: str) -> str:
    """Give why masked text is shown: what staff says in the form, else the word for a person's own."""
    return request.POST.get("reason", "") if actor.kind == STAFF else own


def place_in(actor: Actor, state: QueueState, item_id: UUID) -> Place | None:
    """Give the place of an item in the queue; None where it is not in it."""
    found = queue_item(actor=actor, request=state.request, item_id=item_id)
    return found.place if found is not None and found.reviewed.item.pk == item_id else None


def after_it(place: Place | None) -> str:
    """Give the id of the item that comes when this one is decided; empty where there is none."""
    return str((place.after or place.before or "") if place else "")


def _decide(actor: Actor, item_id: UUID, decision: str, posted: Mapping[str, str]) -> None:
    version = read_version(posted.get("version", ""))
    if decision == "approve":
        approve(actor=actor, item_id=item_id, version=version)
    elif decision == "reject":
        reject(actor=actor, item_id=item_id, version=version)
    elif decision == "snooze":
        snooze(actor=actor, item_id=item_id, until=snoozed_until(posted), version=version)
    else:
        raise InvalidInput(_("Approve it, reject it, or put it off."), code="decision.invalid", field="decision")


def read_version(written: str) -> int:
    """Read the version of an item from a form; raises InvalidInput for what is none."""
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


def _stay(request: HttpRequest, desk: Desk, state: QueueState, item_id: UUID, error: LociError) -> HttpResponse:
    messages.error(request, _sentence(error))
    return HttpResponseRedirect(desk.address(state, item=str(item_id)))


def _sentence(error: LociError) -> str:
    problem = problem_of(error)
    return f"{problem.message} {problem.advice}".strip()


def view_of(actor: Actor, reviewed: Reviewed, agents: Mapping[UUID, str], *, revealed: bool) -> ItemView:
    """Describe an item with all that is behind it and that it touches."""
    return item_view(
        reviewed,
        behind=memories_behind(actor=actor, items=[reviewed]),
        agents=agents,
        now=now(),
        touched=touched_by(actor=actor, reviewed=reviewed),
        revealed=revealed,
        own=actor.kind != STAFF,
    )


def _page(
    request: HttpRequest,
    actor: Actor,
    desk: Desk,
    reviewed: Reviewed,
    state: QueueState,
    place: Place | None,
    *,
    revealed: bool = False,
) -> HttpResponse:
    agents = agent_names(actor, desk)
    here = str(reviewed.item.pk)
    context: dict[str, Any] = {
        "item": view_of(actor, reviewed, agents, revealed=revealed),
        "place": place,
        "following": after_it(place),
        "before": desk.address(state, item=str(place.before)) if place and place.before else "",
        "after": desk.address(state, item=str(place.after)) if place and place.after else "",
        "here_query": state.query(item=here),
        **queue_context(request, actor, state, agents),
        **desk.context(request, actor),
    }
    return render(request, "palace/review/page.html", context)


def _empty(request: HttpRequest, actor: Actor, desk: Desk, state: QueueState) -> HttpResponse:
    context = {
        "item": None,
        "place": None,
        **queue_context(request, actor, state, agent_names(actor, desk)),
        **desk.context(request, actor),
    }
    return render(request, "palace/review/page.html", context)


def _origin(actor: Actor, state: QueueState) -> Choice | None:
    """Give the source that the address chooses by its keyed label, as it may be shown."""
    if state.request.source_label is None:
        return None
    name = source_named(actor=actor, label=state.request.source_label)
    return Choice(state.value("origin"), str(masked_value(name)) if name else _("a source that is not there"), True)


def queue_context(request: HttpRequest, actor: Actor, state: QueueState, agents: Mapping[UUID, str]) -> dict[str, Any]:
    """Give what the pages of the queue show of its state: the filters, and what can be taken back."""
    return {
        "query": state.query(),
        "choices": choices(state, agents),
        "source": state.value("source"),
        "origin": _origin(actor, state),
        "least": state.value("from"),
        "most": state.value("to"),
        "session": state.value("session"),
        "filtered": state.filtered,
        "state": state.request.state,
        "undoable": recently_decided(request, actor),
    }
