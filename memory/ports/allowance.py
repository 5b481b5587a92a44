"""Whether a model may be asked now: what somebody who keeps a budget says before each call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Intended:
    """A call of a model that is about to be made.

    Attributes:
        owner_id: for whom.
        agent_id: for which agent; None for a person or a job.
        kind: `embedding`, `llm` or `rerank`.
        provider, model: who is to be asked.
    """

    owner_id: UUID
    agent_id: UUID | None
    kind: str
    provider: str
    model: str


Allowance = Callable[[Intended], None]
"""Raises BudgetExceeded where nothing more may be spent on such a call; answers from what the process knows, and looks
into the database only every few seconds."""

_allowances: Final[list[Allowance]] = []


def add_allowance(allowance: Allowance) -> None:
    """Have somebody asked before each call of a model; for `AppConfig.ready`."""
    if allowance not in _allowances:
        _allowances.append(allowance)


def require_allowance(intended: Intended) -> None:
    """Raise BudgetExceeded where a budget is used up."""
    for allowance in _allowances:
        allowance(intended)
