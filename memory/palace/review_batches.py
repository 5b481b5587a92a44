"""Review in batches: the queue as a list by where items come from, decided alike after a counted preview."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import InvalidInput, LociError
from memory.models import ReviewState
from memory.palace import review_words as words
from memory.palace.errors import problem_of
from memory.palace.review_desk import Desk
from memory.palace.review_flash import keep_decided
from memory.palace.review_pages import SNOOZES, agent_names, item_ids, queue_context
from memory.palace.review_state import QueueState, read_state
from memory.palace.review_view import ItemView, item_view, preview
from memory.privacy.masking import masked_value
from memory.services.actors import STAFF, Actor
from memory.services.clock import now
from memory.services.review_context import memories_behind
from memory.services.review_decisions import decide_many
from memory.services.review_queue import Origin, QueueRequest, queue_origins, queue_page
from memory.services.reviews import Reviewed, get_reviews

PAGE_ROWS: Final = 50
SNOOZED_FOR: Final = "week"
DECISIONS: Final = ("approve", "reject", "snooze")


@dataclass(frozen=True, slots=True)
class Row:
    """An item in the list."""

    view: ItemView
    preview: str


@dataclass(frozen=True, slots=True)
class Heap:
    """Items of one origin: in words, how many, and where they are listed."""

    sort: str
    label: str
    items: int
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Effect:
    """What a decision does with the items of one kind."""

    kind: str
    items: int
    does: str


def batch(request: HttpRequest, actor: Actor, desk: Desk) -> HttpResponse:
    """List the items of the queue; ask before several are decided alike, then decide them."""
    state = read_state(request.GET)
    if request.method != "POST":
        return _list(request, actor, desk, state)
    decision = request.POST.get("decision", "")
    try:
        ids = item_ids(request)
        if decision not in DECISIONS:
            raise InvalidInput(_("Approve them, reject them, or put them off."), code="decision.invalid")
        if request.POST.get("confirmed") != "yes":
            return _preview(request, actor, desk, state, decision, ids)
        return _decide(request, actor, desk, state, decision, ids)
    except LociError as error:
        if error.status >= 500:
            raise
        problem = problem_of(error)
        messages.error(request, f"{problem.message} {problem.advice}".strip())
        return _list(request, actor, desk, state, status=problem.status)


def _decide(
    request: HttpRequest, actor: Actor, desk: Desk, state: QueueState, decision: str, ids: Sequence[UUID | str]
) -> HttpResponse:
    until = now() + SNOOZES[SNOOZED_FOR] if decision == "snooze" else None
    results = decide_many(actor=actor, item_ids=ids, decision=decision, until=until)
    done = [one.item_id for one in results if one.error is None]
    refused = [one.error for one in results if one.error is not None]
    keep_decided(request, actor, done, decision)
    if refused:
        stayed = ngettext("%(count)s item stayed as it was.", "%(count)s items stayed as they were.", len(refused)) % {
            "count": len(refused)
        }
        reasons = " ".join(dict.fromkeys(problem_of(error).message for error in refused))
        messages.warning(request, f"{stayed} {reasons}")
    return HttpResponseRedirect(desk.address(state, "review-batch"))


def _preview(
    request: HttpRequest, actor: Actor, desk: Desk, state: QueueState, decision: str, ids: Sequence[UUID | str]
) -> HttpResponse:
    found = get_reviews(actor=actor, item_ids=[one for one in ids if isinstance(one, UUID)])
    waiting = [one for one in found if one.state in (ReviewState.OPEN, ReviewState.SNOOZED)]
    if not waiting:
        raise InvalidInput(_("None of these items waits any more. Nothing was changed."), code="review.none")
    context = {
        "decision": decision,
        "ids": [str(one.item.pk) for one in waiting],
        "gone": len(ids) - len(waiting),
        "total": len(waiting),
        "effects": _effects(decision, waiting),
        "query": state.query(),
        **desk.context(request, actor),
    }
    return render(request, "palace/review/sure.html", context)


def _effects(decision: str, items: Sequence[Reviewed]) -> list[Effect]:
    counts: dict[str, int] = {}
    for one in items:
        counts[one.item.kind] = counts.get(one.item.kind, 0) + 1
    return [Effect(str(words.KINDS[kind]), count, _does(decision, kind)) for kind, count in sorted(counts.items())]


def _does(decision: str, kind: str) -> str:
    if decision == "approve":
        return str(words.APPROVING[kind])
    if decision == "reject":
        return str(words.REJECTING.get(kind, words.NOTHING_HAPPENS))
    return _("it waits again in a week.")


def _list(request: HttpRequest, actor: Actor, desk: Desk, state: QueueState, *, status: int = 200) -> HttpResponse:
    after = read_after(request)
    found = queue_page(actor=actor, request=state.request, after=after, size=PAGE_ROWS + 1)
    shown = found.items[:PAGE_ROWS]
    agents = agent_names(actor, desk)
    behind = memories_behind(actor=actor, items=shown)
    moment = now()
    views = [item_view(one, behind=behind, agents=agents, now=moment, own=actor.kind != STAFF) for one in shown]
    context: dict[str, Any] = {
        "rows": [Row(view, preview(view)) for view in views],
        "total": found.total,
        "heaps": _heaps(actor, desk, state, agents),
        **queue_context(request, actor, state, agents),
        "waits": state.request.state in (ReviewState.OPEN, ReviewState.SNOOZED),
        "further": after is not None,
        "next": state.query(after=str(shown[-1].item.pk)) if len(found.items) > PAGE_ROWS else "",
        "back": state.query(back="batch"),
        **desk.context(request, actor),
    }
    return render(request, "palace/review/batch.html", context, status=status)


def read_after(request: HttpRequest) -> UUID | None:
    """Give the last item of the page before; raises InvalidInput for what is no id."""
    written = request.GET.get("after", "")
    try:
        return UUID(written) if written else None
    except ValueError as error:
        raise InvalidInput(
            _("This page of the list does not exist. Begin with its first page."), code="cursor.invalid"
        ) from error


def _heaps(actor: Actor, desk: Desk, state: QueueState, agents: dict[UUID, str]) -> list[Heap]:
    """Give where the items of this state come from, whatever else is filtered by."""
    request = QueueRequest(state=state.request.state)
    return [
        Heap(
            sort=origin.sort,
            label=_origin_label(origin, agents),
            items=origin.items,
            address=_origin_address(desk, origin, state),
            chosen=_asked(origin) in state.written,
        )
        for origin in queue_origins(actor=actor, request=request)
    ]


def _origin_label(origin: Origin, agents: dict[UUID, str]) -> str:
    if origin.sort == "agent":
        return agents.get(UUID(origin.value), _("an agent"))
    return str(masked_value(origin.label)) if origin.label else _("a conversation whose name cannot be read")


def _origin_address(desk: Desk, origin: Origin, state: QueueState) -> str:
    kept = tuple((name, value) for name, value in state.written if name in ("state", "order"))
    chosen = QueueState(state.request, (*kept, _asked(origin)), None)
    return desk.address(chosen, "review-batch")


def _asked(origin: Origin) -> tuple[str, str]:
    """Give how an address asks for an origin: what is masked in the list is not to stand in the link either."""
    if origin.key is not None and masked_value(origin.label) != origin.label:
        return "origin", str(origin.key)
    return origin.sort, origin.value
