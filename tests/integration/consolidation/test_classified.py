"""The stage that looks for personal data by meaning: when it runs, what it reports, and that it can be repeated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from memory.models import RunTrigger, owner_scope
from memory.services.actors import Actor
from memory.services.consolidation.cadence import Situation
from memory.services.consolidation.classified import ABORTED, classify_rest
from memory.services.consolidation.groups import MORE, Group
from memory.services.consolidation.order import STEPS
from memory.services.consolidation.runner import run_consolidation
from memory.services.consolidation.situation import look as situation_of
from memory.services.consolidation.stages import RunStopped, StageContext, StageReport
from memory.services.settings import change_settings, current_settings
from tests.integration.consolidation.running import quiet
from tests.integration.consolidation.stage import MONDAY, Stopped, run
from tests.integration.services.looking import judging, kinds, state, verdict
from tests.unit.consolidation.chat import Chat

ILL = {"asthma": verdict("health")}

pytestmark = pytest.mark.django_db


def staged(alice: Actor, chat: Chat | None, which: str = "all") -> StageReport:
    model = None if chat is None else chat.model
    return run(classify_rest, alice, MONDAY, model=model, privacy_model=which)


def test_it_stands_before_forgetting() -> None:
    groups = [step.group for step in STEPS]
    assert groups.index(Group.SUMMARIES) < groups.index(Group.PRIVACY) < groups.index(Group.FORGETTING)
    assert list(dict.fromkeys(groups)) == list(Group)


@pytest.mark.parametrize(
    ("which", "with_model", "reason"),
    [("off", True, "switched off"), ("off", False, "switched off"), ("all", False, "no language model")],
    ids=["off", "off and no model", "no model"],
)
def test_why_it_does_nothing(alice: Actor, which: str, with_model: bool, reason: str) -> None:
    state(alice, "I have asthma.")
    with judging(ILL) as chat:
        report = staged(alice, chat if with_model else None, which)
    assert (report.state, report.skipped_reason, chat.asked) == ("skipped", reason, [])


def test_it_reads_what_nobody_has_flagged_and_says_what_came_of_it(alice: Actor) -> None:
    ill, tea = state(alice, "I have asthma."), state(alice, "I like tea.")
    with judging(ILL) as chat:
        report = staged(alice, chat)
        again = staged(alice, chat)
    assert (report.state, report.counts["looked"], report.counts["raised"], report.notes) == ("done", 2, 1, [])
    assert (kinds(alice, ill), kinds(alice, tea)) == ((["health"], 2, True), ([], 0, True))
    assert (again.counts["looked"], len(chat.asked)) == (0, 2)


def test_where_only_flagged_texts_are_wanted_the_rest_is_left(alice: Actor) -> None:
    state(alice, "I have asthma.")
    with judging(ILL) as chat:
        assert staged(alice, chat, "flagged").counts["looked"] == 0
    assert chat.asked == []


def test_three_errors_end_it_and_it_is_not_due_at_once(alice: Actor) -> None:
    for number in range(5):
        state(alice, f"Number {number} has asthma.")
    with judging({"asthma": "no JSON"}) as chat:
        report = staged(alice, chat)
    assert (report.state, report.counts["llm_failures"], report.counts["looked"]) == ("done", 3, 0)
    assert report.notes == ["llm.unusable", ABORTED]


def test_what_is_left_is_said(alice: Actor) -> None:
    for number in range(41):
        state(alice, f"Tea number {number}.")
    with judging({}) as chat:
        assert staged(alice, chat).notes == [MORE]
        assert staged(alice, chat).notes == []


def test_a_run_that_has_to_end_ends_between_two_questions(alice: Actor) -> None:
    for number in range(3):
        state(alice, f"Tea number {number}.")
    beats = 0

    def beat() -> None:
        nonlocal beats
        beats += 1
        if beats == 3:
            raise RunStopped("work.waiting")

    with judging({}) as chat, pytest.raises(RunStopped):
        run_with(alice, chat, beat)
    assert len(chat.asked) == 2


def run_with(alice: Actor, chat: Chat, beat: Callable[[], None]) -> None:
    def stage(context: StageContext) -> Sequence[StageReport]:
        context.beat = beat
        return classify_rest(context)

    run(stage, alice, MONDAY, model=chat.model, privacy_model="all")


class TestRuns:
    def test_a_run_has_it_where_all_texts_are_to_be_read(self, alice: Actor, time: Stopped) -> None:
        quiet(alice, privacy_model="all")
        ill = state(alice, "I have asthma.")
        with judging(ILL):
            done = run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=[Group.PRIVACY])
        assert done is not None
        (report,) = done.stages
        assert (report["name"], report["group"], report["state"]) == ("privacy", "privacy", "done")
        assert (done.state, done.risk_class, done.llm_calls) == ("done", "read", 1)
        assert kinds(alice, ill) == (["health"], 2, True)

    def test_it_is_due_while_there_is_something_to_read_and_not_soon_after(self, alice: Actor, time: Stopped) -> None:
        def seen() -> Situation:
            with owner_scope(alice.owner_id):
                return situation_of(current_settings()["values"])

        quiet(alice)
        state(alice, "I have asthma.")
        assert (seen().unclassified_since, seen().classified_at) == (None, None)
        change_settings(actor=alice, changes={"privacy_model": "all"})
        assert (seen().unclassified_since, seen().classified_at) == (MONDAY, None)
        time.pass_(minutes=1)
        with judging({"asthma": "no JSON"}):
            run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=[Group.PRIVACY])
        assert (seen().unclassified_since, seen().classified_at) == (MONDAY, MONDAY + timedelta(minutes=1))
        with judging(ILL):
            run_consolidation(owner_id=alice.owner_id, trigger=RunTrigger.HAND, groups=[Group.PRIVACY])
        assert seen().unclassified_since is None
