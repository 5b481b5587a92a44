"""Budgets: how much models may cost an owner, or one agent, within a day or a month, and how much of it is spent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any
from uuid import UUID

from django.conf import settings

from config.settings.prices import HIGHEST, PLACES
from memory.errors import Conflict, InvalidInput, NotFound
from memory.models import Owner, current_owner, owner_scope
from memory.ports.live import announce_change
from memory.services.actors import Actor, Permission
from memory.services.audit.recording import record
from memory.services.clock import now
from memory.services.consolidation.extracting import try_what_was_not_asked
from telemetry.models import Budget, BudgetPeriod
from telemetry.services.asked import require_agents
from telemetry.services.costs import spending
from telemetry.services.costs.limits import SORT, Limit, Spent, limits, spent
from telemetry.services.costs.periods import Period
from telemetry.services.costs.reached import note_reached
from telemetry.services.coverage import request_vectors


@dataclass(frozen=True, slots=True)
class BudgetUse:
    """A budget and how much of it is spent.

    Attributes:
        agent_id: whose; None is the owner with all agents.
        period: the day or the month, in UTC.
        soft, hard: above the one is warned, from the other on no model is asked that costs; None where there is none.
        spent: in this period so far, in `currency`.
        state: `ok`, `soft` or `hard`, the limit that is reached.
        own: False for the installation's default.
        version: of the budget, for changes; 0 of the default.
    """

    agent_id: UUID | None
    period: Period
    soft: Decimal | None
    hard: Decimal | None
    spent: Decimal
    own: bool
    version: int
    currency: str

    @property
    def state(self) -> str:
        """Tell which limit is reached."""
        if self.hard is not None and self.spent >= self.hard:
            return "hard"
        return "soft" if self.soft is not None and self.spent >= self.soft else "ok"

    @property
    def part(self) -> float | None:
        """Give which part of the highest limit is spent, 1 and more where it is reached; None where that is 0."""
        highest = self.hard if self.hard is not None else self.soft
        return float(self.spent / highest) if highest else None


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetDraft:
    """A budget as it is wished for: amounts as numbers or texts, None for no limit of that sort."""

    period: Any
    soft: Any = None
    hard: Any = None
    agent_id: UUID | None = None


def list_budgets(*, actor: Actor) -> Sequence[BudgetUse]:
    """List the owner's budgets and the agents', with what is spent of each.

    Args:
        actor: who asks; it needs `telemetry:read`.

    Raises:
        PermissionRefused: the permission is missing.
    """
    actor.require(Permission.TELEMETRY_READ)
    spending.flush()
    with owner_scope(actor.owner_id):
        return budget_uses(spent(now()))


def budget_uses(known: Spent) -> Sequence[BudgetUse]:
    """List the budgets of the current owner with what is spent of each."""
    return [_use(one, known) for one in limits()]


def get_budget(*, actor: Actor, period: Any, agent_id: UUID | None = None) -> BudgetUse:
    """Give one budget.

    Raises:
        NotFound: no such agent, or no budget of this period.
        InvalidInput: an unknown period.
        PermissionRefused: `telemetry:read` is missing.
    """
    actor.require(Permission.TELEMETRY_READ)
    spending.flush()
    with owner_scope(actor.owner_id):
        return _present(_period(period), _agent(agent_id))


def set_budget(*, actor: Actor, draft: BudgetDraft, version: int | None = None) -> BudgetUse:
    """Set a budget in the place of the one that was there.

    Args:
        actor: who sets it; it needs `settings:write`.
        draft: the period, the agent where it is one's, and at least one limit.
        version: that of the budget which it takes the place of, 0 for none; any when left out.

    Returns:
        The budget with what is spent of it already.

    Raises:
        InvalidInput: an amount, the period or the order of the limits cannot be used.
        NotFound: no such agent.
        Conflict: the budget was changed meanwhile.
        PermissionRefused: the permission is missing.
    """
    actor.require(Permission.SETTINGS)
    period, soft, hard = _period(draft.period), _amount(draft.soft, "soft"), _amount(draft.hard, "hard")
    if soft is None and hard is None:
        raise InvalidInput("A budget has a soft or a hard limit, or both.", code="budget.empty", field="hard")
    if soft is not None and hard is not None and soft > hard:
        raise InvalidInput("The soft limit is above the hard one.", code="budget.order", field="soft")
    spending.flush()
    with owner_scope(actor.owner_id):
        agent_id = _agent(draft.agent_id)
        row = _locked(period, agent_id)
        _require_version(row, version)
        moment = now()
        if row is None:
            row = Budget(owner_id=actor.owner_id, agent_id=agent_id, period=period, version=0)
        row.soft, row.hard, row.updated_at = soft, hard, moment
        row.version += 1
        row.save()
        record(
            actor=actor.label, verb="change", object_kind="budget", object_id=agent_id, reason=period.value, at=moment
        )
        _changed(moment)
        announce_change(actor.owner_id, SORT, str(agent_id or ""), row.version)
        found = _present(period, agent_id)
    spending.look_again(actor.owner_id)
    return found


def remove_budget(*, actor: Actor, period: Any, agent_id: UUID | None = None, version: int | None = None) -> None:
    """Remove a budget; the installation's default holds again where there is one.

    Raises:
        NotFound: no such agent, or no budget of its own for this period.
        InvalidInput: an unknown period.
        Conflict: the budget was changed meanwhile.
        PermissionRefused: `settings:write` is missing.
    """
    actor.require(Permission.SETTINGS)
    chosen = _period(period)
    with owner_scope(actor.owner_id):
        row = _locked(chosen, _agent(agent_id))
        if row is None:
            raise NotFound("There is no such budget to remove.", code="budget.not_found")
        _require_version(row, version)
        Budget.objects.filter(pk=row.pk).delete()
        moment = now()
        record(
            actor=actor.label, verb="reset", object_kind="budget", object_id=agent_id, reason=chosen.value, at=moment
        )
        _changed(moment)
        announce_change(actor.owner_id, SORT, str(agent_id or ""))
    spending.look_again(actor.owner_id)


def budget_version(*, actor: Actor, period: Any, agent_id: UUID | None = None) -> int:
    """Give the version of a budget, 0 where there is none; to callers that may change it."""
    actor.require(Permission.SETTINGS)
    with owner_scope(actor.owner_id):
        row = _rows(_period(period), _agent(agent_id)).first()
        return row.version if row is not None else 0


def _changed(moment: datetime) -> None:
    """Note what is reached now, and let what was forbidden be tried when every process knows of the change."""
    known = moment + timedelta(seconds=spending.REFRESH_SECONDS)
    try_what_was_not_asked(at=moment, due_at=known)
    request_vectors.try_again(at=known)
    note_reached(at=moment)


def _use(limit: Limit, known: Spent) -> BudgetUse:
    return BudgetUse(
        agent_id=limit.agent_id,
        period=known.day if limit.period == BudgetPeriod.DAY else known.month,
        soft=limit.soft,
        hard=limit.hard,
        spent=known.of(limit.place),
        own=limit.own,
        version=limit.version,
        currency=settings.PRICE_CURRENCY,
    )


def _present(period: BudgetPeriod, agent_id: UUID | None) -> BudgetUse:
    for one in budget_uses(spent(now())):
        if (one.period.sort, one.agent_id) == (period, agent_id):
            return one
    raise NotFound("There is no such budget.", code="budget.not_found")


def _rows(period: BudgetPeriod, agent_id: UUID | None) -> Any:
    rows = Budget.objects.filter(period=period)
    return rows.filter(agent_id=agent_id) if agent_id else rows.filter(agent_id=None)


def _locked(period: BudgetPeriod, agent_id: UUID | None) -> Budget | None:
    # A budget that is not there yet cannot be locked, so changes of an owner's budgets take their turns.
    Owner.objects.select_for_update(no_key=True).get(pk=current_owner())
    row: Budget | None = _rows(period, agent_id).select_for_update().first()
    return row


def _require_version(row: Budget | None, version: int | None) -> None:
    if version is not None and version != (row.version if row is not None else 0):
        raise Conflict("The budget was changed meanwhile. Nothing was changed.", code="budget.version")


def _period(value: Any) -> BudgetPeriod:
    if value not in BudgetPeriod.values:
        raise InvalidInput("A budget is for a `day` or a `month`.", code="budget.period_invalid", field="period")
    return BudgetPeriod(value)


def _agent(agent_id: UUID | None) -> UUID | None:
    if agent_id is not None:
        require_agents((agent_id,))
    return agent_id


def _amount(value: Any, field: str) -> Decimal | None:
    """Read an amount exactly; a number of JSON is read with the digits that it came with."""
    if value is None or value == "":
        return None
    refused = InvalidInput(
        f"{field} is an amount from 0 to {HIGHEST} with at most {PLACES} decimal places.",
        code="budget.amount_invalid",
        field=field,
    )
    if isinstance(value, bool) or not isinstance(value, str | int | float | Decimal):
        raise refused
    try:
        found = Decimal(value.strip() if isinstance(value, str) else str(value)[:64])
    except InvalidOperation:
        raise refused from None
    if not found.is_finite() or not 0 <= found <= HIGHEST or found != round(found, PLACES):
        raise refused
    return round(found, PLACES)
