"""Erasing for good: what would go, the question once more, and how far it is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import add_never_cache_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from memory.errors import InvalidInput, LociError, NotFound
from memory.models import Purge, PurgeSubject
from memory.palace.access import is_partial, person_page
from memory.palace.errors import add_to_form, error_response, problem_of
from memory.palace.privacy_view import named, purge_view, sorts, stays_said
from memory.palace.purge_forms import EraseForm
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.purge.partial_requests import PartialRequest, begin_partial, preview_partial, purge_seen
from memory.services.purge.receipts import owner_stays
from memory.services.purge.requests import NewPurge, begin_purge, preview_owner, purge_by_token
from memory.services.reauthentication import confirm_person

RECEIPT: Final = "loci-receipt.json"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a page is about to erase: in words, and as the service takes it; None for everything."""

    words: str
    request: PartialRequest | None


@person_page("GET", "HEAD", "POST")
def ask(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show what would be erased; erase it when the person has shown who they are."""
    asked = _asked(request, actor)
    form = EraseForm(request.POST if request.method == "POST" else None, whole=asked.request is None)
    status = 422 if request.method == "POST" else 200
    if form.is_valid():
        try:
            made = _begin(request, actor, asked, form.cleaned_data)
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            if asked.request is None:
                logout(request)
            return HttpResponseRedirect(reverse("palace:purge-state", args=[made.purge.pk, made.token]))
    counts = _counts(actor, asked)
    context = {
        "what": asked.words,
        "whole": asked.request is None,
        "lines": sorts(counts),
        "stays": stays_said(map(asdict, owner_stays())) if asked.request is None else (),
        "form": form,
        **surroundings(request, actor),
    }
    return render(request, "palace/privacy/purge.html", context, status=status)


@require_safe
def state(request: HttpRequest, purge_id: UUID, token: str) -> HttpResponse:
    """Show how far a purge is, and its receipt, to whoever has its address; the login may be gone."""
    try:
        purge = purge_by_token(purge_id=purge_id, token=token, address=request.META.get("REMOTE_ADDR"))
    except LociError as error:
        return error_response(request, error)
    context = {"purge": purge_view(purge, now()), "address": reverse("palace:purge-state", args=[purge_id, token])}
    template = "palace/privacy/progress.html" if is_partial(request) else "palace/privacy/state.html"
    response = render(request, template, context)
    add_never_cache_headers(response)
    return response


@require_safe
def receipt(request: HttpRequest, purge_id: UUID, token: str) -> HttpResponse:
    """Give the receipt of a purge as a file to whoever has its address."""
    try:
        return _receipt(purge_by_token(purge_id=purge_id, token=token, address=request.META.get("REMOTE_ADDR")))
    except LociError as error:
        return error_response(request, error)


@person_page("GET", "HEAD")
def own_receipt(request: HttpRequest, actor: Actor, purge_id: UUID) -> HttpResponse:
    """Give the receipt of one of the owner's purges as a file."""
    return _receipt(purge_seen(actor=actor, purge_id=purge_id))


def _receipt(purge: Purge) -> HttpResponse:
    if purge.receipt is None:
        raise NotFound("The receipt is written when the purge is done.", code="receipt.not_yet")
    response = JsonResponse(purge.receipt, json_dumps_params={"indent": 1, "ensure_ascii": False})
    response["Content-Disposition"] = f'attachment; filename="{RECEIPT}"'
    add_never_cache_headers(response)
    return response


def _asked(request: HttpRequest, actor: Actor) -> Asked:
    subject = request.GET.get("subject", "")
    if subject == PurgeSubject.OWNER:
        return Asked(_("everything, and this login"), None)
    if subject == PurgeSubject.SOURCE:
        source = request.GET.get("source", "")
        return Asked(_("what came from “%(source)s”") % {"source": source}, PartialRequest(source=source))
    if subject == PurgeSubject.AGENT:
        agents = {str(agent.pk): agent for agent in list_agents(actor=actor)}
        agent = agents.get(request.GET.get("agent", ""))
        if agent is None:
            raise NotFound("There is no agent with this id here.")
        return Asked(_("everything of “%(agent)s”") % {"agent": named(agent)}, PartialRequest(agent=agent.pk))
    raise InvalidInput("Say what is to be erased: everything, an agent, or a source.", code="purge.empty")


def _counts(actor: Actor, asked: Asked) -> dict[str, int]:
    if asked.request is None:
        return preview_owner(owner_id=actor.owner_id)
    return preview_partial(actor=actor, request=asked.request).counts


def _begin(request: HttpRequest, actor: Actor, asked: Asked, typed: dict[str, Any]) -> NewPurge:
    confirm_person(actor=actor, password=typed["password"], confirm=typed.get("confirm"), request=request)
    if asked.request is None:
        return begin_purge(actor=actor)
    chosen = PartialRequest(agent=asked.request.agent, source=asked.request.source, seal=typed["seal"])
    return begin_partial(actor=actor, request=chosen)
