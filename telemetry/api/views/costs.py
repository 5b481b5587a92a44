"""`/telemetry/usage` and `/telemetry/budgets`: what models cost, and how much they may."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.http import HttpResponseBase
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.preconditions import etag, expected_version, outdated_is_412
from memory.api.serializers.fields import parse_uuid
from memory.api.views.base import LociView
from memory.errors import NotFound
from memory.services.actors import Permission
from telemetry.api.csv_answers import CsvRenderer, CsvSchema, csv_answer, wants_csv
from telemetry.api.serializers.costs import (
    BudgetSerializer,
    BudgetsSerializer,
    SetBudgetSerializer,
    UsageLineSerializer,
    UsageQuery,
    UsageSerializer,
)
from telemetry.models import BudgetPeriod
from telemetry.services.asked import UNKNOWN_AGENT
from telemetry.services.costs.budgets import (
    BudgetDraft,
    BudgetUse,
    budget_version,
    get_budget,
    list_budgets,
    remove_budget,
    set_budget,
)
from telemetry.services.costs.report import UsageRequest, usage_report


class UsageView(LociView):
    """Calls of models and their costs."""

    needs_memory = False
    renderer_classes = [JSONRenderer, CsvRenderer]
    schema = CsvSchema()
    actions = {
        "GET": Action(
            id="get_usage", permission=Permission.TELEMETRY_READ, query=UsageQuery, answers={200: UsageSerializer}
        )
    }

    def get(self, request: Request) -> HttpResponseBase:
        """Add up calls, tokens, time and money of the owner's calls of models, and tell how its budgets stand. A model
        elsewhere without a price is named as unpriced, and is not free. `format=csv`, or an Accept header, gives the
        lines as a table.
        """
        query = self.query
        wanted = UsageRequest(
            days=query.get("days"), since=query.get("from"), until=query.get("until"), by=query.get("by", "day")
        )
        report = usage_report(actor=self.actor, request=wanted)
        if wants_csv(self):
            columns = list(UsageLineSerializer().fields)
            lines = UsageLineSerializer(report.lines, many=True).data
            return csv_answer(columns, ([line[name] for name in columns] for line in lines), name="usage.csv")
        return Response(UsageSerializer(report).data, content_type=JSONRenderer.media_type)


class BudgetsView(LociView):
    """Budgets."""

    needs_memory = False
    actions = {"GET": Action(id="list_budgets", permission=Permission.TELEMETRY_READ, answers={200: BudgetsSerializer})}

    def get(self, request: Request) -> Response:
        """List the owner's budgets and those of agents, with what is spent of each."""
        return Response(BudgetsSerializer({"items": list_budgets(actor=self.actor)}).data)


def _actions(noun: str) -> dict[str, Action]:
    return {
        "GET": Action(
            id=f"get_{noun}", permission=Permission.TELEMETRY_READ, answers={200: BudgetSerializer}, versioned=True
        ),
        "PUT": Action(
            id=f"set_{noun}",
            permission=Permission.SETTINGS,
            rate="write",
            body=SetBudgetSerializer,
            answers={200: BudgetSerializer},
            versioned=True,
        ),
        "DELETE": Action(
            id=f"remove_{noun}", permission=Permission.SETTINGS, rate="write", answers={204: None}, versioned=True
        ),
    }


class BudgetView(LociView):
    """The owner's budget of a day or a month, over all agents."""

    needs_memory = False
    actions = _actions("budget")

    def get(self, request: Request, period: str) -> Response:
        """Give the budget of the `day` or the `month`, with what is spent of it."""
        return _answer(get_budget(actor=self.actor, period=_period(period)))

    @idempotent
    def put(self, request: Request, period: str) -> Response:
        """Set the budget of the `day` or the `month`, in the place of the one that was there. It holds at once in this
        process, and within five seconds in others.
        """
        return _set(self, request, period, None)

    @idempotent
    def delete(self, request: Request, period: str) -> Response:
        """Remove the budget; the installation's default holds again where there is one."""
        return _remove(self, request, period, None)


class AgentBudgetView(LociView):
    """An agent's budget of a day or a month."""

    needs_memory = False
    actions = _actions("agent_budget")

    def get(self, request: Request, period: str, agent_id: str) -> Response:
        """Give an agent's budget of the `day` or the `month`, with what is spent of it."""
        return _answer(get_budget(actor=self.actor, period=_period(period), agent_id=_agent(agent_id)))

    @idempotent
    def put(self, request: Request, period: str, agent_id: str) -> Response:
        """Set an agent's budget, which holds beside that of the owner: whichever is used up first stops it."""
        return _set(self, request, period, _agent(agent_id))

    @idempotent
    def delete(self, request: Request, period: str, agent_id: str) -> Response:
        """Remove an agent's budget."""
        return _remove(self, request, period, _agent(agent_id))


def _set(view: LociView, request: Request, period: str, agent_id: UUID | None) -> Response:
    draft = BudgetDraft(period=_period(period), agent_id=agent_id, **view.body())
    asked = _asked(view, request, period, agent_id)
    with outdated_is_412(asked):
        return _answer(set_budget(actor=view.actor, draft=draft, version=asked))


def _remove(view: LociView, request: Request, period: str, agent_id: UUID | None) -> Response:
    asked = _asked(view, request, period, agent_id)
    with outdated_is_412(asked):
        remove_budget(actor=view.actor, period=_period(period), agent_id=agent_id, version=asked)
    return Response(status=204)


def _asked(view: LociView, request: Request, period: str, agent_id: UUID | None) -> int | None:
    return expected_version(
        request, lambda: budget_version(actor=view.actor, period=_period(period), agent_id=agent_id)
    )


def _answer(budget: BudgetUse) -> Response:
    body: Any = BudgetSerializer(budget).data
    return Response(body, headers={"ETag": etag(budget.version)})


def _agent(text: str) -> UUID:
    """Read the agent of an address; what is no id is like an unknown one."""
    found = parse_uuid(text)
    if found is None:
        raise NotFound(UNKNOWN_AGENT, code="agent.unknown")
    return found


def _period(text: str) -> str:
    """Read a period from a path; raises NotFound for anything else, like for an unknown address."""
    if text not in BudgetPeriod.values:
        raise NotFound("Budgets are for a `day` or a `month`.", code="budget.not_found")
    return text
