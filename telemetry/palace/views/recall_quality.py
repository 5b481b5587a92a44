"""How well recall works in use, in the palace: figures, experiments, the tuner, and whether a hit has helped."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from memory.errors import InvalidInput
from memory.palace.access import is_partial, person_page, safe_next
from memory.palace.privacy_view import NO_NAME, named
from memory.palace.recall_state import PROFILE_MEANINGS
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.settings import change_settings
from telemetry.palace import recall_view
from telemetry.palace.frame import frame
from telemetry.services.recalls.experiment_results import experiment_results
from telemetry.services.recalls.experiments import ExperimentDraft, end_experiment, list_experiments, start_experiment
from telemetry.services.recalls.feedback import give_feedback, said_of, take_back_feedback
from telemetry.services.recalls.report import DAYS, QualityRequest, recall_report
from telemetry.services.recalls.tuning import SWITCH, list_tuner_changes, tuner_status, undo_tuner_change

WINDOWS: Final = (1, 7, 15, 30)
SHOWN_CHANGES: Final = 10
SAID: Final = {"yes": True, "no": False}


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show how recalls went, what is compared, and what the tuner has changed."""
    days = _days(request)
    report = recall_report(actor=actor, request=QualityRequest(days=days))
    names = {agent.pk: named(agent) for agent in list_agents(actor=actor)}
    current = now()
    context: dict[str, Any] = {
        "days": days,
        "windows": WINDOWS,
        "enabled": settings.TELEMETRY_ENABLED,
        "report": report,
        "figures": recall_view.figures(report),
        "helpful": recall_view.helpful_words(report.summary.helpful),
        "drift": recall_view.drift_words(report.drift, days),
        "columns": recall_view.columns(report.latency),
        "height": recall_view.HEIGHT,
        "foot": recall_view.HEIGHT - recall_view.FOOT,
        "stages": [
            (one.stage, one.recalls, recall_view.milliseconds(one.p50_ms), recall_view.milliseconds(one.p95_ms))
            for one in report.stages
        ],
        "profiles": recall_view.profile_rows(report.profiles),
        "agents": recall_view.agent_rows(report.agents, names, NO_NAME),
        "slow": recall_view.slow_rows(report.slow, names, NO_NAME, current),
        "tuner": tuner_status(actor=actor),
        "changes": recall_view.change_rows(list_tuner_changes(actor=actor, size=SHOWN_CHANGES), current),
        "profile_choices": [(name, f"{name}: {meaning}") for name, meaning in PROFILE_MEANINGS.items()],
        **_experiment(actor),
        **frame(request, actor),
    }
    return render(request, "telemetry/recall/page.html", context)


@person_page("POST")
def start(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Begin an experiment."""
    start_experiment(
        actor=actor,
        draft=ExperimentDraft(
            label=request.POST.get("label", ""),
            control=request.POST.get("control", ""),
            variant=request.POST.get("variant", ""),
            share=_share(request.POST.get("share", "")),
        ),
    )
    messages.success(request, "The comparison has begun. Agents that name no profile take part in it from now on.")
    return _to_page()


@person_page("POST")
def end(request: HttpRequest, actor: Actor, experiment_id: UUID) -> HttpResponse:
    """End an experiment."""
    end_experiment(actor=actor, experiment_id=experiment_id)
    messages.success(request, "The comparison has ended. What it found stays here.")
    return _to_page()


@person_page("POST")
def switch_tuner(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Switch the tuner on or off."""
    on = request.POST.get("enabled") == "true"
    change_settings(actor=actor, changes={SWITCH: on})
    messages.success(request, f"The tuner is {'on' if on else 'off'}.")
    return _to_page()


@person_page("POST")
def undo(request: HttpRequest, actor: Actor, change_id: UUID) -> HttpResponse:
    """Undo a change of the tuner."""
    change = undo_tuner_change(actor=actor, change_id=change_id)
    messages.success(request, f"The least relevance is {change.before:.2f} again.")
    return _to_page()


@person_page("GET", "HEAD", "POST")
def feedback(request: HttpRequest, actor: Actor, recall_id: UUID, memory_id: UUID) -> HttpResponse:
    """Say whether a hit has helped, take that back, or see what was said.

    Where htmx asks, the buttons alone are given, which take the place of those beside the hit.
    """
    if request.method == "POST":
        word = request.POST.get("helpful", "")
        if word == "unsaid":
            take_back_feedback(actor=actor, recall_id=recall_id, memory_id=memory_id)
        elif word in SAID:
            give_feedback(actor=actor, recall_id=recall_id, memory_id=memory_id, helpful=SAID[word])
        else:
            raise InvalidInput("Say whether it helped: yes, no or unsaid.", code="feedback.invalid", field="helpful")
    context = {
        "recall_id": recall_id,
        "memory_id": memory_id,
        "said": said_of(actor=actor, recall_id=recall_id, memory_id=memory_id),
        "place": request.GET.get("place", "")[:3],
        "back": safe_next(request, reverse("palace:recall")),
    }
    if is_partial(request):
        return render(request, "telemetry/recall/feedback.html", context)
    return render(request, "telemetry/recall/feedback_page.html", context | frame(request, actor))


def _experiment(actor: Actor) -> dict[str, Any]:
    """Describe the newest experiment, running or ended; nothing where there is none."""
    newest = next(iter(list_experiments(actor=actor, size=1)), None)
    if newest is None:
        return {"experiment": None}
    results = experiment_results(actor=actor, experiment_id=newest.pk)
    return {
        "experiment": newest,
        "arms": recall_view.arm_rows(results),
        "differences": recall_view.difference_rows(results),
        "method": results.method,
        "least_agents": results.least_agents,
    }


def _days(request: HttpRequest) -> int:
    """Read the window from the address; the usual one for anything else."""
    asked = request.GET.get("days", "")
    return int(asked) if asked in {str(days) for days in WINDOWS} else DAYS


def _share(percent: str) -> float:
    if not percent.isascii() or not percent.isdigit() or len(percent) > 3:
        raise InvalidInput("The share is a number of percent from 0 to 100.", code="experiment.share", field="share")
    return int(percent) / 100


def _to_page() -> HttpResponse:
    return HttpResponseRedirect(reverse("telemetry:recall"))
