"""Changing what an item of the review proposes before it is approved."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _

from memory.errors import LociError
from memory.models import ReviewState
from memory.palace.errors import add_to_form, problem_of
from memory.palace.review_desk import Desk
from memory.palace.review_flash import keep_decided
from memory.palace.review_forms import FORMS, ProposalForm
from memory.palace.review_pages import after_it, agent_names, place_in, read_version, reason_of, view_of
from memory.palace.review_state import QueueState, read_state
from memory.services.actors import STAFF, Actor
from memory.services.revealing import EDITED, REASONS
from memory.services.review_context import reveal_review
from memory.services.review_decisions import approve
from memory.services.reviews import Reviewed, get_review


def edit(request: HttpRequest, actor: Actor, desk: Desk, item_id: Any) -> HttpResponse:
    """Change what an item proposes, then approve it; staff says first why masked text is shown for it."""
    state = read_state(request.GET)
    reviewed = get_review(actor=actor, item_id=item_id)
    make = FORMS.get(reviewed.item.kind)
    if make is None or reviewed.state not in (ReviewState.OPEN, ReviewState.SNOOZED):
        messages.info(request, _("There is nothing in it that can be changed before it is decided."))
        return HttpResponseRedirect(desk.address(state, item=str(item_id)))
    is_typed = request.method == "POST" and "version" in request.POST
    form = make(reviewed.item.payload, request.POST if is_typed else None)
    if not is_typed:
        return _edit_page(request, actor, desk, reviewed, state, form, 200)
    status = 422
    if form.is_valid():
        try:
            version = read_version(request.POST.get("version", ""))
            approve(actor=actor, item_id=item_id, changes=form.changes(), version=version)
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            keep_decided(request, actor, [item_id], "approve")
            return HttpResponseRedirect(desk.address(state, item=request.POST.get("following", "")))
    return _edit_page(request, actor, desk, reviewed, state, form, status)


def _edit_page(
    request: HttpRequest,
    actor: Actor,
    desk: Desk,
    reviewed: Reviewed,
    state: QueueState,
    form: ProposalForm,
    status: int,
) -> HttpResponse:
    agents, item_id = agent_names(actor, desk), reviewed.item.pk
    shown = view_of(actor, reviewed, agents, revealed=False)
    reason = reason_of(request, actor, EDITED)
    context: dict[str, Any] = {
        "query": state.query(),
        "back": desk.address(state, item=str(item_id)),
        **desk.context(request, actor),
    }
    if shown.masked:
        if actor.kind == STAFF and reason not in REASONS:
            refused = 422 if request.method == "POST" else 200
            return render(request, "palace/review/reason.html", {"item": shown, **context}, status=refused)
        reveal_review(actor=actor, item_id=item_id, reason=reason)
    context |= {
        "item": view_of(actor, reviewed, agents, revealed=True),
        "form": form,
        "reason": reason if actor.kind == STAFF and shown.masked else "",
        "following": request.POST.get("following") or after_it(place_in(actor, state, item_id)),
        "version": request.POST.get("version") or str(reviewed.item.version),
    }
    return render(request, "palace/review/edit.html", context, status=status)
