"""The tuner: off unless switched on, in small steps between its bounds, recorded, and undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.errors import Conflict, NotFound, PermissionRefused
from memory.ids import new_id
from memory.models import AuditEvent, owner_scope
from memory.services import clock
from memory.services.actors import Actor
from memory.services.jobs import plans
from memory.services.settings import change_settings, get_settings
from telemetry.models import TunerChange
from telemetry.services.recalls.tuning import list_tuner_changes, tune, tuner_status, undo_tuner_change
from telemetry.tasks import tune_recall
from tests.integration.api.conftest import Client
from tests.integration.consolidation.stage import Stopped
from tests.integration.telemetry.recalls import context, fill, observe

MakeAgent = Callable[..., tuple[Actor, str]]


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Stopped:
    """The clock of every service."""
    stopped = Stopped()
    monkeypatch.setattr(clock, "_clock", stopped)
    return stopped


@pytest.fixture
def tuned(alice: Actor, time: Stopped) -> Actor:
    """Alice with the tuner on, after its first look."""
    change_settings(actor=alice, changes={"recall_tuner": True})
    assert tune(owner_id=alice.owner_id) is None
    time.pass_(hours=1)
    return alice


def threshold(actor: Actor) -> float:
    return float(get_settings(actor=actor)["values"]["recall_threshold"])


def hour(actor: Actor, time: Stopped, *, recalls: int = 5, **values: Any) -> TunerChange | None:
    """Let an hour pass in which context blocks are made, and the tuner look."""
    told = {"sort": "context", "threshold": threshold(actor), **values}
    for _ in range(recalls):
        observe(actor, at=clock.now(), **told)
    time.pass_(hours=1)
    return tune(owner_id=actor.owner_id)


def test_it_is_off_unless_switched_on(alice: Actor, time: Stopped) -> None:
    for _ in range(3):
        assert hour(alice, time, relevances=()) is None
    assert threshold(alice) == 0.3
    assert not tuner_status(actor=alice).enabled


def test_low_quality_loosens(tuned: Actor, time: Stopped) -> None:
    change = hour(tuned, time, relevances=())
    assert change is not None
    assert (change.before, change.after, change.reason, change.recalls) == (0.3, 0.29, "quality.low", 5)
    assert threshold(tuned) == 0.29
    with owner_scope(tuned.owner_id):
        recorded = AuditEvent.objects.filter(actor="system", object_kind="settings", reason="recall_threshold")
        assert recorded.count() == 1


def test_high_quality_tightens(tuned: Actor, time: Stopped) -> None:
    change = hour(tuned, time, relevances=(0.9, 0.5))
    assert change is not None
    assert (change.after, change.reason, change.ndcg) == (0.31, "quality.high", 1.0)


def test_the_middle_is_left_alone(tuned: Actor, time: Stopped) -> None:
    # The second of two hits is the only good one: 1 / log2(3) = 0.63.
    assert hour(tuned, time, relevances=(0.0, 0.9)) is None
    status = tuner_status(actor=tuned)
    assert status.ndcg == pytest.approx(0.6309, abs=1e-4)
    assert (status.recalls, threshold(tuned)) == (5, 0.3)


def test_fewer_than_five_recalls_change_nothing(tuned: Actor, time: Stopped) -> None:
    assert hour(tuned, time, recalls=4, relevances=()) is None
    assert hour(tuned, time, recalls=0) is None
    assert hour(tuned, time, recalls=1, relevances=()) is not None
    # What came before the change does not count towards the next one.
    assert hour(tuned, time, recalls=4, relevances=()) is None


def test_it_stays_within_its_bounds(tuned: Actor, time: Stopped) -> None:
    for bound, relevances in ((0.10, ()), (0.55, (0.9,))):
        change_settings(actor=tuned, changes={"recall_threshold": bound})
        hour(tuned, time, recalls=0)
        assert hour(tuned, time, relevances=relevances) is None
        assert threshold(tuned) == bound


def test_other_requests_and_other_thresholds_say_nothing(tuned: Actor, time: Stopped) -> None:
    assert hour(tuned, time, sort="recall", relevances=()) is None
    assert hour(tuned, time, threshold=0.5, relevances=()) is None
    assert hour(tuned, time, gate="skip", relevances=()) is None
    assert tuner_status(actor=tuned).recalls == 0


def test_real_context_blocks_are_what_it_looks_at(tuned: Actor, time: Stopped) -> None:
    fill(tuned)
    for _ in range(5):
        context(tuned)
    time.pass_(hours=1)
    tune(owner_id=tuned.owner_id)
    assert tuner_status(actor=tuned).ndcg is not None


def test_a_persons_own_change_begins_anew(tuned: Actor, time: Stopped) -> None:
    hour(tuned, time, recalls=4, relevances=())
    change_settings(actor=tuned, changes={"recall_threshold": 0.4})
    assert hour(tuned, time, recalls=1, relevances=()) is None
    status = tuner_status(actor=tuned)
    assert (status.ndcg, status.recalls, status.threshold) == (None, 0, 0.4)


def test_a_change_is_undone_and_the_tuner_begins_anew(tuned: Actor, time: Stopped) -> None:
    change = hour(tuned, time, relevances=())
    assert change is not None
    assert undo_tuner_change(actor=tuned, change_id=change.pk).undone_at is not None
    assert threshold(tuned) == 0.3
    assert tuner_status(actor=tuned).ndcg is None
    with pytest.raises(Conflict) as refused:
        undo_tuner_change(actor=tuned, change_id=change.pk)
    assert refused.value.machine_code == "tuner.undone"
    time.pass_(minutes=1)
    assert hour(tuned, time, recalls=5, relevances=()) is not None


def test_what_was_changed_since_is_not_undone(tuned: Actor, time: Stopped) -> None:
    first = hour(tuned, time, relevances=())
    second = hour(tuned, time, relevances=())
    assert first is not None
    assert second is not None
    with pytest.raises(Conflict) as refused:
        undo_tuner_change(actor=tuned, change_id=first.pk)
    assert refused.value.machine_code == "tuner.changed_since"
    undo_tuner_change(actor=tuned, change_id=second.pk)
    undo_tuner_change(actor=tuned, change_id=first.pk)
    assert threshold(tuned) == 0.3
    assert [one.pk for one in list_tuner_changes(actor=tuned)] == [second.pk, first.pk]


def test_others_neither_see_nor_undo_a_change(
    tuned: Actor, mallory: Actor, time: Stopped, make_agent: MakeAgent
) -> None:
    change = hour(tuned, time, relevances=())
    assert change is not None
    with pytest.raises(NotFound):
        undo_tuner_change(actor=mallory, change_id=change.pk)
    agent, _ = make_agent(tuned)
    with pytest.raises(PermissionRefused):
        undo_tuner_change(actor=agent, change_id=change.pk)
    assert list_tuner_changes(actor=mallory) == []
    with pytest.raises(NotFound):
        undo_tuner_change(actor=tuned, change_id=new_id())


def test_the_job_looks_at_every_owner(tuned: Actor, mallory: Actor, time: Stopped) -> None:
    for actor in (tuned, mallory):
        for _ in range(5):
            observe(actor, sort="context", threshold=0.3, relevances=(), at=clock.now())
    time.pass_(hours=1)
    assert tune_recall() == 1
    assert (threshold(tuned), threshold(mallory)) == (0.29, 0.3)
    assert "telemetry.tasks.tune_recall" in {plan.task for plan in plans()}


def test_the_endpoints_list_and_undo(woman: Client, time: Stopped) -> None:
    change_settings(actor=woman.actor, changes={"recall_tuner": True})
    tune(owner_id=woman.actor.owner_id)
    time.pass_(hours=1)
    change = hour(woman.actor, time, relevances=())
    assert change is not None
    listed = woman.json("get", "/telemetry/tuner/changes").json()
    assert (listed["status"]["enabled"], listed["status"]["threshold"]) == (True, 0.29)
    assert [(one["before"], one["after"], one["undone_at"]) for one in listed["items"]] == [(0.3, 0.29, None)]
    path = f"/telemetry/tuner/changes/{change.pk}/undo"
    assert woman.json("post", path).json()["undone_at"]
    again = woman.json("post", path)
    assert (again.status_code, again.json()["code"]) == (409, "tuner.undone")
