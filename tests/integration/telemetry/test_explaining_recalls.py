"""The plans of a recall: of its own statements, without the question, for whoever made it or a person."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memory.errors import NotFound
from memory.models import MemoryAccess, RecallRecord, owner_scope
from memory.services.actors import Actor, operator
from memory.services.clock import now
from telemetry.services.recalls.explaining import explain_recall, without_values
from tests.integration.api.conftest import Client
from tests.integration.telemetry.recalls import ask, fill, observed


def test_plans_of_the_arms_are_given_and_nothing_is_kept(alice: Actor) -> None:
    fill(alice)
    answer = ask(alice, 'Which "billing service" is deployed on 2026-05-04?')
    before = len(observed(alice))
    found = explain_recall(actor=alice, recall_id=answer.recall_id)
    assert (found.recall_id, found.profile) == (answer.recall_id, "default")
    assert {"gather", "arm.dense", "arm.lexical", "open"} <= {one.stage for one in found.statements}
    text = "\n".join(line for one in found.statements for line in one.lines)
    assert "actual" in text
    assert "Execution Time" in text
    assert len(observed(alice)) == before
    with owner_scope(alice.owner_id):
        assert RecallRecord.objects.count() == 1
        assert MemoryAccess.objects.count() == 0


def test_plans_hold_no_value_of_the_question(alice: Actor) -> None:
    fill(alice)
    found = explain_recall(actor=alice, recall_id=ask(alice, "deployed on 2026-05-04").recall_id)
    lines = [line for one in found.statements for line in one.lines]
    assert not [line for line in lines if "'" in line]
    assert not [line for line in lines if str(alice.owner_id) in line]
    assert not [line for line in lines if "2026" in line]


def test_values_are_taken_out_of_every_line_but_measurements() -> None:
    lines = [
        "Index Scan using a_b_1 on memory_memory m  (cost=0.15..8.17 rows=1 width=32) (actual time=0.01..0.02 rows=1)",
        "  Index Cond: ((owner_id = '01a2'::uuid) AND (created_at > 17))",
        "  Filter: (text ~ 'it''s",
        "two lines') AND (word = ANY ('{-5,6}'::bigint[]))",
        "  Buffers: shared hit=12",
        "Execution Time: 0.5 ms",
    ]
    assert without_values(lines) == (
        lines[0],
        "  Index Cond: ((owner_id = ?::uuid) AND (created_at > ?))",
        "  Filter: (text ~ ?) AND (word = ANY (?::bigint[]))",
        "  Buffers: shared hit=12",
        "Execution Time: 0.5 ms",
    )


def test_a_person_and_the_caller_may_ask_and_nobody_else(
    agent: Client, colleague: Client, woman: Client, stranger: Client
) -> None:
    fill(agent.actor)
    path = f"/telemetry/recall/{ask(agent.actor).recall_id}/explain"
    for client, status in ((agent, 200), (woman, 200), (colleague, 404), (stranger, 404)):
        assert client.json("post", path).status_code == status
    assert agent.json("post", path).json()["statements"][0]["lines"]


def test_an_expired_explanation_is_not_there(alice: Actor) -> None:
    fill(alice)
    answer = ask(alice)
    assert explain_recall(actor=operator(alice.owner_id), recall_id=answer.recall_id).statements
    with owner_scope(alice.owner_id):
        RecallRecord.objects.update(created_at=now() - timedelta(days=7, minutes=1))
    with pytest.raises(NotFound):
        explain_recall(actor=alice, recall_id=answer.recall_id)
