"""The actions of `manage.py telemetry` about costs and budgets."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from memory.errors import InvalidInput
from memory.management.answers import answer, counted
from memory.management.owners import acting_for
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.amounts import owners
from memory.services.legible import UNREADABLE, legible
from telemetry.management.actions import ActionSpec, InstallationAction, Options, Write
from telemetry.management.arguments import agent_id, moment, up_to
from telemetry.models import BudgetPeriod
from telemetry.services.costs.breakdown import GROUPS
from telemetry.services.costs.budgets import BudgetDraft, BudgetUse, list_budgets, remove_budget, set_budget
from telemetry.services.costs.installation import InstallationUsage, installation_usage
from telemetry.services.costs.prices import shown
from telemetry.services.costs.report import MOST_DAYS, UsageReport, UsageRequest, usage_report
from telemetry.services.costs.sums import NAMES, Sums

STATES: Final = {"ok": "within it", "soft": "soft limit reached", "hard": "used up"}


def show_usage(options: Options, write: Write) -> None:
    """Show what models cost an owner, or with `--all` all owners together."""
    request = UsageRequest(days=options["days"], since=options["since"], until=options["until"], by=options["by"])
    if options["all"]:
        if options["owner"]:
            raise InvalidInput("--all is about all owners; leave --owner out.", code="usage.owner_or_all")
        together = installation_usage(request=request)
        value = {**_usage(together), "owners": together.owners}
        lines = [f"{owners(together.owners)} had calls.", *_lines(together)]
        answer(write, value, as_json=options["json"], lines=lines)
        return
    actor = acting_for(options["owner"])
    report, names = usage_report(actor=actor, request=request), _names(actor)
    value = {**_usage(report), "budgets": [_budget(one, names) for one in report.budgets]}
    lines = [*_lines(report), *(_sentence(one, names) for one in report.budgets)]
    answer(write, value, as_json=options["json"], lines=lines)


def budgets(actor: Actor, options: Options, write: Write) -> None:
    """List an owner's budgets, after setting or removing one where a period is named."""
    period, named = options["period"], options["agent"]
    if period is None and (options["remove"] or options["soft"] or options["hard"] or named is not None):
        raise InvalidInput("Name the period too: day or month.", code="budget.period_invalid")
    whose = agent_id(actor, named)
    if period is not None and options["remove"]:
        remove_budget(actor=actor, period=period, agent_id=whose)
    elif period is not None:
        draft = BudgetDraft(period=period, soft=options["soft"], hard=options["hard"], agent_id=whose)
        set_budget(actor=actor, draft=draft)
    found, names = list_budgets(actor=actor), _names(actor)
    lines = [_sentence(one, names) for one in found] or ["There is no budget."]
    answer(write, {"budgets": [_budget(one, names) for one in found]}, as_json=options["json"], lines=lines)


def _names(actor: Actor) -> dict[UUID | None, str]:
    return {agent.pk: legible(agent, "name") or UNREADABLE for agent in list_agents(actor=actor)}


def _usage(report: UsageReport | InstallationUsage) -> dict[str, Any]:
    return {
        "since": report.since,
        "until": report.until,
        "by": report.by,
        "currency": report.currency,
        "lines": [{"key": line.key, "label": line.label, **_sums(line)} for line in report.lines],
        "total": _sums(report.total),
        "unpriced": list(report.unpriced),
        "other_costs": {currency: shown(cost) for currency, cost in report.other_costs.items()},
    }


def _sums(line: Sums) -> dict[str, Any]:
    """Give sums under the names that the REST API has for them."""
    numbers = {name: getattr(line, name) for name in NAMES if name != "duration_us"}
    return {**numbers, "seconds": line.seconds, "cost": shown(line.cost)}


def _budget(one: BudgetUse, names: Mapping[UUID | None, str]) -> dict[str, Any]:
    return {
        "agent_id": one.agent_id,
        "agent": names.get(one.agent_id),
        "period": one.period.sort.value,
        "soft": None if one.soft is None else shown(one.soft),
        "hard": None if one.hard is None else shown(one.hard),
        "spent": shown(one.spent),
        "currency": one.currency,
        "state": one.state,
        "begins": one.period.begins,
        "ends": one.period.ends,
        "own": one.own,
        "version": one.version,
    }


def _lines(report: UsageReport | InstallationUsage) -> Sequence[str]:
    beside = {line.key: f" ({line.key})" if report.by == "agent" and line.key else "" for line in report.lines}
    found = [f"{line.label}{beside[line.key]}: {_told(line, report.currency)}" for line in report.lines]
    found.append(f"Together: {_told(report.total, report.currency)}")
    if report.unpriced:
        found.append(f"Without a price, and not free: {', '.join(report.unpriced)}. Add them to MODEL_PRICES.")
    for currency, cost in report.other_costs.items():
        found.append(f"Counted while prices were in {currency}, and added nowhere: {shown(cost)} {currency}.")
    return found


def _told(line: Sums, currency: str) -> str:
    tokens = f"{line.input_tokens + line.output_tokens:,} tokens"
    failed = f", {line.failures:,} failed" if line.failures else ""
    return f"{shown(line.cost)} {currency}, {counted(line.calls, 'call')}{failed}, {tokens}"


def _sentence(one: BudgetUse, names: Mapping[UUID | None, str]) -> str:
    whose = f"{names.get(one.agent_id, UNREADABLE)} ({one.agent_id})" if one.agent_id else "All together"
    limits = [f"warned from {shown(one.soft)}"] if one.soft is not None else []
    limits += [f"at most {shown(one.hard)}"] if one.hard is not None else []
    default = "" if one.own else ", the installation's default"
    spent = f"{shown(one.spent)} {one.currency} spent"
    return f"{whose}, this {one.period.sort.value}: {spent}; {', '.join(limits)}: {STATES[one.state]}{default}."


def _take_window(parser: ArgumentParser) -> None:
    parser.add_argument("--owner", metavar="LOGIN", help="the owner's login, where there are several")
    parser.add_argument("--all", action="store_true", help="all owners together, without telling them apart")
    parser.add_argument("--by", choices=list(GROUPS), default="day", help="by what calls are grouped (day)")
    parser.add_argument("--days", type=up_to(MOST_DAYS), metavar="N", help="the last N days (30)")
    parser.add_argument("--from", dest="since", type=moment, metavar="DATE", help="from this day or moment on")
    parser.add_argument("--until", type=moment, metavar="DATE", help="before this day or moment")


def _take_budget(parser: ArgumentParser) -> None:
    parser.add_argument("period", nargs="?", choices=BudgetPeriod.values, help="which one to set; left out: list them")
    parser.add_argument("--soft", metavar="AMOUNT", help="warn from here on")
    parser.add_argument("--hard", metavar="AMOUNT", help="ask no model that costs from here on")
    parser.add_argument("--agent", metavar="AGENT", help="an agent's own budget, by its name or id")
    parser.add_argument("--remove", action="store_true", help="remove it instead")


ACTIONS: Final[Mapping[str, ActionSpec | InstallationAction]] = {
    "usage": InstallationAction("show what models cost", show_usage, _take_window),
    "budgets": ActionSpec("list budgets for models, or set one", budgets, _take_budget),
}
