"""Events with their times, and causes with their effects."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from tests.unit.consolidation.extraction.drawing import AT, draw


def test_yesterday_counts_from_the_moment_of_the_passage() -> None:
    (event,) = draw("Yesterday the sensor failed.").events
    assert event.text == "Yesterday the sensor failed."
    assert event.occurred_at == datetime(2025, 5, 13, tzinfo=UTC)


def test_without_a_named_time_the_event_has_the_time_of_its_passage() -> None:
    (event,) = draw("The sensor failed.").events
    assert event.occurred_at == AT


def test_the_day_begins_in_the_zone_of_the_passage() -> None:
    zone = timezone(timedelta(hours=9))
    (event,) = draw("Yesterday the sensor failed.", at=datetime(2025, 5, 14, 2, 0, tzinfo=zone)).events
    assert event.occurred_at == datetime(2025, 5, 13, tzinfo=zone)


@pytest.mark.parametrize(
    ("said", "told", "day"),
    [
        ("I went to a pride parade last Friday.", "Ana went to a pride parade last Friday.", (2025, 5, 9)),
        ("Last week I joined a gym!", "Last week Ana joined a gym.", (2025, 5, 5)),
        ("On 3 May we launched the shop.", "On 3 May Ana and others launched the shop.", (2025, 5, 3)),
        ("I will fly to Lisbon on 3 June.", "Ana will fly to Lisbon on 3 June.", (2025, 6, 3)),
        ("We moved the date to Thursday 21 August.", "Ana and others moved the date to Thursday 21 August.",
         (2025, 8, 21)),
        ("My brother got married two days ago.", "Ana's brother got married two days ago.", (2025, 5, 12)),
    ],
    ids=str,
)  # fmt: skip
def test_events_and_their_days(said: str, told: str, day: tuple[int, int, int]) -> None:
    (event,) = draw(said).events
    assert event.text == told
    assert event.occurred_at == datetime(*day, tzinfo=UTC)


def test_who_took_part() -> None:
    (event,) = draw("I met Henrik Oelze in Galway yesterday.").events
    assert event.participants == ("Ana", "Henrik Oelze", "Galway")


@pytest.mark.parametrize(
    "said",
    [
        "Did the sensor fail yesterday?", "I would have gone to Paris last week.", "I usually run on Fridays.",
        "If the sensor failed yesterday, tell me.", "I didn't go to the parade last Friday.",
        "You went home yesterday.",
        "It failed yesterday.", "I love Fridays.", "What happened last week?",
    ],
    ids=str,
)  # fmt: skip
def test_what_did_not_happen_is_no_event(said: str) -> None:
    assert list(draw(said).events) == []


@pytest.mark.parametrize(
    ("said", "cause", "effect"),
    [
        ("The sensor failed because the cable was loose.", "The cable was loose.", "The sensor failed."),
        ("Because the cable was loose, the sensor failed.", "The cable was loose.", "The sensor failed."),
        ("The sensor failed due to a loose cable.", "A loose cable.", "The sensor failed."),
        ("The loose cable led to a long outage.", "The loose cable.", "A long outage."),
        ("The long outage was caused by a loose cable.", "A loose cable.", "The long outage."),
        ("I lowered the limit so that the pods read faster.", "Ana lowered the limit.", "The pods read faster."),
        ("The cable was loose. As a result, the sensor failed.", "The cable was loose.", "The sensor failed."),
        ("I love the sea because my father was a sailor.", "Ana's father was a sailor.", "Ana loves the sea."),
    ],
    ids=str,
)
def test_what_led_to_what(said: str, cause: str, effect: str) -> None:
    (link,) = draw(said).causes
    assert (link.cause, link.effect) == (cause, effect)


@pytest.mark.parametrize(
    "said",
    [
        "Just because.",
        "Is it because the cable was loose?",
        "It's because of that.",
        "If it fails because of us, so be it.",
    ],
)
def test_what_does_not_say_what_led_to_what(said: str) -> None:
    assert list(draw(said).causes) == []


def test_the_entities_that_cause_and_effect_are_about() -> None:
    (link,) = draw("I left Acme Logistics because Henrik Oelze was promoted.").causes
    assert (link.cause_entity, link.effect_entity) == ("Henrik Oelze", "Acme Logistics")


@pytest.mark.parametrize(
    ("said", "effect"),
    [
        ("We moved because the commute took two hours.", "Ana and others moved."),
        ("I quit because the commute took two hours.", "Ana quit."),
    ],
    ids=str,
)
def test_an_effect_of_two_words(said: str, effect: str) -> None:
    (cause,) = draw(said).causes
    assert (cause.cause, cause.effect) == ("The commute took two hours.", effect)


def test_two_words_that_tell_no_turn_are_no_effect() -> None:
    assert draw("I did because the commute took two hours.").causes == ()
