"""The report about recalls: what is counted, compared and shown, and to whom."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import InvalidInput, NotFound, PermissionRefused
from memory.ids import new_id
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from memory.services.purge.caches import forget_owner
from telemetry.api.serializers.recall_quality import RecallReportSerializer
from telemetry.services.recalls import cache, recording
from telemetry.services.recalls.feedback import give_feedback
from telemetry.services.recalls.report import QualityRequest, recall_report, slow_recalls
from tests.integration.api.conftest import Client
from tests.integration.telemetry.recalls import ask, fill, observe


def test_counts_what_was_found_and_what_was_not(alice: Actor) -> None:
    observe(alice)
    observe(alice, relevances=(0.2,))
    observe(alice, relevances=(0.2,), threshold=0.1)
    observe(alice, relevances=(), hits=0)
    observe(alice, relevances=(0.0,), fallback=True)
    observe(alice, relevances=(), gate="skip")
    found = recall_report(actor=alice, request=QualityRequest())
    assert (found.summary.recalls, found.summary.looked) == (6, 5)
    assert (found.summary.found.count, found.summary.found.of) == (2, 5)
    assert (found.summary.nothing, found.summary.fallbacks) == (1, 1)
    assert found.gates == {"recall": 5, "skip": 1}
    assert sum(bucket.count for bucket in found.latency) == 5
    assert sum(bucket.count for bucket in found.scores) == 5


def test_feedback_makes_the_helpful_rate_and_grades_the_order(alice: Actor) -> None:
    fill(alice)
    liked, disliked, mixed = ask(alice), ask(alice), ask(alice)
    give_feedback(actor=alice, recall_id=liked.recall_id, helpful=True)
    give_feedback(actor=alice, recall_id=disliked.recall_id, helpful=False)
    first, second = (hit.memory.pk for hit in mixed.hits[:2])
    give_feedback(actor=alice, recall_id=mixed.recall_id, helpful=False, memory_id=first)
    give_feedback(actor=alice, recall_id=mixed.recall_id, helpful=True, memory_id=second)
    found = recall_report(actor=alice, request=QualityRequest()).summary
    assert (found.helpful.count, found.helpful.of) == (2, 3)
    assert found.helpful.low is not None
    assert found.ndcg is not None
    # The disliked one counts 0, and the mixed one less than 1.
    assert found.ndcg < 2 / 3


def test_degraded_recalls_are_counted_by_code_and_stages_are_described(alice: Actor) -> None:
    observe(alice, degraded=("embedder.unavailable", "arm.timeout:graph"))
    observe(alice, degraded=("embedder.unavailable",), stages={"arm.dense": 0.03})
    found = recall_report(actor=alice, request=QualityRequest())
    assert found.degraded == {"embedder.unavailable": 2, "arm.timeout:graph": 1}
    dense = found.stages[0]
    assert (dense.stage, dense.recalls, dense.p50_ms, dense.total_ms) == ("arm.dense", 2, 20.0, 40.0)
    assert sum(bucket.count for bucket in dense.buckets) == 2


def test_scores_that_fall_are_called_a_drift(alice: Actor) -> None:
    for at in range(40):
        observe(alice, relevances=(0.5 + at / 100,), at=now() - timedelta(days=8))
        observe(alice, relevances=(0.1 + at / 100,))
    found = recall_report(actor=alice, request=QualityRequest(days=7))
    assert found.drift.verdict == "large"
    assert found.drift.shift == pytest.approx(-0.4)
    assert found.before is not None
    assert (found.summary.recalls, found.before.recalls) == (40, 40)
    assert recall_report(actor=alice, request=QualityRequest(days=1)).drift.verdict == "too_few"


def test_a_window_that_cannot_be_compared_says_so(alice: Actor) -> None:
    for at in range(40):
        observe(alice, relevances=(0.5 + at / 100,), at=now() - timedelta(days=20))
        observe(alice, relevances=(0.1 + at / 100,))
    assert recall_report(actor=alice, request=QualityRequest(days=15)).before is not None
    found = recall_report(actor=alice, request=QualityRequest(days=16))
    assert (found.summary.recalls, found.before, found.drift.verdict) == (40, None, "too_few")
    assert RecallReportSerializer().fields["before"].allow_null


def test_profiles_and_agents_are_compared_and_can_be_chosen(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    agent, _ = make_agent(alice)
    observe(alice)
    observe(agent, profile="prax")
    observe(agent, profile="prax", relevances=())
    found = recall_report(actor=alice, request=QualityRequest())
    assert {name: one.recalls for name, one in found.profiles.items()} == {"prax": 2, "default": 1}
    assert {one: found.agents[one].recalls for one in found.agents} == {agent.agent_id: 2, None: 1}
    assert recall_report(actor=alice, request=QualityRequest(profile="prax")).summary.recalls == 2
    assert recall_report(actor=alice, request=QualityRequest(agent=agent.agent_id)).summary.nothing == 1


def test_slow_recalls_come_slowest_first(alice: Actor) -> None:
    slow = [observe(alice, seconds=seconds) for seconds in (0.1, 0.3, 0.2)]
    found = slow_recalls(actor=alice, request=QualityRequest(), top=2)
    assert [one.recall_id for one in found] == [slow[1], slow[2]]
    assert (found[0].milliseconds, list(found[0].stages)) == (300.0, ["arm.dense", "open"])


def test_bad_requests_are_refused(alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    for days in (0, 31):
        with pytest.raises(InvalidInput) as refused:
            recall_report(actor=alice, request=QualityRequest(days=days))
        assert refused.value.machine_code == "days.out_of_range"
    for top in (0, 101):
        with pytest.raises(InvalidInput):
            slow_recalls(actor=alice, request=QualityRequest(), top=top)
    spy, _ = make_agent(mallory, "spy")
    for request in (
        QualityRequest(profile="nothing"),
        QualityRequest(agent=new_id()),
        QualityRequest(agent=spy.agent_id),
    ):
        with pytest.raises(NotFound):
            recall_report(actor=alice, request=request)


def test_agents_need_the_permission(alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    agent, _ = make_agent(alice)
    with pytest.raises(PermissionRefused):
        recall_report(actor=agent, request=QualityRequest())
    reader, _ = make_agent(alice, "reader", scopes=[Permission.TELEMETRY_READ])
    assert recall_report(actor=reader, request=QualityRequest()).summary.recalls == 0


def test_another_owner_sees_nothing_of_it(alice: Actor, mallory: Actor) -> None:
    observe(alice)
    assert recall_report(actor=mallory, request=QualityRequest()).summary.recalls == 0
    assert slow_recalls(actor=mallory, request=QualityRequest()) == ()


def test_the_endpoints_give_the_report_and_the_slow_ones(woman: Client) -> None:
    recall_id: UUID = observe(woman.actor, seconds=0.25)
    body = woman.json("get", "/telemetry/recall?days=3&profile=default").json()
    assert (body["days"], body["summary"]["recalls"], body["enabled"]) == (3, 1, True)
    assert body["slow"][0]["recall_id"] == str(recall_id)
    assert body["agents"] == [{"agent": None, "summary": body["summary"]}]
    assert body["latency"][-1]["up_to"] is None
    slow = woman.json("get", "/telemetry/recall/slow?top=1").json()["items"]
    assert [one["milliseconds"] for one in slow] == [250.0]
    for query, status in (("days=99", 422), ("days=x", 422), ("profile=none", 404), ("what=1", 422)):
        assert woman.json("get", f"/telemetry/recall?{query}").status_code == status


def test_a_large_report_is_kept_for_a_minute_and_forgotten_with_the_owner(
    alice: Actor, mallory: Actor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "LARGE", 2)

    def seen(owner: Actor, days: int = 7) -> int:
        return recall_report(actor=owner, request=QualityRequest(days=days)).summary.recalls

    observe(alice)
    assert seen(alice) == 1
    observe(alice)
    assert seen(alice) == 2
    observe(alice)
    assert (seen(alice), seen(alice, 8), seen(mallory)) == (2, 3, 0)
    with CaptureQueriesContext(connection) as captured:
        seen(alice)
    assert not any("telemetry_recall" in query["sql"] for query in captured.captured_queries)
    forget_owner(alice.owner_id)
    assert seen(alice) == 3
    observe(alice)
    later = now() + timedelta(minutes=1)
    monkeypatch.setattr(cache, "now", lambda: later)
    assert seen(alice) == 4


def test_the_queries_of_a_report_do_not_grow_with_agents_and_profiles(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    def queries() -> int:
        recording.flush()
        with CaptureQueriesContext(connection) as captured:
            recall_report(actor=alice, request=QualityRequest())
        return len(captured)

    observe(alice)
    few = queries()
    for at in range(4):
        observe(make_agent(alice, f"agent {at}")[0], profile=("prax", "engram")[at % 2])
    assert queries() == few
