"""One fault has one code, whether the interface finds it or a service that something else calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from memory.errors import LociError
from memory.services.actors import Actor
from memory.services.agents import create_group, create_key
from memory.services.context import build_context
from memory.services.drafts import Draft
from memory.services.exporting import export_stream
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from tests.integration.api.conftest import Client

DRAFTS: list[dict[str, Any]] = [
    {"text": 7},
    {"text": ["x"]},
    {"text": ""},
    {"kind": "turn"},
    {"kind": "opinion"},
    {"tier": "working"},
    {"category": 7},
    {"category": "x" * 65},
    {"importance": "0.5"},
    {"importance": True},
    {"importance": 2},
    {"tags": "one"},
    {"tags": [7]},
    {"tags": ["x"] * 51},
    {"tags": ["x" * 201]},
    {"metadata": "x"},
    {"metadata": {"x": "y" * 20_000}},
    {"source": 7},
    {"occurred_at": "soon"},
    {"valid_from": "2026-02-01", "valid_until": "2026-01-01"},
]
BLOCKS: list[dict[str, Any]] = [{"format": "xml"}, {"cleaning": "none"}, {"max_tokens": 49}, {"max_tokens": 32_001}]
RECALLS: list[dict[str, Any]] = [{"limit": 0}, {"threshold": 2}, {"scope": ""}, {"occurred_from": "soon"}]


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(LociError) as caught:
        call()
    return caught.value.machine_code


def answered(response: Any) -> str:
    assert 400 <= response.status_code < 500
    return str(response.json()["code"])


@pytest.mark.parametrize("fields", DRAFTS, ids=lambda fields: repr(fields)[:30])
def test_faults_of_a_statement(agent: Client, fields: dict[str, Any]) -> None:
    values = {"text": "fine", **fields}
    by_service = refused(lambda: remember(actor=agent.actor, draft=Draft(**values)))
    assert answered(agent.json("post", "/memories", values)) == by_service


@pytest.mark.parametrize("fields", BLOCKS, ids=repr)
def test_faults_of_a_block(agent: Client, fields: dict[str, Any]) -> None:
    options = {"form" if name == "format" else name: value for name, value in fields.items()}
    request = RecallRequest(query="tea")
    by_service = refused(lambda: build_context(actor=agent.actor, request=request, **options))
    assert answered(agent.json("post", "/context", {"query": "tea", **fields})) == by_service


@pytest.mark.parametrize("fields", RECALLS, ids=repr)
def test_faults_of_a_recall(agent: Client, fields: dict[str, Any]) -> None:
    by_service = refused(lambda: recall(actor=agent.actor, request=RecallRequest(query="tea", **fields)))
    assert answered(agent.json("post", "/recall", {"query": "tea", **fields})) == by_service


def test_faults_of_an_export(agent: Client) -> None:
    by_service = refused(lambda: export_stream(actor=agent.actor, form="csv"))
    assert answered(agent.json("get", "/export?form=csv")) == by_service


@pytest.mark.parametrize("scopes", [["everything"], []], ids=["unknown", "none"])
def test_faults_of_a_key(alice: Actor, agent: Client, scopes: list[str]) -> None:
    by_service = refused(lambda: create_key(actor=alice, agent_id=uuid4(), label="x", scopes=scopes))
    body = {"label": "x", "scopes": scopes}
    assert answered(agent.json("post", f"/agents/{agent.actor.agent_id}/keys", body)) == by_service


def test_faults_of_a_group(alice: Actor, agent: Client) -> None:
    by_service = refused(lambda: create_group(actor=alice, kind="crowd", name="x"))
    assert answered(agent.json("post", "/groups", {"kind": "crowd", "name": "x"})) == by_service
