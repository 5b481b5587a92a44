"""What a person does about a memory beside correcting it: dispute it, link it, decide what stands against it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from memory.errors import InvalidInput, LociError
from memory.models import EdgeKind
from memory.palace.access import person_page
from memory.palace.errors import problem_of
from memory.palace.memory_page import PREVIEWED
from memory.palace.memory_ties import OUTGOING
from memory.palace.presenters import card
from memory.palace.views.memory import shown, to_page
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.disputes import dispute_memory
from memory.services.graph.edges import link_memories, unlink_memories
from memory.services.memories import get_memory
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.review_decisions import approve, reject, undo
from memory.services.ties import note_mention
from memory.services.versions import restore_version

FOUND: Final = 8
MOST_QUESTION_CHARACTERS: Final = 1_000


@person_page("GET", "HEAD", "POST")
def dispute(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Ask what is wrong with a memory, and put that before whoever reviews."""
    row = get_memory(actor=actor, memory_id=memory_id)
    context: dict[str, Any] = {"about": card(row, now(), characters=PREVIEWED), "reason": "", "problem": None}
    if request.method != "POST":
        return shown(request, actor, "dispute", context)
    reason = request.POST.get("reason", "").replace("\r\n", "\n")
    try:
        _item, created = dispute_memory(actor=actor, memory_id=memory_id, reason=reason)
    except LociError as error:
        context |= {"reason": reason, "problem": problem_of(error)}
        return shown(request, actor, "dispute", context, status=context["problem"].status)
    if created:
        messages.success(request, _("Disputed. It stays as it is until you decide under Review."))
    else:
        messages.info(request, _("This dispute is known already."))
    return to_page(memory_id)


@person_page("GET", "HEAD", "POST")
def link(request: HttpRequest, actor: Actor, memory_id: UUID) -> HttpResponse:
    """Look for the memory to link with, and link the two."""
    row = get_memory(actor=actor, memory_id=memory_id)
    question = (request.POST if request.method == "POST" else request.GET).get("q", "")[:MOST_QUESTION_CHARACTERS]
    moment = now()
    context: dict[str, Any] = {
        "about": card(row, moment, characters=PREVIEWED),
        "q": question,
        "found": [],
        "kinds": [(kind.value, str(OUTGOING[kind])) for kind in EdgeKind],
        "kind": request.POST.get("kind", EdgeKind.RELATED_TO),
        "relationship": request.POST.get("relationship", ""),
        "problem": None,
    }
    status = 200
    if request.method == "POST":
        try:
            link_memories(
                actor=actor,
                source_id=memory_id,
                target_id=_id(request.POST.get("target", "")),
                kind=request.POST.get("kind", EdgeKind.RELATED_TO),
                relationship=request.POST.get("relationship", "").strip() or None,
            )
        except LociError as error:
            context["problem"] = problem_of(error)
            status = context["problem"].status
        else:
            messages.success(request, _("Linked."))
            return to_page(memory_id)
    if question.strip():
        asked = RecallRequest(query=question, limit=FOUND + 1, reinforce=False, record=False)
        hits = [hit.memory for hit in recall(actor=actor, request=asked).hits if hit.memory.pk != memory_id]
        context["found"] = [card(one, moment, characters=PREVIEWED) for one in hits[:FOUND]]
    return shown(request, actor, "link", context, status=status)


@person_page("POST")
def unlink(request: HttpRequest, actor: Actor, memory_id: UUID, edge_id: UUID) -> HttpResponse:
    """Take a link away."""
    unlink_memories(actor=actor, memory_id=memory_id, edge_id=edge_id)
    messages.success(request, _("The link is gone; both memories stay."))
    return to_page(memory_id)


@person_page("POST")
def note_name(request: HttpRequest, actor: Actor, memory_id: UUID, entity_id: UUID) -> HttpResponse:
    """Note that a memory speaks of somebody or something whose name stands in it."""
    note_mention(actor=actor, memory_id=memory_id, entity_id=entity_id)
    messages.success(request, _("Noted: it speaks of this."))
    return to_page(memory_id)


@person_page("POST")
def go_back(request: HttpRequest, actor: Actor, memory_id: UUID, number: int) -> HttpResponse:
    """Make a memory say again what an earlier version said."""
    restore_version(actor=actor, memory_id=memory_id, number=number)
    messages.success(request, _("It says again what it said then. What it said until now stands in its history."))
    return to_page(memory_id)


@person_page("POST")
def decide(request: HttpRequest, actor: Actor, memory_id: UUID, item_id: UUID) -> HttpResponse:
    """Decide a contradiction or a dispute of a memory, or take the decision back."""
    decisions: dict[str, Callable[..., Any]] = {"approve": approve, "reject": reject, "undo": undo}
    chosen = decisions.get(request.POST.get("decision", ""))
    if chosen is None:
        raise InvalidInput(_("Choose one of the decisions."), code="decision.invalid", field="decision")
    chosen(actor=actor, item_id=item_id)
    messages.success(request, _("Decided. You can take it back here or under Review."))
    return to_page(memory_id)


def _id(value: str) -> UUID:
    try:
        return UUID(value)
    except ValueError as error:
        raise InvalidInput(_("Choose the memory to link with."), code="field.required", field="target") from error
