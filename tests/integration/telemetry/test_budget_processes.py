"""Two processes that spend at once: each stops by what it has spent itself, and a later one does not begin."""

from __future__ import annotations

import os
import subprocess
import sys
from decimal import Decimal

import pytest
from django.db import connections

from memory.services.actors import Actor
from telemetry.services.costs.budgets import BudgetDraft, get_budget, set_budget

OTHER = """
import sys, django
django.setup()
from datetime import UTC, datetime
from uuid import UUID
from django.conf import settings
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[2]
connections.settings["default"]["NAME"] = sys.argv[2]
from decimal import Decimal
from config.settings.prices import Price
settings.MODEL_PRICES = {"chat": Price(input=Decimal(1))}
from memory.errors import BudgetExceeded
from memory.ports.allowance import Intended, require_allowance
from memory.ports.recorder import ModelCalled, model_called
owner = UUID(sys.argv[1])
made = 0
try:
    while made < 1_000:
        require_allowance(Intended(owner_id=owner, agent_id=None, kind="llm", provider="openai", model="chat"))
        model_called(ModelCalled(
            owner_id=owner, agent_id=None, kind="llm", component="x", provider="openai", model="chat",
            input_tokens=10_000, output_tokens=0, seconds=0.1, ok=True, at=datetime.now(UTC)))
        made += 1
except BudgetExceeded:
    print(made)
"""


@pytest.mark.django_db(transaction=True)
def test_processes_together_pass_the_limit_by_no_more_than_they_spend_between_two_looks(alice: Actor) -> None:
    set_budget(actor=alice, draft=BudgetDraft(period="month", hard=1))
    name = str(connections["default"].settings_dict["NAME"])
    command = [sys.executable, "-c", OTHER, str(alice.owner_id), name]
    both = [subprocess.Popen(command, env=os.environ, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    made = [int(process.communicate(timeout=120)[0]) for process in both]
    # Each stops at the limit by what it has spent itself, so that two together spend at most twice of it.
    assert max(made) <= 100, made
    assert sum(made) >= 100
    standing = get_budget(actor=alice, period="month")
    assert standing.spent == sum(made) * Decimal("0.01")
    third = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=True, timeout=120)
    assert third.stdout.strip() == "0"
