"""Summaries of more than a day tell what holds: drawn by the rules in real runs, contradicted, and summed up."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memory.models import Memory, RunTrigger, Status, SummaryLevel
from memory.services.actors import Actor
from memory.services.consolidation.groups import Group
from memory.services.consolidation.runner import run_consolidation
from memory.services.consolidation.summaries import summarise
from tests.integration.consolidation.stage import MONDAY, Stopped, everything, made, run, say, sources_of
from tests.unit.consolidation.chat import chatting

pytestmark = pytest.mark.django_db(transaction=True)

SECOND_SUNDAY = datetime(2026, 3, 15, 0, 30, tzinfo=UTC)


def go(owner: Actor) -> None:
    chosen = (Group.KNOWLEDGE, Group.SUMMARIES)
    done = run_consolidation(owner_id=owner.owner_id, trigger=RunTrigger.SCHEDULE, groups=chosen)
    assert done is not None
    assert done.state == "done", done.stages


def live(owner: Actor, level: SummaryLevel) -> list[Memory]:
    return made(owner, kind="summary", summary_level=level)


@pytest.fixture
def moved(alice: Actor, time: Stopped) -> Actor:
    """Somebody who lives elsewhere and likes something else than she said a week before."""
    say(alice, "first", ("user", "I live in Whitefield."), ("user", "I love Chinese food."),
        ("user", "Marta repairs the roof of the barn in Porto."), at=MONDAY)  # fmt: skip
    time.at = datetime(2026, 3, 8, 0, 30, tzinfo=UTC)
    go(alice)
    (week,) = live(alice, SummaryLevel.WEEKLY)
    assert "[2026-03-02] User: I live in Whitefield." in week.text
    say(alice, "second", ("user", "I moved to Electronic City last weekend."), ("user", "I hate Chinese food now."),
        ("user", "Al sold his sailing boat to Marta."), at=MONDAY + timedelta(days=7))  # fmt: skip
    return alice


def test_what_was_contradicted_is_left_out_of_weeks_and_of_everything(moved: Actor, time: Stopped) -> None:
    time.at = MONDAY + timedelta(days=7, hours=3)
    go(moved)
    assert {row.text for row in made(moved, kind="fact", status=Status.SUPERSEDED)} == {"The user lives in Whitefield."}
    (week,) = live(moved, SummaryLevel.WEEKLY)
    (everything_known,) = live(moved, SummaryLevel.GLOBAL)
    for text in (week.text, everything_known.text):
        assert "Whitefield" not in text
        assert "love Chinese food" not in text
        assert "[2026-03-02] User: Marta repairs the roof of the barn in Porto." in text
    assert "The user hates Chinese food now." in everything_known.text
    time.at = SECOND_SUNDAY
    go(moved)
    first, second = live(moved, SummaryLevel.WEEKLY)
    assert "Whitefield" not in first.text
    assert "[2026-03-09] User: Al sold his sailing boat to Marta." in second.text
    (everything_known,) = live(moved, SummaryLevel.GLOBAL)
    lines = everything_known.text.splitlines()[1:]
    assert all(line.startswith("- [2026-03-") for line in lines)
    assert lines[0].startswith("- [2026-03-09] The user ")
    assert any("Electronic City" in line for line in lines)
    assert "Whitefield" not in everything_known.text
    assert "love Chinese" not in everything_known.text
    # Of its day and session it is told as ever.
    days = live(moved, SummaryLevel.DAILY)
    assert "I live in Whitefield." in days[0].text
    assert "I live in Whitefield." in live(moved, SummaryLevel.SESSION)[0].text
    assert sources_of(moved, first) == {days[0].pk}
    before = everything(moved)
    time.pass_(hours=1)
    go(moved)
    assert everything(moved) == before


def test_a_week_of_which_nothing_holds_is_retired(alice: Actor, time: Stopped) -> None:
    say(alice, "first", ("user", "I live in Whitefield."), ("user", "Ok."), at=MONDAY)
    time.at = datetime(2026, 3, 8, 0, 30, tzinfo=UTC)
    go(alice)
    assert len(live(alice, SummaryLevel.WEEKLY)) == 1
    say(alice, "second", ("user", "I moved to Electronic City last weekend."), at=MONDAY + timedelta(days=7))
    time.at = MONDAY + timedelta(days=7, hours=3)
    go(alice)
    assert live(alice, SummaryLevel.WEEKLY) == []
    assert len(made(alice, kind="summary", summary_level="weekly", status=Status.SUPERSEDED)) == 1


def test_a_model_is_told_what_holds_no_longer(moved: Actor, time: Stopped) -> None:
    time.at = MONDAY + timedelta(days=7, hours=3)
    done = run_consolidation(owner_id=moved.owner_id, trigger=RunTrigger.SCHEDULE, groups=(Group.KNOWLEDGE,))
    assert done is not None
    with chatting(["A summary."]) as chat:
        run(summarise, moved, SECOND_SUNDAY, model=chat.model)
        prompts = [prompt for prompt in chat.prompts() if '"no_longer_true"' in prompt]
    assert len(prompts) == 2
    assert all("The user lives in Whitefield." in prompt and "I live in Whitefield" not in prompt for prompt in prompts)
