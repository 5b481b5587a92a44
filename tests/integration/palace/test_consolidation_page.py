"""Consolidation: how it stands, its switch and settings, runs by hand with their reports, and what failed."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client
from django.urls import reverse

from memory.models import ConsolidationRun, ExtractionFailure, Memory, RunState, RunTrigger, Status, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.consolidation.due import consolidate_due
from memory.services.consolidation.runs import ask_for_run
from memory.services.drafts import Draft
from memory.services.retirement import archive_memory
from memory.services.settings import change_settings, get_settings
from memory.services.settings_table import CONSOLIDATION, OWNER_SETTINGS
from memory.services.turns import TurnDraft, ingest_turns

pytestmark = pytest.mark.django_db

Store = Callable[..., UUID]


@pytest.fixture
def talked(alice: Actor, make_agent: Callable[..., Any]) -> Actor:
    """An agent that has told a conversation."""
    agent: Actor = make_agent(alice, "scribe")[0]
    turns = [
        TurnDraft(draft=Draft(text=text, role="user"))
        for text in (
            "I live in Whitefield. My sister Jule has a puppy named Oscar.",
            "I hate Chinese food.",
            "I moved from Whitefield to Electronic City.",
        )
    ]
    ingest_turns(actor=agent, session="letters", turns=turns)
    return agent


def run_by_hand(actor: Actor) -> ConsolidationRun:
    return ask_for_run(actor=actor, wait=True)


def page(client: Client) -> Any:
    answer = client.get(reverse("palace:consolidation"))
    assert answer.status_code == 200
    return answer


def test_an_empty_palace_says_why_nothing_is_due(palace: Client) -> None:
    answer = page(palace)
    text = answer.content.decode()
    assert "Consolidation is on" in text
    assert "There was none yet." in text
    assert answer.context["pending_rows"] == 0


def test_what_waits_and_why_the_next_run_comes(palace: Client, talked: Actor) -> None:
    answer = page(palace)
    assert answer.context["pending_rows"] == 3
    assert "B" in answer.context["pending_size"]
    assert answer.context["unslept"] == 3
    assert "The first thing that is due" in answer.context["why"]
    assert answer.context["groups"]


def test_a_run_is_asked_for_done_by_a_worker_and_told(palace: Client, talked: Actor, alice: Actor) -> None:
    answer = palace.post(reverse("palace:consolidation-ask"))
    assert answer.status_code == 302
    waiting = page(palace)
    assert waiting.context["run"].state == "waiting"
    part = palace.get(reverse("palace:consolidation"), headers={"HX-Request": "true"}).content.decode()
    assert 'data-at-work="yes"' in part
    assert "<html" not in part

    consolidate_due()

    done = page(palace)
    assert done.context["run"] is None
    first = done.context["runs"][0]
    assert (first.state, first.trigger) == ("done", "somebody asked for it")
    assert first.outcome
    text = palace.get(reverse("palace:consolidation-run", args=[first.id])).content.decode()
    assert "Facts that it drew" in text
    assert "Electronic City" in text
    assert "No language model read anything." in text
    assert "new facts" in text
    assert "too few" not in text, "reasons are told in words"


def test_only_a_part_is_run(palace: Client, talked: Actor) -> None:
    palace.post(reverse("palace:consolidation-ask"), {"groups": ["communities"]})
    consolidate_due()
    by_hand = [run for run in page(palace).context["runs"] if run.trigger == "somebody asked for it"]
    assert [[one.name for one in run.stages] for run in by_hand] == [["Communities"]]


def test_what_was_archived_by_a_run_is_restored_from_its_page(palace: Client, alice: Actor, store: Store) -> None:
    gone = store("The kettle is red.")
    moment = now()
    with owner_scope(alice.owner_id):
        run = ConsolidationRun.objects.create(
            trigger=RunTrigger.SCHEDULE, state=RunState.DONE, started_at=moment,
            finished_at=moment + timedelta(minutes=1),
        )  # fmt: skip
        archive_memory(actor=alice, memory_id=gone, reason="decay")
    address = reverse("palace:consolidation-run", args=[run.pk])
    text = palace.get(address).content.decode()
    assert "What it archived" in text
    answer = palace.post(reverse("palace:restore-memory", args=[gone]), {"next": address})
    assert answer["Location"] == address
    with owner_scope(alice.owner_id):
        assert Memory.objects.get(pk=gone).status == Status.LIVE


def test_switching_off_and_on(palace: Client, alice: Actor) -> None:
    palace.post(reverse("palace:consolidation-switch"), {"on": "false"})
    assert get_settings(actor=alice)["values"]["consolidation"] is False
    text = page(palace).content.decode()
    assert "Consolidation is off" in text
    assert "Run now" not in text
    answer = palace.post(reverse("palace:consolidation-ask"), follow=True)
    assert "Consolidation is disabled. Nothing was asked for." in answer.content.decode()
    palace.post(reverse("palace:consolidation-switch"), {"on": "true"})
    assert get_settings(actor=alice)["values"]["consolidation"] is True


def test_every_setting_has_a_field_with_its_meaning(palace: Client) -> None:
    answer = page(palace)
    fields = {name for form in answer.context["forms"] for name in form.fields}
    groups = set(CONSOLIDATION)
    assert fields == {name for name, one in OWNER_SETTINGS.items() if one.group in groups} - {"consolidation"}
    text = answer.content.decode()
    assert "Most memories of one pass." in text
    assert "Takes 2 to 100; the default is 20." in text


def test_settings_are_kept_refused_and_reset(palace: Client, alice: Actor) -> None:
    address = reverse("palace:consolidation-settings", args=["sleep"])
    form = {
        "sleep": "rules", "sleep_every_minutes": "45", "sleep_window": "20", "sleep_least_rows": "3",
        "sleep_connections": "5", "sleep_metadata": "false", "sleep_rerate": "true",
    }  # fmt: skip
    assert palace.post(address, form).status_code == 302
    values = get_settings(actor=alice)["values"]
    assert (values["sleep_every_minutes"], values["sleep_metadata"]) == (45, False)

    wrong = palace.post(address, {**form, "sleep_window": "1000", "sleep": "dream"})
    assert wrong.status_code == 422
    bound = next(one for one in wrong.context["forms"] if one.group == "sleep")
    assert set(bound.errors) == {"sleep_window", "sleep"}
    assert "This takes 2 to 100." in wrong.content.decode()
    assert get_settings(actor=alice)["values"]["sleep_window"] == 20

    palace.post(address, {"reset": "yes"})
    assert get_settings(actor=alice)["values"]["sleep_every_minutes"] == 30
    assert palace.post(reverse("palace:consolidation-settings", args=["dreams"]), form).status_code == 404


def test_a_fraction_is_kept(palace: Client, alice: Actor) -> None:
    shown = next(one for one in page(palace).context["forms"] if one.group == "consolidation")
    form = {name: str(shown.fields[name].initial) for name in shown.fields}
    palace.post(reverse("palace:consolidation-settings", args=["consolidation"]), {**form, "gate_confidence": "0.75"})
    assert get_settings(actor=alice)["values"]["gate_confidence"] == 0.75


def test_reasons_are_told_in_words(palace: Client, alice: Actor, store: Store) -> None:
    store("The kettle is red.")
    change_settings(actor=alice, changes={"summaries": False})
    run = run_by_hand(alice)
    text = palace.get(reverse("palace:consolidation-run", args=[run.pk])).content.decode()
    assert "Only 1 new memories wait, and it begins with 3." in text
    assert "Summaries are switched off in the settings." in text


def test_what_failed_is_listed_and_tried_again(palace: Client, alice: Actor, store: Store) -> None:
    failed = store("Write to anna.silva@example.org about the kettle.")
    with owner_scope(alice.owner_id):
        ExtractionFailure.objects.create(
            owner_id=alice.owner_id, memory_id=failed, code="llm.unusable", attempts=5, failed_at=now(), next_at=None
        )
    assert "Nothing could be drawn from 1 memory." in page(palace).content.decode()
    text = palace.get(reverse("palace:extraction-failures")).content.decode()
    assert "The language model answered nothing usable." in text
    assert "not tried again by itself" in text
    assert "anna.silva" not in text

    palace.post(reverse("palace:retry-extraction", args=[failed]))

    with owner_scope(alice.owner_id):
        assert ExtractionFailure.objects.get(memory_id=failed).next_at is not None


def test_runs_are_paged(palace: Client, alice: Actor) -> None:
    moment = now()
    with owner_scope(alice.owner_id):
        for number in range(23):
            ConsolidationRun.objects.create(
                trigger=RunTrigger.COUNT, state=RunState.DONE, started_at=moment - timedelta(minutes=number),
                finished_at=moment, prompt_tokens=1200, completion_tokens=34, llm_calls=2,
            )  # fmt: skip
    first = palace.get(reverse("palace:consolidation-runs"))
    assert len(first.context["runs"]) == 20
    assert "1,234" in first.content.decode()
    second = palace.get(reverse("palace:consolidation-runs"), {"after": first.context["next_place"]})
    assert len(second.context["runs"]) == 3
    assert palace.get(reverse("palace:consolidation-runs"), {"after": "x"}).status_code == 422


def test_what_several_stages_made_alike_is_added_up(palace: Client, alice: Actor) -> None:
    stages = [
        {"name": name, "group": "sleep", "state": "done", "counts": {"patterns": count, "rows": 9}, "notes": [],
         "skipped_reason": "", "seconds": 1.0}
        for name, count in (("patterns", 2), ("reflection", 1))
    ]  # fmt: skip
    with owner_scope(alice.owner_id):
        ConsolidationRun.objects.create(
            trigger=RunTrigger.COUNT, state=RunState.DONE, started_at=now(), finished_at=now(), stages=stages
        )
    (told,) = palace.get(reverse("palace:consolidation-runs")).context["runs"]
    assert told.outcome == "new patterns: 3"


def test_pages_ask_no_more_for_more_runs(
    palace: Client, alice: Actor, django_assert_max_num_queries: Any, store: Store
) -> None:
    def add(count: int) -> None:
        moment = now()
        with owner_scope(alice.owner_id):
            for _ in range(count):
                ConsolidationRun.objects.create(
                    trigger=RunTrigger.COUNT, state=RunState.DONE, started_at=moment, finished_at=moment
                )
                memory_id = store(f"The kettle {uuid4()} is red.")
                ExtractionFailure.objects.create(
                    owner_id=alice.owner_id, memory_id=memory_id, code="llm.unusable", failed_at=moment
                )

    addresses = [reverse(f"palace:{name}") for name in ("consolidation", "consolidation-runs", "extraction-failures")]
    add(1)
    counts = []
    for address in addresses:
        palace.get(address)
        with django_assert_max_num_queries(70) as asked:
            palace.get(address)
        counts.append(len(asked))
    add(12)
    for address, count in zip(addresses, counts, strict=True):
        with django_assert_max_num_queries(count):
            palace.get(address)


def test_another_owner_sees_nothing_of_it(stranger: Client, alice: Actor, store: Store) -> None:
    store("The kettle is red.")
    run = run_by_hand(alice)
    assert stranger.get(reverse("palace:consolidation-run", args=[run.pk])).status_code == 404
    assert page(stranger).context["runs"] == []
    assert stranger.post(reverse("palace:retry-extraction", args=[uuid4()])).status_code == 404


def test_what_was_concluded_is_listed_by_kind(palace: Client, alice: Actor, stranger: Client, store: Store) -> None:
    store("The team plans in the morning.", kind="insight")
    store("Write to anna.silva@example.org: said on most days.", kind="pattern")
    store("The kettle is red.")
    address = reverse("palace:concluded")
    everything = palace.get(address)
    assert [row.kind for row in everything.context["rows"]] == ["pattern", "insight"]
    assert "anna.silva" not in everything.content.decode()
    assert [row.kind for row in palace.get(address, {"kind": "insight"}).context["rows"]] == ["insight"]
    assert palace.get(address, {"kind": "note"}).status_code == 422
    assert "Nothing was concluded yet" in stranger.get(address).content.decode()
