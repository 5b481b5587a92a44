"""`manage.py telemetry recall`, `explain`, `experiments` and `tuner`."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.ids import new_id
from memory.models import owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.settings import change_settings
from telemetry.models import TunerChange
from telemetry.services.recalls.experiments import ExperimentDraft, start_experiment
from tests.integration.telemetry.recalls import ask, fill, observe


def told(*arguments: str) -> str:
    """Run an action and give what it writes."""
    written = io.StringIO()
    call_command("telemetry", *arguments, stdout=written)
    return written.getvalue()


def as_json(*arguments: str) -> Any:
    return json.loads(told(*arguments, "--json"))


def test_recall_reports(alice: Actor) -> None:
    recall_id = observe(alice, degraded=("arm.timeout:graph",))
    value = as_json("recall", "--days", "3")
    assert (value["days"], value["summary"]["recalls"], value["agents"]["person"]["recalls"]) == (3, 1, 1)
    assert value["slow"][0]["recall_id"] == str(recall_id)
    text = told("recall", "--profile", "default")
    assert "1 recall in 7 days." in text
    assert "arm.timeout:graph 1" in text
    assert str(recall_id) in text
    assert "0 recalls" in told("recall", "--profile", "prax")


def test_recalls_of_one_agent_are_reported_by_its_name_or_id(
    alice: Actor, mallory: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    (agent, _), (foreign, _) = make_agent(alice, "Violet"), make_agent(mallory, "Scribe")
    observe(alice)
    observe(agent)
    for named in ("Violet", "VIOLET", str(agent.agent_id)):
        value = as_json("recall", "--agent", named, "--owner", "alice")
        assert (value["summary"]["recalls"], set(value["agents"])) == (1, {str(agent.agent_id)})
    for named in ("Scribe", str(foreign.agent_id), "x", ""):
        with pytest.raises(CommandError, match=r"no agent of this name or id here.*agent\.unknown"):
            told("recall", "--agent", named, "--owner", "alice")


def test_explain_shows_plans(alice: Actor) -> None:
    fill(alice)
    recall_id = str(ask(alice).recall_id)
    assert "Execution Time" in told("explain", recall_id)
    assert as_json("explain", recall_id)["statements"][0]["lines"]
    with pytest.raises(CommandError, match="not_found"):
        told("explain", str(new_id()))


def test_experiments_are_listed_shown_and_ended(alice: Actor) -> None:
    assert "no experiment" in told("experiments")
    draft = ExperimentDraft(label="A look", control="default", variant="prax")
    made = start_experiment(actor=alice, draft=draft)
    assert [one["id"] for one in as_json("experiments")["experiments"]] == [str(made.pk)]
    assert "too_few" in told("experiments", str(made.pk))
    ended = as_json("experiments", str(made.pk), "--end")
    assert ended["experiment"]["ended_at"]
    assert "ended" in told("experiments")


def test_experiments_are_begun_and_the_running_one_is_ended(
    alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    (agent, _), (other, _) = make_agent(alice), make_agent(alice, "Violet")
    value = as_json(
        "experiments", "--start", "By hand", "--control", "prax", "--variant", "cortex", "--share", "0",
        "--agent", str(agent.agent_id), "--agent", "violet",
    )  # fmt: skip
    made = value["experiment"]
    assert (made["label"], made["control"], made["variant"], made["share"]) == ("By hand", "prax", "cortex", 0.0)
    assert sorted(made["agents"]) == sorted([str(agent.agent_id), str(other.agent_id)])
    assert ask(agent).profile == "cortex"
    with pytest.raises(CommandError, match=r"experiment\.running"):
        told("experiments", "--start", "Another")
    assert as_json("experiments", "--end")["experiment"]["ended_at"]
    for arguments, code in (
        (("--end",), r"experiment\.none_running"),
        (("--start", "x", "--share", "2"), r"experiment\.share"),
        (("--start", "x", "--agent", str(new_id())), r"agent\.unknown"),
        (("--start", "x", "--agent", "nobody"), r"agent\.unknown"),
        (("--start", "x", "--end"), r"experiment\.arguments"),
        (("--start", "x", "--share", "half"), "float"),
    ):
        with pytest.raises(CommandError, match=code):
            told("experiments", *arguments)


def test_the_tuner_is_switched(alice: Actor) -> None:
    assert "The tuner is on." in told("tuner", "--on")
    assert as_json("tuner")["enabled"] is True
    assert "The tuner is off." in told("tuner", "--off")
    with pytest.raises(CommandError):
        told("tuner", "--on", "--off")


def test_the_tuner_is_shown_and_a_change_undone(alice: Actor) -> None:
    change_settings(actor=alice, changes={"recall_threshold": 0.29})
    with owner_scope(alice.owner_id):
        change = TunerChange.objects.create(
            setting="recall_threshold",
            before=0.3,
            after=0.29,
            ndcg=0.2,
            recalls=5,
            reason="quality.low",
            created_at=now(),
        )
    assert "0.30 to 0.29" in told("tuner")
    value = as_json("tuner", "--undo", str(change.pk))
    assert (value["threshold"], value["enabled"]) == (0.3, False)
    assert value["changes"][0]["undone_at"]
    with pytest.raises(CommandError, match=r"tuner\.undone"):
        told("tuner", "--undo", str(change.pk))


@pytest.mark.parametrize("arguments", [("recall", "--days", "0"), ("recall", "--days", "x"), ("explain", "x")])
def test_bad_arguments_are_refused(alice: Actor, arguments: tuple[str, ...]) -> None:
    with pytest.raises(CommandError):
        told(*arguments)
