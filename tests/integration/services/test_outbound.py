"""What left for providers is recorded for whom it was sent, exactly, and neither a rollback nor a forger changes it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test import override_settings

from memory import tasks
from memory.crypto.keyring import keyring
from memory.errors import PermissionRefused
from memory.ids import new_id
from memory.models import OutboundRequest, Owner, RunTrigger, owner_scope
from memory.ports.outbound import SENDING, Behalf, Outgoing, on_behalf_of
from memory.providers import composition
from memory.providers.json_over_http import JsonOverHttp, Unreachable
from memory.providers.outbound.recording import unowned
from memory.services import outbound
from memory.services.actors import Actor
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.drafts import Draft
from memory.services.health import health_findings
from memory.services.outbound import KEPT, OutboundLog, list_outbound
from memory.services.profiles import change_profile
from memory.services.questions import RecallRequest
from memory.services.recall import recall
from memory.services.remember import remember
from memory.services.settings import change_settings
from memory.services.turns import TurnDraft, ingest_turns
from tests.contract.providers.loopback_server import LoopbackServer, Received, Reply, as_json, openai

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, tzinfo=UTC)


def told(actor: Actor) -> list[outbound.Sent]:
    return list(list_outbound(actor=actor, after=None, size=1_000))


def request_of(actor: Actor, number: int = 0, outcome: str = "2xx") -> Outgoing:
    return Outgoing(
        id=new_id(),
        behalf=Behalf(actor.owner_id, "store"),
        kind="embedding",
        host="embeddings.example",
        size=number,
        digest=hashlib.sha256(str(number).encode()).digest(),
        outcome=outcome,
        at=AT + timedelta(seconds=number),
    )


class Everything:
    """One server for all kinds of provider; it keeps the exact bytes that came."""

    def __init__(self) -> None:
        self.server = LoopbackServer(self.answer)
        self.failing = 0

    def answer(self, request: Received) -> Reply:
        if self.failing:
            self.failing -= 1
            return Reply(503)
        if request.path.endswith("/rerank"):
            texts = request.body["documents"]
            return as_json({"results": [{"index": at, "relevance_score": 1.0 / (at + 1)} for at in range(len(texts))]})
        if request.path.endswith("/chat/completions"):
            return as_json({"choices": [{"message": {"content": '{"words": ["boat"]}'}}]})
        return openai(request)

    def bodies(self) -> list[tuple[str, int]]:
        """Give digest and size of each body, written as providers are sent it, in order."""
        raw = [json.dumps(one.body, ensure_ascii=False).encode() for one in self.server.received]
        return [(hashlib.sha256(body).hexdigest(), len(body)) for body in raw]


@pytest.fixture
def providers() -> Iterator[Everything]:
    """Give a server, with embedder, language model and reranker configured to it."""
    made = Everything()
    with ExitStack() as stack:
        server = stack.enter_context(made.server)
        stack.enter_context(
            override_settings(
                EMBEDDING_PROVIDER="openai",
                EMBEDDING_BASE_URL=server.address,
                EMBEDDING_MODEL="e",
                LLM_BASE_URL=server.address,
                LLM_MODEL="m",
                RERANKER_PROVIDER="http",
                RERANKER_URL=server.address,
            )
        )
        stack.callback(composition.embedder().inner.close)  # type: ignore[attr-defined]
        # The first vector of all only tells the width, and belongs to nobody.
        assert composition.embedder().dimension
        made.server.received.clear()
        stack.callback(composition.language_model().close)  # type: ignore[attr-defined]
        stack.callback(composition.reranker().inner.close)  # type: ignore[attr-defined]
        yield made
    composition.forget_providers()


def test_every_request_of_every_kind_is_recorded_for_its_owner(
    alice: Actor, mallory: Actor, providers: Everything
) -> None:
    change_settings(actor=alice, changes={"consolidation_extractor": "llm", "sleep": "llm"})
    for profile in ("default", "prax"):
        change_profile(actor=alice, name=profile, changes={"expand": True, "reranker": "cross_encoder"})
    before = unowned()
    for text in ("Anna has a blue boat.", "Ben sold his car.", "Carl likes plums."):
        remember(actor=alice, draft=Draft(text=text))
    turns = [TurnDraft(draft=Draft(text=f"Turn {number} about the boat.", role="user")) for number in range(4)]
    ingest_turns(actor=alice, session="s", turns=turns)
    for profile in ("default", "prax"):
        recall(actor=alice, request=RecallRequest(query="What does Anna's neighbour sail?", profile=profile))
    run = run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=list(Group))
    assert run is not None
    found = told(alice)
    assert unowned() == before
    assert sorted((one.sha256, one.size) for one in found) == sorted(providers.bodies())
    assert {one.kind for one in found} == {"embedding", "llm", "rerank"}
    assert {"store", "recall", "recall_expand", "memory_consolidation"} <= {one.component for one in found}
    assert all(one.genuine and one.left and one.outcome == "2xx" and one.host == "127.0.0.1" for one in found)
    assert [one.at for one in found] == sorted((one.at for one in found), reverse=True)
    assert told(mallory) == []


def test_each_attempt_is_recorded_and_a_failure_says_what_it_was(alice: Actor, providers: Everything) -> None:
    providers.failing = 1
    remember(actor=alice, draft=Draft(text="Anna has a blue boat."))
    later, first = told(alice)
    assert (first.outcome, later.outcome) == ("5xx", "2xx")
    assert first.sha256 == later.sha256
    closed = JsonOverHttp("http://127.0.0.1:9", kind="llm")
    with on_behalf_of(alice.owner_id, "test"), pytest.raises(Unreachable):
        closed.post("http://127.0.0.1:9", {"a": 1}, seconds=5)
    refused = [one for one in told(alice) if one.kind == "llm"]
    assert refused
    assert {(one.outcome, one.left, one.component) for one in refused} == {("ConnectError", False, "test")}


def test_what_is_sent_for_nobody_is_counted_and_not_kept(alice: Actor, providers: Everything) -> None:
    before = unowned().get("embedding", 0)
    composition.embedder().embed(["a probe"])
    assert unowned()["embedding"] == before + 1
    assert told(alice) == []


def test_a_request_stands_in_the_log_before_its_answer_comes(alice: Actor) -> None:
    seen: list[outbound.Sent] = []
    asked, looked = threading.Event(), threading.Event()

    def answer(_: Received) -> Reply:
        asked.set()
        looked.wait(20)
        return Reply()

    def send() -> None:
        with on_behalf_of(alice.owner_id, "test"):
            provider.post(server.address, {"a": 1})
        provider.close()

    with LoopbackServer(answer) as server:
        provider = JsonOverHttp(server.address, kind="llm")
        sending = threading.Thread(target=send)
        sending.start()
        assert asked.wait(20)
        seen += told(alice)
        looked.set()
        sending.join()
    assert [(one.outcome, one.left, one.genuine) for one in seen] == [(SENDING, True, True)]
    assert [(one.outcome, one.genuine) for one in told(alice)] == [("2xx", True)]


def test_an_outcome_is_not_taken_back_by_a_record_that_comes_late(alice: Actor) -> None:
    ended = request_of(alice)
    outbound.note(ended)
    outbound.flush()
    outbound.note(replace(ended, outcome=SENDING))
    assert [one.outcome for one in told(alice)] == ["2xx"]


def test_only_the_newest_are_kept_of_each_owner(alice: Actor, mallory: Actor) -> None:
    for number in range(KEPT - 10):
        outbound.note(request_of(alice, number))
    outbound.flush()
    for number in range(KEPT - 10, KEPT + 20):
        outbound.note(request_of(alice, number))
    outbound.note(request_of(mallory))
    assert [one.size for one in told(alice)] == list(range(KEPT + 19, 19, -1))
    assert len(told(mallory)) == 1


def test_more_than_are_kept_do_not_wait_for_the_database(alice: Actor) -> None:
    log = OutboundLog(writes_itself=False)
    for number in range(KEPT + 20):
        log.note(request_of(alice, number))
    log.flush()
    assert {one.size for one in told(alice)} == set(range(20, KEPT + 20))


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "rerank"),
        ("component", "other"),
        ("host", "elsewhere.example"),
        ("size", 9),
        ("digest", hashlib.sha256(b"other").digest()),
        ("outcome", "ConnectError"),
        ("created_at", AT - timedelta(days=1)),
        ("signature", bytes(32)),
    ],
    ids=lambda value: value if isinstance(value, str) else "value",
)
def test_whoever_writes_the_table_cannot_forge_a_row(alice: Actor, column: str, value: Any) -> None:
    outbound.note(request_of(alice, 1))
    assert [one.genuine for one in told(alice)] == [True]
    with owner_scope(alice.owner_id):
        OutboundRequest.objects.update(**{column: value})
    assert [one.genuine for one in told(alice)] == [False]


def test_whoever_reads_the_table_cannot_confirm_what_they_guess(alice: Actor) -> None:
    requests = [request_of(alice, 1), replace(request_of(alice, 1), at=AT + timedelta(hours=1))]
    for one in requests:
        outbound.note(one)
    assert {one.sha256 for one in told(alice)} == {requests[0].digest.hex()}
    with owner_scope(alice.owner_id):
        stored = {bytes(row.digest) for row in OutboundRequest.objects.all()}
    assert len(stored) == 2
    assert requests[0].digest not in stored


def test_a_row_of_another_owner_or_with_another_id_is_not_genuine(alice: Actor, mallory: Actor) -> None:
    outbound.note(request_of(alice, 1))
    outbound.flush()
    with owner_scope(alice.owner_id):
        fields = OutboundRequest.objects.values("kind", "component", "host", "size", "digest", "signature").get()
        OutboundRequest.objects.create(**fields, outcome="2xx", created_at=AT + timedelta(seconds=1))
    with owner_scope(mallory.owner_id):
        OutboundRequest.objects.create(**fields, outcome="2xx", created_at=AT + timedelta(seconds=1))
    assert sorted(one.genuine for one in told(alice)) == [False, True]
    assert [one.genuine for one in told(mallory)] == [False]


def test_it_is_shown_to_whoever_manages_privacy_only(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice)
    with pytest.raises(PermissionRefused):
        list_outbound(actor=agent, after=None, size=10)


def test_pages_go_on_where_the_one_before_ended(alice: Actor) -> None:
    same = AT + timedelta(days=1)
    for number in range(7):
        outbound.note(replace(request_of(alice, number), at=same))
    seen: list[outbound.Sent] = []
    while page := list_outbound(actor=alice, after=(seen[-1].at, seen[-1].id) if seen else None, size=3):
        seen += page
    assert sorted(one.size for one in seen) == list(range(7))


def test_records_of_an_owner_who_is_gone_or_erased_are_dropped(alice: Actor, mallory: Actor) -> None:
    log = OutboundLog(writes_itself=False)
    stranger = replace(mallory, owner_id=new_id())
    log.note(request_of(stranger))
    Owner.objects.filter(pk=mallory.owner_id).update(purging_at=AT)
    log.note(request_of(mallory))
    log.note(request_of(alice))
    log.flush()
    log.flush()
    assert not log._waiting
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM memory_outboundrequest WHERE owner_id <> %s", [alice.owner_id])
        assert cursor.fetchone() == (0,)
    assert len(told(alice)) == 1


@pytest.mark.django_db(transaction=True)
def test_a_rollback_of_the_work_does_not_take_the_record_back(
    alice: Actor, providers: Everything, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The real thread writes, on a connection of its own."""
    log = OutboundLog()
    monkeypatch.setattr(outbound, "_log", log)

    with transaction.atomic(), on_behalf_of(alice.owner_id, "test"):
        composition.embedder().embed(["a text of work that is undone"])
        transaction.set_rollback(True)
    thread = log._thread
    if thread is not None:
        thread.join(20)
        assert not thread.is_alive()
    with owner_scope(alice.owner_id):
        assert [row.outcome for row in OutboundRequest.objects.all()] == ["2xx"]


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("language model", {"LLM_BASE_URL": "https://api.example", "LLM_MODEL": "m"}),
        ("embedder", {"EMBEDDING_PROVIDER": "openai", "EMBEDDING_BASE_URL": "https://api.example"}),
        ("reranker", {"RERANKER_PROVIDER": "http", "RERANKER_URL": "https://api.example"}),
    ],
    ids=["llm", "embedder", "reranker"],
)
def test_a_host_that_is_not_allowed_shows_in_the_health(name: str, settings: dict[str, str]) -> None:
    with override_settings(**settings, OUTBOUND_HOSTS=["other.example"]):
        found = {one.name: one for one in health_findings()}[name]
        assert found.status == "failing"
        assert "OUTBOUND_HOSTS" in found.detail
        assert "api.example" not in found.detail
    with override_settings(**settings, OUTBOUND_HOSTS=["api.example"]):
        assert {one.name: one.status for one in health_findings()}[name] == "ok"
    composition.forget_providers()


KILLED = """
import django, os, sys, time
django.setup()
from uuid import UUID
from django.conf import settings
from django.db import connections
connections["default"].settings_dict["NAME"] = sys.argv[3]
from memory.ports.outbound import on_behalf_of
from memory.providers.json_over_http import JsonOverHttp
with on_behalf_of(UUID(sys.argv[1]), "test"):
    JsonOverHttp(sys.argv[2], kind="llm").post(sys.argv[2], {"a": 1})
"""


@pytest.mark.django_db(transaction=True)
def test_a_kill_during_a_request_does_not_hide_it(alice: Actor) -> None:
    """The process dies while it waits for the answer; its database is asked until the record is there."""
    asked, killed = threading.Event(), threading.Event()

    def answer(_: Received) -> Reply:
        asked.set()
        killed.wait(30)
        return Reply(close=True)

    with LoopbackServer(answer) as server:
        name = connection.settings_dict["NAME"]
        arguments = [sys.executable, "-c", KILLED, str(alice.owner_id), server.address, str(name)]
        environment = {**os.environ, "LOCI_NO_BOOTSTRAP": "1"}
        with subprocess.Popen(arguments, env=environment) as process:
            assert asked.wait(30)
            pause = threading.Event()
            for _ in range(200):
                with owner_scope(alice.owner_id):
                    if OutboundRequest.objects.exists():
                        break
                pause.wait(0.05)
            process.send_signal(signal.SIGKILL)
        killed.set()
    assert [(one.outcome, one.genuine) for one in told(alice)] == [(SENDING, True)]


def test_no_key_is_needed_to_gather_and_its_absence_waits(alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    from memory.errors import KeysUnavailable

    log = OutboundLog(writes_itself=False)
    log.note(request_of(alice))

    def away() -> Any:
        raise KeysUnavailable

    with monkeypatch.context() as patched:
        keyring().forget()
        patched.setattr(keyring(), "_vault", None)
        patched.setattr(keyring(), "_open_vault", away)
        log.flush()
        assert len(log._waiting) == 1
    log.flush()
    assert len(told(alice)) == 1


def test_the_end_of_a_job_writes_what_it_has_sent(alice: Actor) -> None:
    """The queue ends the processes of its workers without Python's own exit."""
    outbound.note(request_of(alice))
    tasks.remove_outdated()
    with owner_scope(alice.owner_id):
        assert OutboundRequest.objects.count() == 1
