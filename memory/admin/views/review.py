"""What is in doubt, of the chosen owner: the least sure and oldest first, decided by the services of the palace."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from memory.admin.access import staff_page
from memory.admin.lists import uuid_in
from memory.admin.owner_choice import require_same
from memory.admin.row_actions import chosen_ids
from memory.admin.views.frame import page
from memory.errors import InvalidInput, LociError
from memory.models import Agent, ReviewKind, ReviewState, owner_scope
from memory.palace.errors import problem_of
from memory.palace.review_view import ItemView, item_view, preview
from memory.services.actors import Actor
from memory.services.audit.access_log import agent_names
from memory.services.clock import now
from memory.services.review_context import memories_behind, touched_by
from memory.services.review_decisions import approve, decide_many, reject, snooze, undo
from memory.services.review_queue import MOST_DAYS, QueueRequest, queue_page
from memory.services.reviews import Reviewed, get_review

PER_PAGE: Final = 25
PUT_OFF: Final = timedelta(days=7)
DECISIONS: Final = ("approve", "reject", "snooze", "undo")
ORDERS: Final = (
    ("doubtful", gettext_lazy("least sure first")),
    ("surest", gettext_lazy("surest first")),
    ("oldest", gettext_lazy("oldest first")),
    ("newest", gettext_lazy("newest first")),
)
ALL: Final = ("", gettext_lazy("all"))


def _days(label: Any) -> forms.IntegerField:
    return forms.IntegerField(label=label, required=False, min_value=1, max_value=MOST_DAYS)


class FilterForm(forms.Form):
    """Which doubts: by state, kind, confidence and age."""

    state = forms.ChoiceField(
        label=gettext_lazy("State"), required=False, choices=[(one.value, one.label) for one in ReviewState]
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), required=False, choices=[ALL, *((one.value, one.label) for one in ReviewKind)]
    )
    least = forms.IntegerField(label=gettext_lazy("From % sure"), required=False, min_value=0, max_value=100)
    most = forms.IntegerField(label=gettext_lazy("To % sure"), required=False, min_value=0, max_value=100)
    newer = _days(gettext_lazy("At most days old"))
    older = _days(gettext_lazy("At least days old"))
    order = forms.ChoiceField(label=gettext_lazy("Order"), required=False, choices=ORDERS)

    def wanted(self) -> QueueRequest:
        """Give the request for the queue; what cannot be used is left out, and the form says so."""
        typed: dict[str, Any] = self.cleaned_data if self.is_valid() else {}
        least, most = typed.get("least") or 0, typed.get("most")
        upper = 100 if most is None else most
        return QueueRequest(
            state=typed.get("state") or ReviewState.OPEN,
            kinds=(typed["kind"],) if typed.get("kind") else (),
            least=min(least, upper) / 100,
            most=max(least, upper) / 100,
            newer_days=typed.get("newer"),
            older_days=typed.get("older"),
            order=typed.get("order") or "doubtful",
        )


@staff_page("GET", "HEAD", "POST")
def queue(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List what is in doubt, and decide several alike."""
    if request.method == "POST":
        return _decide_many(request, actor)
    form = FilterForm(request.GET)
    asked = form.wanted()
    found = queue_page(actor=actor, request=asked, after=uuid_in(request.GET.get("after", "")), size=PER_PAGE + 1)
    items = found.items[:PER_PAGE]
    views = _views(actor, items)
    following = request.GET.copy()
    following["after"] = str(items[-1].item.pk) if items else ""
    context = {
        "form": form,
        "total": found.total,
        "lines": [{"view": view, "preview": preview(view)} for view in views],
        "decisions": _decisions(asked.state),
        "following": f"?{following.urlencode()}" if len(found.items) > PER_PAGE else "",
        "begun": bool(request.GET.get("after")),
    }
    return page(request, "review", _("Review"), context, 200 if form.is_valid() else 422)


@staff_page("GET", "HEAD", "POST")
def item(request: HttpRequest, actor: Actor, item_id: UUID) -> HttpResponse:
    """Show one doubt beside its evidence, and decide it."""
    problem = None
    if request.method == "POST":
        require_same(request, actor)
        try:
            _decide(actor, item_id, request.POST.get("decision", ""), request.POST.get("version", ""))
        except LociError as error:
            problem = problem_of(error)
        else:
            messages.success(request, _("Decided. It can be taken back on the page of the doubt."))
            return HttpResponseRedirect(reverse("loci-admin:review"))
    reviewed = get_review(actor=actor, item_id=item_id)
    touched = touched_by(actor=actor, reviewed=reviewed)
    behind = memories_behind(actor=actor, items=[reviewed])
    view = item_view(reviewed, behind=behind, agents=_agents(actor), now=now(), touched=touched)
    context = {"item": view, "problem": problem, "decisions": _decisions(view.state)}
    return page(request, "review_item", view.kind_label, context, problem.status if problem else 200)


def _views(actor: Actor, items: tuple[Reviewed, ...]) -> list[ItemView]:
    behind, agents, moment = memories_behind(actor=actor, items=items), _agents(actor), now()
    return [item_view(one, behind=behind, agents=agents, now=moment) for one in items]


def _agents(actor: Actor) -> dict[UUID, str]:
    with owner_scope(actor.owner_id):
        return agent_names(set(Agent.objects.values_list("pk", flat=True)))


def _decisions(state: str) -> list[tuple[str, Any]]:
    if state in (ReviewState.APPROVED, ReviewState.REJECTED):
        return [("undo", _("Take the decision back"))]
    return [("approve", _("Approve")), ("reject", _("Reject")), ("snooze", _("Put off for a week"))]


def _decide(actor: Actor, item_id: UUID, decision: str, version: str) -> None:
    stood = int(version) if version.isdecimal() and len(version) < 10 else None
    if decision == "approve":
        approve(actor=actor, item_id=item_id, version=stood)
    elif decision == "reject":
        reject(actor=actor, item_id=item_id, version=stood)
    elif decision == "snooze":
        snooze(actor=actor, item_id=item_id, until=now() + PUT_OFF, version=stood)
    elif decision == "undo":
        undo(actor=actor, item_id=item_id, version=stood)
    else:
        raise InvalidInput(_("Choose what to do. Nothing was changed."), code="rows.no_action")


def _decide_many(request: HttpRequest, actor: Actor) -> HttpResponse:
    require_same(request, actor)
    decision = request.POST.get("decision", "")
    if decision not in DECISIONS:
        raise InvalidInput(_("Choose what to do. Nothing was changed."), code="rows.no_action")
    until = now() + PUT_OFF if decision == "snooze" else None
    results = decide_many(actor=actor, item_ids=chosen_ids(request), decision=decision, until=until)
    refused = [one.error for one in results if one.error is not None]
    done = len(results) - len(refused)
    if done:
        messages.success(
            request, ngettext("%(count)s doubt decided.", "%(count)s doubts decided.", done) % {"count": done}
        )
    for sentence in dict.fromkeys(error.message for error in refused):
        messages.error(request, sentence)
    return HttpResponseRedirect(request.get_full_path())
