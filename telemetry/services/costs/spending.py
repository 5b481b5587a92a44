"""What this process knows of spending, and the word about the next call.

A process knows what was written by all when it last looked, at most five seconds ago, and what it has spent itself
since. So several processes together can pass a hard limit by what the others spend within some six seconds, and each by
the calls that are under way when it is reached.
"""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final
from uuid import UUID

from django.db import DatabaseError, connection

from memory.errors import BudgetExceeded, OwnerPurging
from memory.models import owner_scope
from memory.ports.allowance import Intended
from memory.ports.recorder import GraphRead, JobRan, ModelCalled, RecallObserved
from memory.services.clock import now
from memory.services.gathering import write_at_end
from telemetry.metrics.counting import increase
from telemetry.metrics.definitions import BUDGET_REFUSALS, MODEL_COST
from telemetry.services.costs.limits import Limit, Spent, limits, spent
from telemetry.services.costs.prices import costs_something
from telemetry.services.costs.usage_log import Count, UsageLog

logger = logging.getLogger(__name__)

REFRESH_SECONDS: Final = 5.0


@dataclass(frozen=True, slots=True)
class _Known:
    limits: Sequence[Limit]
    spent: Spent
    looked: float

    def fresh(self, moment: datetime) -> bool:
        """Tell whether it may be relied on: looked at lately, and within the same day and month."""
        lately = time.monotonic() - self.looked < REFRESH_SECONDS
        return lately and self.spent.day.holds(moment) and self.spent.month.holds(moment)


class Spending:
    """Takes in calls, and refuses those that a budget forbids; may be used by several threads at once."""

    def __init__(self, *, writes_itself: bool = True) -> None:
        """Begin with nothing known."""
        self.log = UsageLog(writes_itself=writes_itself)
        self._lock = threading.Lock()
        self._known: dict[UUID, _Known] = {}
        if hasattr(os, "register_at_fork"):
            reference = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _forget_parent(reference))

    def note(self, call: ModelCalled) -> None:
        """Take in a call that somebody's budget is for; costs no query."""
        if call.owner_id is None:
            return
        count = Count.of(call)
        if count.cost:
            increase(MODEL_COST, call.kind, call.component, call.model, by=float(count.cost))
        with self._lock:
            self.log.note(call.owner_id, count)
            known = self._known.get(call.owner_id)
            if known is not None and count.cost:
                added = known.spent.plus([(count.key.hour, count.key.agent_id, count.cost)])
                self._known[call.owner_id] = replace(known, spent=added)

    def require(self, intended: Intended) -> None:
        """Refuse a call of a model that costs, where a hard limit is reached.

        Raises:
            BudgetExceeded: the details say of which period, and when the next one begins.
        """
        if not costs_something(intended.provider, intended.model):
            return
        known = self._present(intended.owner_id)
        for limit in known.limits if known else ():
            if limit.hard is None or limit.agent_id not in (None, intended.agent_id):
                continue
            if known is not None and known.spent.of(limit.place) >= limit.hard:
                increase(BUDGET_REFUSALS, intended.kind)
                period = known.spent.day if limit.period == known.spent.day.sort else known.spent.month
                whose = "This agent's budget" if limit.agent_id else "The budget"
                raise BudgetExceeded(
                    f"{whose} of this {limit.period} for models is used up. What works without a model goes on.",
                    period=str(limit.period),
                    until=period.ends.isoformat(),
                )

    def forget(self, owner_id: UUID) -> None:
        """Drop what waits and what is known of an owner."""
        with self._lock:
            self.log.forget(owner_id)
            self._known.pop(owner_id, None)

    def look_again(self, owner_id: UUID) -> None:
        """Look anew before the owner's next call, since a budget was changed."""
        with self._lock:
            self._known.pop(owner_id, None)

    def begin_anew(self) -> None:
        """Know nothing, with a fresh lock: a thread of the parent may have held the old one at the fork."""
        self._lock = threading.Lock()
        self._known = {}

    def _present(self, owner_id: UUID) -> _Known | None:
        moment = now()
        known = self._known.get(owner_id)
        if known is not None and known.fresh(moment):
            return known
        # Whoever writes goes first, so that what is read and what waits are everything, and nothing twice.
        with self.log.writing:
            known = self._known.get(owner_id)
            if known is not None and known.fresh(moment):
                return known
            return self._look(owner_id, moment)

    def _look(self, owner_id: UUID, moment: datetime) -> _Known | None:
        opened = connection.connection is None
        try:
            with owner_scope(owner_id):
                holding, written = limits(), spent(moment)
        except (DatabaseError, OwnerPurging) as error:
            logger.warning("budgets are looked at later: %s", type(error).__name__)
            return self._known.get(owner_id)
        finally:
            if opened:
                # A thread that embeds has no connection of its own, and nobody would close this one.
                connection.close()
        with self._lock:
            waiting = [(one.key.hour, one.key.agent_id, one.cost) for one in self.log.waiting(owner_id)]
            known = _Known(holding, written.plus(waiting), time.monotonic())
            self._known[owner_id] = known
        return known


def _forget_parent(reference: weakref.ref[Spending]) -> None:
    spending = reference()
    if spending is not None:
        spending.begin_anew()


_spending = Spending()


class UsageRecorder:
    """Counts the calls of models; hears of nothing else."""

    def recalled(self, observed: RecallObserved) -> None:
        """Take no note of recalls."""

    def model_called(self, call: ModelCalled) -> None:
        """Count a call."""
        _spending.note(call)

    def job_ran(self, ran: JobRan) -> None:
        """Take no note of jobs."""

    def graph_read(self, read: GraphRead) -> None:
        """Take no note of reads of the graph."""


def require(intended: Intended) -> None:
    """Refuse a call that a budget forbids; what is asked before each call of a model."""
    _spending.require(intended)


def look_again(owner_id: UUID) -> None:
    """Look at an owner's budgets anew before the next call."""
    _spending.look_again(owner_id)


def flush() -> None:
    """Write all counted calls now; for reports, shutdown and tests."""
    _spending.log.flush()


def forget(owner_id: UUID) -> None:
    """Drop what this process holds of an owner."""
    _spending.forget(owner_id)


write_at_end(flush)
