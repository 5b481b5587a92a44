"""Consolidation over REST: how it stands, runs by hand, and what failed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from memory.models import ConsolidationRun, DueWork, ExtractionFailure, owner_scope
from memory.services.clock import now
from memory.services.consolidation.due import consolidate_due
from memory.services.consolidation.groups import Group
from memory.services.consolidation.order import Step
from tests.integration.api.conftest import Client, problem, remember
from tests.integration.consolidation.running import does, draws_all, knowledge, quiet, stages


@pytest.fixture(autouse=True)
def two_stages(monkeypatch: pytest.MonkeyPatch, woman: Client) -> None:
    """Let runs draw from texts and, where it is switched on, sleep."""
    stages(monkeypatch, knowledge(draws_all), Step("sleep", Group.SLEEP, does(lambda context: None)))
    quiet(woman.actor)


def status(client: Client) -> Any:
    response = client.json("get", "/consolidation")
    assert response.status_code == 200, response.content
    return response.json()


class TestStatus:
    def test_before_anything(self, woman: Client) -> None:
        found = status(woman)
        assert found["enabled"] is True
        assert found["groups"] == ["knowledge"]
        assert (found["pending_rows"], found["pending_bytes"], found["next_run_at"]) == (0, 0, None)
        assert (found["running"], found["asked"], found["last_run"]) == (None, [], None)
        assert found["settings"]["consolidation_every_turns"] == 5
        assert "recall_limit" not in found["settings"]

    def test_with_a_backlog_and_after_a_run(self, woman: Client) -> None:
        remember(woman)
        waiting = status(woman)
        assert waiting["pending_rows"] == 1
        assert waiting["pending_bytes"] > 0
        assert waiting["next_run_at"] is not None
        DueWork.objects.update(due_at=now() - timedelta(minutes=10))
        ask = woman.json("post", "/consolidation/run", {"wait": True})
        assert consolidate_due()["runs"] == 0
        after = status(woman)
        assert (after["pending_rows"], after["next_run_at"]) == (0, None)
        assert after["last_run"] == ask.json()

    def test_agents_are_not_told_what_the_others_do(self, agent: Client, woman: Client) -> None:
        remember(woman)
        run = woman.json("post", "/consolidation/run", {"wait": True}).json()
        assert run["rows_seen"] == 1
        assert run["stages"][0]["counts"] == {"rows": 1}
        seen = agent.json("get", f"/consolidation/runs/{run['id']}").json()
        assert seen["rows_seen"] is None
        assert seen["stages"][0]["counts"] == {}
        assert seen["state"] == "done"
        assert status(agent)["pending_rows"] is None

    def test_switched_off(self, woman: Client) -> None:
        woman.json("patch", "/settings", {"consolidation": False})
        found = status(woman)
        assert (found["enabled"], found["groups"], found["next_run_at"]) == (False, [], None)


class TestByHand:
    def test_it_waits_for_a_worker(self, agent: Client, woman: Client) -> None:
        remember(agent)
        response = agent.json("post", "/consolidation/run", {})
        assert response.status_code == 202
        asked = response.json()
        assert (asked["state"], asked["started_at"], asked["finished_at"]) == ("waiting", None, None)
        assert [(stage["name"], stage["state"]) for stage in asked["stages"]] == [("draw", "waiting")]
        assert response["Location"] == f"/api/v1/consolidation/runs/{asked['id']}"
        assert status(agent)["asked"] == [asked["id"]]
        assert consolidate_due()["runs"] == 1
        assert agent.json("get", f"/consolidation/runs/{asked['id']}").json()["state"] == "done"
        assert status(agent)["asked"] == []

    def test_who_asks_twice_gets_one_run(self, agent: Client, woman: Client) -> None:
        woman.json("patch", "/settings", {"sleep": "rules"})
        first = agent.json("post", "/consolidation/run", {"groups": ["sleep"]}).json()
        second = agent.json("post", "/consolidation/run", {"groups": ["knowledge"]}).json()
        assert first["id"] == second["id"]
        assert [stage["group"] for stage in second["stages"]] == ["knowledge", "sleep"]

    def test_waiting_for_it(self, agent: Client) -> None:
        remember(agent)
        response = agent.json("post", "/consolidation/run", {"wait": True, "groups": ["knowledge"]})
        assert response.status_code == 200
        assert response.json()["state"] == "done"
        assert not DueWork.objects.filter(job=DueWork.CONSOLIDATE_NOW).exists()

    def test_waiting_while_another_run_works(self, agent: Client, monkeypatch: pytest.MonkeyPatch) -> None:
        answers: list[Any] = []

        def asks_meanwhile(context: Any) -> None:
            answers.append(agent.json("post", "/consolidation/run", {"wait": True}))

        stages(monkeypatch, knowledge(does(asks_meanwhile)))
        agent.json("post", "/consolidation/run", {"wait": True})
        assert answers[0].status_code == 202
        assert answers[0].json()["state"] == "waiting"

    def test_switched_off_it_is_refused(self, agent: Client, woman: Client) -> None:
        refused = problem(
            agent.json("post", "/consolidation/run", {"groups": ["sleep"]}), 409, "consolidation.disabled"
        )
        assert refused["groups"] == ["sleep"]
        woman.json("patch", "/settings", {"consolidation": False})
        problem(agent.json("post", "/consolidation/run", {}), 409, "consolidation.disabled")
        with owner_scope(agent.actor.owner_id):
            assert not ConsolidationRun.objects.exists()

    @pytest.mark.parametrize("groups", [[], ["dreams"], "sleep", [3]], ids=str)
    def test_what_is_no_group_is_refused(self, agent: Client, groups: Any) -> None:
        assert agent.json("post", "/consolidation/run", {"groups": groups}).status_code == 422

    def test_a_key_that_may_only_read_is_refused(self, powerless: Client) -> None:
        problem(powerless.json("post", "/consolidation/run", {}), 403, "auth.forbidden")

    def test_the_same_key_asks_once(self, agent: Client) -> None:
        header = {"Idempotency-Key": "once"}
        first = agent.json("post", "/consolidation/run", {"wait": True}, **header)
        second = agent.json("post", "/consolidation/run", {"wait": True}, **header)
        assert first.json() == second.json()
        assert len(agent.json("get", "/consolidation/runs").json()["items"]) == 1


class TestLists:
    def test_runs_by_page(self, agent: Client, stranger: Client) -> None:
        made = [agent.json("post", "/consolidation/run", {"wait": True}).json()["id"] for _ in range(3)]
        first = agent.json("get", "/consolidation/runs?limit=2").json()
        second = agent.json("get", f"/consolidation/runs?limit=2&cursor={first['next']}").json()
        assert [row["id"] for row in [*first["items"], *second["items"]]] == made[::-1]
        assert second["next"] is None
        assert stranger.json("get", "/consolidation/runs").json()["items"] == []
        problem(stranger.json("get", f"/consolidation/runs/{made[0]}"), 404, "not_found")


class TestFailures:
    def fail(self, client: Client, memory_id: str, **fields: Any) -> None:
        with owner_scope(client.actor.owner_id):
            ExtractionFailure.objects.create(
                owner_id=client.actor.owner_id, memory_id=memory_id, code="llm.unusable", failed_at=now(), **fields
            )

    def test_they_are_listed_and_tried_again(self, agent: Client) -> None:
        memory = remember(agent)
        self.fail(agent, memory, attempts=5)
        (row,) = agent.json("get", "/consolidation/failures").json()["items"]
        assert (row["memory_id"], row["code"], row["attempts"], row["next_at"]) == (memory, "llm.unusable", 5, None)
        answer = agent.json("post", f"/consolidation/failures/{memory}/retry")
        assert answer.status_code == 202
        assert answer.json()["next_at"] is not None
        assert DueWork.objects.get(job=DueWork.CONSOLIDATE).due_at <= now()

    def test_what_an_agent_may_not_read_is_not_listed(self, agent: Client, colleague: Client, woman: Client) -> None:
        memory = remember(agent, "Alice hides this.", scope="agent")
        self.fail(agent, memory)
        assert len(woman.json("get", "/consolidation/failures").json()["items"]) == 1
        assert colleague.json("get", "/consolidation/failures").json()["items"] == []
        problem(colleague.json("post", f"/consolidation/failures/{memory}/retry"), 404, "not_found")

    def test_what_has_not_failed_cannot_be_tried_again(self, agent: Client) -> None:
        memory = remember(agent)
        problem(agent.json("post", f"/consolidation/failures/{memory}/retry"), 404, "extraction.not_failed")
