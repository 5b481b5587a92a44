"""The database refuses rows that the application never writes and could not read in its reports."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from memory.ids import new_id
from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from telemetry.models import ModelUsage, RecallExperiment, RecallFeedback, TunerChange, TunerState
from telemetry.services.costs.budgets import BudgetDraft, set_budget
from telemetry.services.recalls.recording import flush
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events
from telemetry.services.turns.test_mode import set_test_mode
from tests.integration.telemetry.recalls import observe

pytestmark = pytest.mark.django_db

MOMENTS = ("'infinity'", "'-infinity'", "'10000-01-01'", "'0044-03-15 BC'")
SHARES = ("'NaN'", "'Infinity'", "-0.1", "1.1")
REFUSED: dict[str, dict[str, tuple[str, ...]]] = {
    "turnevent": {
        "occurred_at": MOMENTS,
        "received_at": MOMENTS,
        "stream": ("'prod'", "''"),
        "outcome": ("'lost'", "''"),
        "pii_kinds": ("'{NULL}'",),
    },
    "recallobservation": {
        "created_at": MOMENTS,
        "relevances": ("'{NaN}'", "'{0.5,NULL}'", "'{1.5}'", "'{-1}'", "'{{0.1},{0.2}}'", "'{Infinity}'"),
        "threshold": SHARES,
        "degraded": ("'{NULL}'", "'{{a},{b}}'"),
        "stages": (
            "'[]'",
            "'[{}]'",
            "'3'",
            "'null'",
            "'\"a\"'",
            '\'{"a": "b"}\'',
            "'{\"a\": null}'",
            "'{\"a\": [1]}'",
            "'{\"a\": -1}'",
            "'{\"a\": 1e400}'",
            '\'{"a": {"b": 1}}\'',
        ),
        "experiment_arm": ("'third'",),
    },
    "recallfeedback": {"created_at": MOMENTS},
    "recallexperiment": {"started_at": MOMENTS, "ended_at": MOMENTS, "share": SHARES, "agents": ("'{NULL}'",)},
    "tunerchange": {
        "created_at": MOMENTS,
        "undone_at": MOMENTS,
        "before": SHARES,
        "after": SHARES,
        "ndcg": SHARES,
    },
    "tunerstate": {"looked_until": MOMENTS, "ndcg": SHARES, "threshold": SHARES},
    "telemetrystate": {
        "test_mode_since": MOMENTS,
        "switched_at": ("'{infinity}'", "'{-infinity}'", "'{NULL}'", "'{{2026-01-01},{2026-01-02}}'"),
    },
    "modelusage": {"hour": MOMENTS, "cost": ("'NaN'", "-0.1")},
    "budget": {
        "updated_at": MOMENTS,
        "period": ("'year'", "''"),
        "soft": ("'NaN'", "-1", "1000000001"),
        "hard": ("'NaN'", "-1", "1000000001"),
    },
}
PLANTED = [
    (table, column, value)
    for table, columns in REFUSED.items()
    for column, values in columns.items()
    for value in values
]


@pytest.fixture
def filled(alice: Actor) -> Actor:
    """Let there be a row in each table."""
    record_events(actor=alice, events=[TurnDraft(request="Hello")])
    set_test_mode(actor=alice, enabled=True)
    observe(alice, stages={"dense": 0.01}, degraded=("arm.timeout:graph",))
    flush()
    set_budget(actor=alice, draft=BudgetDraft(period="day", soft="0.5", hard=1))
    at = now()
    with owner_scope(alice.owner_id):
        RecallFeedback.objects.create(recall_id=new_id(), helpful=True, caller=alice.owner_id, created_at=at)
        RecallExperiment.objects.create(label="x", control="default", variant="prax", started_at=at)
        TunerChange.objects.create(
            setting="recall_threshold", before=0.3, after=0.25, ndcg=0.9, recalls=9, reason="x", created_at=at
        )
        TunerState.objects.create(ndcg=0.9, threshold=0.3)
        ModelUsage.objects.create(hour=at, kind="llm", component="recall", currency="USD", cost=Decimal("0.1"))
    return alice


def change(owner: Actor, table: str, column: str, value: str) -> int:
    """Change a column of an owner's rows, as somebody with the database's password could."""
    with owner_scope(owner.owner_id), connection.cursor() as cursor:
        cursor.execute(f"UPDATE telemetry_{table} SET {column} = {value} WHERE owner_id = %s", [owner.owner_id])
        return int(cursor.rowcount)


def test_what_cannot_be_read_is_refused(filled: Actor) -> None:
    taken = []
    for table, column, value in PLANTED:
        assert change(filled, table, column, column) == 1
        try:
            with transaction.atomic():
                change(filled, table, column, value)
        except DatabaseError:
            continue
        taken.append((table, column, value))
    assert taken == []


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("turnevent", "occurred_at", "'0001-01-03'"),
        ("recallobservation", "relevances", "'{0,1}'"),
        ("recallobservation", "relevances", "'{}'"),
        ("recallobservation", "stages", "'{}'"),
        ("recallexperiment", "ended_at", "NULL"),
        ("tunerstate", "ndcg", "NULL"),
        ("telemetrystate", "switched_at", "'{}'"),
        ("budget", "soft", "NULL"),
        ("budget", "hard", "1000000000"),
    ],
)
def test_what_can_be_read_is_taken(filled: Actor, table: str, column: str, value: Any) -> None:
    assert change(filled, table, column, value) == 1
