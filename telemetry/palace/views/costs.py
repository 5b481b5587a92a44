"""The page about costs: what models cost, by what, and how much they may."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.errors import LociError, NotFound
from memory.palace.access import person_page
from memory.palace.errors import add_to_form
from memory.palace.privacy_view import named
from memory.services.actors import Actor
from memory.services.agents import list_agents
from telemetry.palace.costs_forms import BudgetForm
from telemetry.palace.costs_view import KINDS, budget_rows, cost_rows, money, numbers, trend, warnings
from telemetry.palace.forms_of_pages import form_of
from telemetry.palace.frame import frame
from telemetry.services.asked import days_of
from telemetry.services.costs.budgets import remove_budget, set_budget
from telemetry.services.costs.report import DAYS, MOST_DAYS, UsageRequest, usage_report

WINDOWS: Final = (7, 30, 90, 365)
GROUPS: Final = {
    "component": gettext_lazy("Part of Loci"),
    "agent": gettext_lazy("Agent"),
    "model": gettext_lazy("Model"),
    "kind": gettext_lazy("Kind of model"),
}
"""What the tables below the trend are grouped by, and their titles."""
SET: Final = {
    "day": gettext_lazy("The budget of today is set. It holds at once."),
    "month": gettext_lazy("The budget of this month is set. It holds at once."),
}
LABELS: Final = {"kind": KINDS}


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show what models cost, and the budgets."""
    return _page(request, actor)


@form_of("telemetry:costs")
def save_budget(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Set a budget."""
    form = _form(_agents(actor), request.POST)
    if form.is_valid():
        try:
            kept = set_budget(actor=actor, draft=form.draft())
        except LociError as error:
            add_to_form(form, error)
        else:
            messages.success(request, SET[kept.period.sort.value])
            return HttpResponseRedirect(f"{reverse('telemetry:costs')}#budgets")
    form.focus_first_error()
    return _page(request, actor, form, status=422)


@form_of("telemetry:costs")
def drop_budget(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Remove a budget."""
    version = request.POST.get("version", "")
    remove_budget(
        actor=actor,
        period=request.POST.get("period", ""),
        agent_id=_agent(request.POST.get("agent", "")),
        version=int(version) if version.isascii() and version.isdigit() and len(version) < 10 else None,
    )
    messages.success(request, _("The budget is removed."))
    return HttpResponseRedirect(f"{reverse('telemetry:costs')}#budgets")


def _agents(actor: Actor) -> list[tuple[UUID, str]]:
    return [(agent.pk, named(agent)) for agent in list_agents(actor=actor)]


def _agent(sent: str) -> UUID | None:
    """Read an agent's id; raises NotFound for anything that is none, like for an unknown one."""
    try:
        return UUID(sent) if sent else None
    except ValueError:
        raise NotFound("There is no agent with this id here.", code="agent.unknown") from None


def _form(agents: Sequence[tuple[UUID, str]], data: Any = None) -> BudgetForm:
    return BudgetForm(data, agents=agents, currency=settings.PRICE_CURRENCY)


def _page(request: HttpRequest, actor: Actor, form: BudgetForm | None = None, *, status: int = 200) -> HttpResponse:
    days = days_of(request.GET.get("days", "").strip() or str(DAYS), most=MOST_DAYS)
    report = usage_report(actor=actor, request=UsageRequest(days=days, by="day", also=tuple(GROUPS)))
    agents = _agents(actor)
    budgets = budget_rows(report.budgets, dict(agents))
    context = {
        "days": days,
        "address": reverse("telemetry:costs"),
        "windows": WINDOWS,
        "report": report,
        "priced": bool(settings.MODEL_PRICES),
        "figures": numbers(report, report.spent_today, report.spent_this_month),
        "budgets": budgets,
        "warnings": warnings(budgets),
        "groups": [
            (name, str(title), cost_rows(report.further[name], report.currency, labels=LABELS.get(name)))
            for name, title in GROUPS.items()
        ],
        "unpriced": report.unpriced,
        "other_costs": [money(cost, currency) for currency, cost in report.other_costs.items()],
        "trend": trend(report),
        "form": form or _form(agents),
        **frame(request, actor),
    }
    return render(request, "telemetry/costs.html", context, status=status)
