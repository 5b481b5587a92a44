"""Experiments: who is in which arm, what they are answered by, and what has come out."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import Conflict, InvalidInput, LociError, NotFound, PermissionRefused
from memory.ids import new_id
from memory.models import OwnerSettings, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.purge.partial import run_partial
from memory.services.purge.partial_requests import PartialRequest, begin_partial, preview_partial
from memory.services.settings import change_settings, get_settings
from telemetry.models import RecallExperiment
from telemetry.services.recalls.experiment_results import experiment_results
from telemetry.services.recalls.experiments import (
    ExperimentDraft,
    arm_of,
    end_experiment,
    list_experiments,
    running,
    start_experiment,
)
from tests.integration.api.conftest import Client
from tests.integration.telemetry.recalls import ask, fill, observe, observed

MakeAgent = Callable[..., tuple[Actor, str]]


def started(actor: Actor, **draft: Any) -> RecallExperiment:
    values = {"label": "prax against ours", "control": "default", "variant": "prax", "share": 0.0, **draft}
    return start_experiment(actor=actor, draft=ExperimentDraft(**values))


def test_an_experiment_chooses_for_agents_that_name_no_profile(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    made = started(alice, share=1.0)
    assert ask(agent).profile == "prax"
    assert ask(agent, profile="engram").profile == "engram"
    assert ask(alice).profile == "default"
    rows = [(row.experiment_id, row.experiment_arm) for row in observed(alice)]
    assert rows == [(made.pk, "variant"), (None, ""), (None, "")]
    end_experiment(actor=alice, experiment_id=made.pk)
    assert ask(agent).profile == "default"


def test_named_agents_use_the_variant_whatever_the_share(alice: Actor, make_agent: MakeAgent) -> None:
    named, _ = make_agent(alice, "named")
    other, _ = make_agent(alice, "other")
    started(alice, share=0.0, agents=[named.agent_id])
    assert (ask(named).profile, ask(other).profile) == ("prax", "default")


def test_arms_are_stable_and_divided_by_the_share(alice: Actor) -> None:
    experiment = started(alice, share=0.3)
    agents = [new_id() for _ in range(2_000)]
    arms = [arm_of(experiment, agent) for agent in agents]
    assert arms == [arm_of(experiment, agent) for agent in agents]
    assert 0.25 < arms.count("variant") / len(arms) < 0.35
    end_experiment(actor=alice, experiment_id=experiment.pk)
    anew = started(alice, share=0.3)
    assert [arm_of(anew, agent) for agent in agents] != arms


def test_no_query_is_added_without_an_experiment_and_none_with_one_that_is_known(
    alice: Actor, make_agent: MakeAgent
) -> None:
    fill(alice)
    agent, _ = make_agent(alice)
    ask(agent)

    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            ask(agent)
        return len(captured)

    without = queries()
    made = started(alice, share=0.0)
    # The experiment is looked up once, and decides before the agent's own settings, which are not asked.
    assert queries() == without
    assert queries() == without - 1
    end_experiment(actor=alice, experiment_id=made.pk)
    assert queries() == without


def test_one_experiment_runs_at_a_time(alice: Actor, mallory: Actor) -> None:
    made = started(alice)
    with pytest.raises(Conflict) as refused:
        started(alice)
    assert refused.value.machine_code == "experiment.running"
    started(mallory)
    end_experiment(actor=alice, experiment_id=made.pk)
    again = started(alice)
    assert [one.pk for one in list_experiments(actor=alice)] == [again.pk, made.pk]


def test_ending_twice_changes_nothing(alice: Actor) -> None:
    made = started(alice)
    first = end_experiment(actor=alice, experiment_id=made.pk)
    later = started(alice)
    assert end_experiment(actor=alice, experiment_id=made.pk).ended_at == first.ended_at
    with owner_scope(alice.owner_id):
        assert OwnerSettings.objects.get().values == {"experiment": str(later.pk)}


def test_settings_neither_show_nor_lose_the_experiment(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    started(alice, share=1.0)
    assert "experiment" not in get_settings(actor=alice)["values"]
    with pytest.raises(InvalidInput):
        change_settings(actor=alice, changes={"experiment": str(new_id())})
    change_settings(actor=alice, changes={"recall_limit": 7})
    assert ask(agent).profile == "prax"


@pytest.mark.parametrize(
    ("draft", "code"),
    [
        ({"label": " "}, "experiment.label"),
        ({"label": "x" * 101}, "experiment.label"),
        ({"label": "a\nb"}, "experiment.label"),
        ({"variant": "default"}, "experiment.same_profile"),
        ({"variant": "nothing"}, "profile.unknown"),
        ({"share": 1.5}, "experiment.share"),
        ({"share": float("nan")}, "experiment.share"),
        ({"share": True}, "experiment.share"),
        ({"agents": [new_id() for _ in range(1_001)]}, "experiment.agents"),
        ({"agents": [new_id()]}, "agent.unknown"),
    ],
)
def test_bad_drafts_are_refused(alice: Actor, draft: dict[str, Any], code: str) -> None:
    with pytest.raises(LociError) as refused:
        started(alice, **draft)
    assert refused.value.machine_code == code
    assert list_experiments(actor=alice) == []


def test_agents_without_the_permission_start_and_end_nothing(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    with pytest.raises(PermissionRefused):
        started(agent)
    made = started(alice)
    with pytest.raises(PermissionRefused):
        end_experiment(actor=agent, experiment_id=made.pk)


def test_another_owners_experiment_is_not_there(alice: Actor, mallory: Actor, make_agent: MakeAgent) -> None:
    made = started(alice, share=1.0)
    for refused in (end_experiment, experiment_results):
        with pytest.raises(NotFound):
            refused(actor=mallory, experiment_id=made.pk)
    spy, _ = make_agent(mallory)
    assert ask(spy).profile == "default"
    with pytest.raises(NotFound):
        started(mallory, agents=[make_agent(alice, "hers")[0].agent_id])


def results_of(alice: Actor, make_agent: MakeAgent, agents: int) -> tuple[RecallExperiment, Any]:
    """Run an experiment in which the variant finds less and takes longer."""
    made = started(alice)
    for at in range(2 * agents):
        actor, _ = make_agent(alice, f"agent {at}")
        arm = ("control", "variant")[at % 2]
        for _ in range(4):
            observe(
                actor,
                experiment_id=made.pk,
                experiment_arm=arm,
                relevances=(0.9, 0.4) if arm == "control" else (),
                seconds=0.02 if arm == "control" else 0.05,
            )
    return made, experiment_results(actor=alice, experiment_id=made.pk)


def test_results_compare_the_arms(alice: Actor, make_agent: MakeAgent) -> None:
    _, found = results_of(alice, make_agent, 5)
    assert (found.control.agents, found.variant.agents) == (5, 5)
    assert (found.control.summary.recalls, found.variant.summary.recalls) == (20, 20)
    assert (found.differences["found"].value, found.differences["found"].verdict) == (-1.0, "lower")
    assert found.differences["p95_ms"].verdict == "higher"
    assert found.differences["helpful"].verdict == "too_few"


def test_few_agents_are_called_too_few(alice: Actor, make_agent: MakeAgent) -> None:
    _, found = results_of(alice, make_agent, 4)
    assert {name: one.verdict for name, one in found.differences.items()} == dict.fromkeys(found.differences, "too_few")
    assert found.differences["found"].value == -1.0


def test_the_endpoints_start_show_and_end(woman: Client) -> None:
    body = {"label": "A look at prax", "control": "default", "variant": "prax", "share": 0.25}
    made = woman.json("post", "/telemetry/experiments", body)
    assert made.status_code == 201
    experiment = made.json()
    assert (experiment["label"], experiment["share"], experiment["ended_at"]) == ("A look at prax", 0.25, None)
    assert woman.json("post", "/telemetry/experiments", body).status_code == 409
    shown = woman.json("get", f"/telemetry/experiments/{experiment['id']}").json()
    assert shown["differences"]["ndcg"] == {"value": None, "low": None, "high": None, "verdict": "too_few"}
    assert (shown["control"]["profile"], shown["least_agents"]) == ("default", 5)
    ended = woman.json("post", f"/telemetry/experiments/{experiment['id']}/end").json()
    assert ended["ended_at"]
    listed = woman.json("get", "/telemetry/experiments?limit=1").json()
    assert [UUID(one["id"]) for one in listed["items"]] == [UUID(experiment["id"])]
    assert woman.json("post", "/telemetry/experiments", {**body, "share": "half"}).status_code == 422


def test_the_cache_is_forgotten_with_the_owner(alice: Actor, make_agent: MakeAgent) -> None:
    agent, _ = make_agent(alice)
    started(alice)
    ask(agent)
    assert alice.owner_id in running._kept
    running.forget(alice.owner_id)
    assert alice.owner_id not in running._kept


def test_an_agent_that_is_erased_is_named_by_none(alice: Actor, make_agent: MakeAgent) -> None:
    (doomed, _), (other, _) = make_agent(alice, "doomed"), make_agent(alice, "other")
    assert doomed.agent_id is not None
    first = started(alice, agents=[doomed.agent_id, other.agent_id])
    end_experiment(actor=alice, experiment_id=first.pk)
    second = started(alice, agents=[doomed.agent_id])
    end_experiment(actor=alice, experiment_id=second.pk)
    third = started(alice, agents=[other.agent_id])
    ask(doomed)
    asked = PartialRequest(agent=doomed.agent_id)
    assert preview_partial(actor=alice, request=asked).counts["recall_experiments"] == 2
    outcome = run_partial(purge=begin_partial(actor=alice, request=asked).purge, at=now())
    assert (outcome.erased["recall_experiments"], outcome.left) == (2, {})
    with owner_scope(alice.owner_id):
        named = dict(RecallExperiment.objects.values_list("pk", "agents"))
    assert named == {first.pk: [other.agent_id], second.pk: [], third.pk: [other.agent_id]}
    assert ask(other).profile == "prax"


def test_a_label_that_does_not_open_spoils_nothing_else(alice: Actor, woman: Client) -> None:
    first = started(alice, label="Opens")
    end_experiment(actor=alice, experiment_id=first.pk)
    second = started(alice, label="Does not open")
    table = RecallExperiment._meta.db_table
    with owner_scope(alice.owner_id), connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET label = (SELECT label FROM {table} WHERE owner_id = %(owner)s AND id = %(other)s) "
            "WHERE owner_id = %(owner)s AND id = %(id)s",
            {"owner": alice.owner_id, "other": first.pk, "id": second.pk},
        )
    path = f"/telemetry/experiments/{second.pk}"
    assert [one["label"] for one in woman.json("get", "/telemetry/experiments").json()["items"]] == [None, "Opens"]
    assert woman.json("get", path).json()["experiment"]["label"] is None
    page = woman.get("/telemetry/recall/")
    assert page.status_code == 200
    assert page.content.decode().count("name cannot be read") >= 2
    written = io.StringIO()
    call_command("telemetry", "experiments", "--owner", "alice", stdout=written)
    assert "name cannot be read" in written.getvalue()
    assert "Opens" in written.getvalue()
    ended = woman.json("post", f"{path}/end")
    assert (ended.status_code, ended.json()["label"]) == (200, None)
