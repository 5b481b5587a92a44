"""The page about recall in use, and the words beside the hits of a search."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.conf import settings
from django.urls import reverse

from memory.models import RecallRecord, owner_scope
from memory.services.actors import Actor
from memory.services.clock import now
from memory.services.settings import change_settings, get_settings
from telemetry.models import RecallExperiment, RecallFeedback, TunerChange
from telemetry.services.recalls.experiments import ExperimentDraft, start_experiment
from tests.integration.api.conftest import Client
from tests.integration.telemetry.recalls import ask, fill, observe

PAGE = "/telemetry/recall/"
HTMX = {"HX-Request": "true"}


def change(actor: Actor) -> TunerChange:
    change_settings(actor=actor, changes={"recall_threshold": 0.29})
    with owner_scope(actor.owner_id):
        made: TunerChange = TunerChange.objects.create(
            setting="recall_threshold",
            before=0.3,
            after=0.29,
            ndcg=0.2,
            recalls=5,
            reason="quality.low",
            created_at=now(),
        )
        return made


def shown(client: Client, path: str = PAGE) -> str:
    response = client.get(path)
    assert response.status_code == 200
    return str(response.content.decode())


def test_an_empty_page_says_what_to_do(woman: Client) -> None:
    page = shown(woman)
    assert "No recalls in these days" in page
    assert reverse("palace:recall") in page
    assert "The tuner is off" in page


def test_figures_histogram_drift_and_tables_are_shown(woman: Client, agent: Client) -> None:
    for at in range(40):
        observe(agent.actor, seconds=0.02, at=now() - timedelta(days=8))
        observe(agent.actor, relevances=(0.2,) if at % 2 else (), seconds=0.06, degraded=("arm.timeout:graph",))
    observe(woman.actor, gate="skip", relevances=())
    page = shown(woman)
    assert "Scores have moved much" in page
    assert '<span class="name">default</span>' in page
    assert "assistant" in page
    assert "arm.dense" in page
    assert "arm.timeout:graph" in page
    assert "to 75 ms: 40" in page
    assert "1 needed no search" in page
    assert "too few recalls" in shown(woman, f"{PAGE}?days=30")
    assert f'<a href="{PAGE}?days=7" aria-current="true">' in page


def test_days_are_offered_as_elsewhere_and_others_are_taken(woman: Client, agent: Client) -> None:
    old = observe(agent.actor, at=now() - timedelta(days=14, hours=12))
    page = shown(woman, f"{PAGE}?days=14")
    assert f'<a href="{PAGE}?days=14" aria-current="true">14 days</a>' in page
    assert "15 days" not in page
    assert str(old) not in page
    assert str(old) in shown(woman, f"{PAGE}?days=15")


@pytest.mark.parametrize("days", ["x", "0", "31", "99999", "٣", "-1"])
def test_days_that_there_are_not_are_refused_with_a_sentence(woman: Client, days: str) -> None:
    answer = woman.get(f"{PAGE}?days={days}")
    assert answer.status_code == 422
    assert "days.out_of_range" in answer.content.decode()


@pytest.mark.parametrize(
    ("name", "ids"),
    [("explain-recall", 1), ("start-experiment", 0), ("end-experiment", 1), ("switch-tuner", 0), ("undo-tuner", 1)],
)
def test_the_address_of_a_form_leads_to_the_page(woman: Client, name: str, ids: int) -> None:
    path = reverse(f"telemetry:{name}", args=[uuid4() for _ in range(ids)])
    for asked, expected in ((path, PAGE), (f"{path}?agent=x", f"{PAGE}?agent=x")):
        answer = woman.get(asked)
        assert (answer.status_code, answer["Location"]) == (302, expected)
    assert woman.put(path).status_code == 405


def test_a_refused_form_leads_to_addresses_of_the_page(woman: Client) -> None:
    page = woman.post(reverse("telemetry:start-experiment"), {"label": ""}, format="multipart").content.decode()
    assert f'<form class="filter" method="get" action="{PAGE}">' in page
    assert f'<a href="{PAGE}?days=14">14 days</a>' in page
    assert 'href="?' not in page


def test_with_telemetry_off_the_page_says_so(woman: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "TELEMETRY_ENABLED", False)
    assert "switched off on this server" in shown(woman)


def test_an_experiment_is_begun_shown_and_ended(woman: Client, agent: Client) -> None:
    form = {"label": "A <b>bold</b> one", "control": "default", "variant": "prax", "share": "100"}
    begun = woman.post(reverse("telemetry:start-experiment"), form, format="multipart")
    assert (begun.status_code, begun["Location"]) == (302, PAGE)
    fill(agent.actor)
    assert ask(agent.actor).profile == "prax"
    page = shown(woman)
    assert "A &lt;b&gt;bold&lt;/b&gt; one" in page
    assert "tried by 100 %" in page
    assert "too few agents to tell" in page
    with owner_scope(woman.actor.owner_id):
        made = RecallExperiment.objects.get()
    assert woman.post(reverse("telemetry:end-experiment", args=[made.pk])).status_code == 302
    assert "ended." in shown(woman)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ({"share": "x"}, "This is a whole number from 0 to 100."),
        ({"share": "101"}, "This is a whole number from 0 to 100."),
        ({"label": ""}, "The label has 1 to 100 printable characters."),
        ({"variant": "default"}, "Compare two different profiles."),
        ({"control": ""}, "This field is required."),
        ({"agents": "x"}, "Select a valid choice."),
    ],
)
def test_a_bad_experiment_shows_the_form_again_with_what_was_typed(
    woman: Client, agent: Client, field: dict[str, str], words: str
) -> None:
    form = {"label": "My &amp; comparison", "control": "engram", "variant": "prax", "share": "37", **field}
    if field == {"variant": "default"}:
        form["control"] = "default"
    refused = woman.post(reverse("telemetry:start-experiment"), form, format="multipart")
    page = refused.content.decode()
    assert refused.status_code == 422
    assert words in page
    assert "<details open>" in page
    assert 'value="37"' in page or "share" in field
    assert 'value="My &amp;amp; comparison"' in page or "label" in field
    with owner_scope(woman.actor.owner_id):
        assert not RecallExperiment.objects.exists()


def test_a_second_experiment_is_refused_beside_the_form(woman: Client) -> None:
    form = {"label": "x", "control": "default", "variant": "prax", "share": "50"}
    woman.post(reverse("telemetry:start-experiment"), form, format="multipart")
    refused = woman.post(reverse("telemetry:start-experiment"), form, format="multipart")
    assert refused.status_code == 422
    assert "An experiment is running. End it first." in refused.content.decode()


def test_agents_are_named_in_the_form_and_earlier_experiments_are_shown(woman: Client, agent: Client) -> None:
    page = shown(woman)
    assert f'<option value="{agent.actor.agent_id}">assistant</option>' in page.split("Begin a comparison")[1]
    form = {"label": "First", "control": "default", "variant": "prax", "share": "0", "agents": agent.actor.agent_id}
    woman.post(reverse("telemetry:start-experiment"), form, format="multipart")
    with owner_scope(woman.actor.owner_id):
        first = RecallExperiment.objects.get()
    assert first.agents == [agent.actor.agent_id]
    assert "In any case by: <bdi>assistant</bdi>." in shown(woman)
    woman.post(reverse("telemetry:end-experiment", args=[first.pk]))
    woman.post(reverse("telemetry:start-experiment"), {**form, "label": "Second"}, format="multipart")
    page = shown(woman)
    assert "“<bdi>Second</bdi>”: running" in page
    assert "Begin another" not in page
    link = f"{PAGE}?experiment={first.pk}"
    assert link in page
    page = shown(woman, link)
    assert "“<bdi>First</bdi>”: ended." in page
    assert "Both arms of the comparison" in page
    for unknown in ("x", str(first.owner_id)):
        assert woman.get(f"{PAGE}?experiment={unknown}").status_code == 404


def test_the_page_is_limited_by_agent_and_profile(woman: Client, agent: Client) -> None:
    slow = observe(agent.actor, profile="prax", seconds=0.9)
    mine = observe(woman.actor, seconds=0.8)
    page = shown(woman)
    assert str(slow) in page
    assert str(mine) in page
    for query in (f"agent={agent.actor.agent_id}", "profile=prax"):
        page = shown(woman, f"{PAGE}?{query}")
        assert str(slow) in page
        assert str(mine) not in page
        assert f'href="{PAGE}?days=30&amp;{query}"' in page
    assert "of this choice" in shown(woman, f"{PAGE}?profile=engram")
    for query in ("agent=x", f"agent={mine}", "profile=none"):
        assert woman.get(f"{PAGE}?{query}").status_code == 404


def test_a_slow_recall_is_explained(woman: Client, mallory: Actor) -> None:
    fill(woman.actor)
    answer = ask(woman.actor)
    path = reverse("telemetry:explain-recall", args=[answer.recall_id])
    assert path in shown(woman)
    explained = woman.post(path).content.decode()
    assert "Execution Time" in explained
    assert "billing" not in explained.split("A recall explained</h1>")[1].split("Back to recall in use")[0]
    fill(mallory)
    assert woman.post(reverse("telemetry:explain-recall", args=[ask(mallory).recall_id])).status_code == 404


def test_the_tuner_is_switched_and_its_change_undone(woman: Client) -> None:
    woman.post(reverse("telemetry:switch-tuner"), {"enabled": "true"}, format="multipart")
    assert get_settings(actor=woman.actor)["values"]["recall_tuner"] is True
    made = change(woman.actor)
    page = shown(woman)
    assert "The tuner is on" in page
    assert "0.30 → 0.29" in page
    assert woman.post(reverse("telemetry:undo-tuner", args=[made.pk])).status_code == 302
    assert "undone" in shown(woman)
    assert woman.post(reverse("telemetry:undo-tuner", args=[made.pk])).status_code == 409
    woman.post(reverse("telemetry:switch-tuner"), {"enabled": "false"}, format="multipart")
    assert "The tuner is off" in shown(woman)


def hits(client: Client, *, meant: bool) -> str:
    return shown(client, f"{reverse('palace:recall')}?q=billing{'&go=' if meant else ''}")


def test_hits_of_a_search_that_was_meant_can_be_judged(woman: Client) -> None:
    (memory_id, *_) = fill(woman.actor)
    assert "This helped" not in hits(woman, meant=False)
    page = hits(woman, meant=True)
    assert "This helped" in page
    with owner_scope(woman.actor.owner_id):
        recall_id = RecallRecord.objects.get().pk
    path = reverse("telemetry:feedback", args=[recall_id, memory_id])
    assert path in page

    def say(word: str) -> Any:
        return woman.post(path, {"helpful": word}, format="multipart", headers=HTMX)

    assert "Noted: this helped." in say("yes").content.decode()
    assert "Noted: this did not help." in say("no").content.decode()
    assert "Did this help?" in shown(woman, path)
    assert "Noted" not in say("unsaid").content.decode()
    assert say("perhaps").status_code == 422
    with owner_scope(woman.actor.owner_id):
        assert not RecallFeedback.objects.exists()
    assert woman.post(path, {"helpful": "yes", "next": "/?q=billing"}, format="multipart").status_code == 200


def test_another_owners_things_are_not_there(woman: Client, mallory: Actor) -> None:
    fill(mallory)
    answer = ask(mallory)
    theirs = start_experiment(actor=mallory, draft=ExperimentDraft(label="Hidden", control="default", variant="prax"))
    paths = [
        reverse("telemetry:feedback", args=[answer.recall_id, answer.hits[0].memory.pk]),
        reverse("telemetry:end-experiment", args=[theirs.pk]),
        reverse("telemetry:undo-tuner", args=[change(mallory).pk]),
        f"{PAGE}{answer.recall_id}/explain/",
    ]
    for path in paths:
        assert woman.post(path, {"helpful": "yes"}, format="multipart").status_code == 404
    assert "Hidden" not in shown(woman)
