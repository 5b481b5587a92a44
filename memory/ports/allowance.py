"""Whether a model may be asked now: what somebody who keeps a budget says before each call that leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final
from uuid import UUID

Allowance = Callable[[UUID, UUID | None, str], None]
"""Takes the owner, the agent and the kind (`embedding`, `llm`, `rerank`); raises BudgetExceeded where nothing more may
be spent. Answers from what the process knows, within microseconds."""

_allowances: Final[list[Allowance]] = []


def add_allowance(allowance: Allowance) -> None:
    """Have somebody asked before each call of a model that leaves; for `AppConfig.ready`."""
    if allowance not in _allowances:
        _allowances.append(allowance)


def require_allowance(owner_id: UUID, agent_id: UUID | None, kind: str) -> None:
    """Raise BudgetExceeded where a budget is used up."""
    for allowance in _allowances:
        allowance(owner_id, agent_id, kind)
