"""How well recall works in use, in the palace: figures, experiments, the tuner, and whether a hit has helped."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.errors import InvalidInput, LociError, NotFound
from memory.palace.access import is_partial, person_page, safe_next
from memory.palace.errors import add_to_form
from memory.palace.numbers import local
from memory.palace.privacy_view import NO_NAME, named
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.settings import change_settings
from telemetry.models import RecallExperiment
from telemetry.palace import experiment_view, recall_view
from telemetry.palace.experiment_form import PROFILES, ExperimentForm
from telemetry.palace.forms_of_pages import form_of
from telemetry.palace.frame import frame
from telemetry.palace.recall_state import state_of
from telemetry.services.recalls.experiment_results import experiment_results
from telemetry.services.recalls.experiments import (
    end_experiment,
    get_experiment,
    list_experiments,
    start_experiment,
)
from telemetry.services.recalls.explaining import explain_recall
from telemetry.services.recalls.feedback import give_feedback, said_of, take_back_feedback
from telemetry.services.recalls.report import recall_report
from telemetry.services.recalls.tuning import SWITCH, list_tuner_changes, tuner_status, undo_tuner_change

SHOWN_CHANGES: Final = 10
SHOWN_EXPERIMENTS: Final = 20
BEGUN: Final = gettext_lazy("The comparison has begun. Agents that name no profile take part in it from now on.")
SAID: Final = {"yes": True, "no": False}


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show how recalls went, what is compared, and what the tuner has changed."""
    return _page(request, actor)


@form_of("telemetry:recall")
def start(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Begin an experiment; where that cannot be, show the page again with what was typed."""
    form = ExperimentForm(request.POST, agents=list(_names(actor).items()))
    if form.is_valid():
        try:
            start_experiment(actor=actor, draft=form.draft())
        except LociError as error:
            add_to_form(form, error)
        else:
            messages.success(request, BEGUN)
            return _to_page()
    form.focus_first_error()
    return _page(request, actor, form, status=422)


@form_of("telemetry:recall")
def explain(request: HttpRequest, actor: Actor, recall_id: UUID) -> HttpResponse:
    """Do a recall once more and show the database's plans for it."""
    found = explain_recall(actor=actor, recall_id=recall_id)
    context = {
        "found": found,
        "took": recall_view.milliseconds(found.milliseconds),
        "statements": [(one.stage, recall_view.milliseconds(one.milliseconds), one.lines) for one in found.statements],
    }
    return render(request, "telemetry/recall/explained.html", context | frame(request, actor))


@form_of("telemetry:recall")
def end(request: HttpRequest, actor: Actor, experiment_id: UUID) -> HttpResponse:
    """End an experiment."""
    end_experiment(actor=actor, experiment_id=experiment_id)
    messages.success(request, _("The comparison has ended. What it found stays here."))
    return _to_page()


@form_of("telemetry:recall")
def switch_tuner(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Switch the tuner on or off."""
    on = request.POST.get("enabled") == "true"
    change_settings(actor=actor, changes={SWITCH: on})
    messages.success(request, _("The tuner is on.") if on else _("The tuner is off."))
    return _to_page()


@form_of("telemetry:recall")
def undo(request: HttpRequest, actor: Actor, change_id: UUID) -> HttpResponse:
    """Undo a change of the tuner."""
    change = undo_tuner_change(actor=actor, change_id=change_id)
    messages.success(request, _("The least relevance is %(value)s again.") % {"value": local(f"{change.before:.2f}")})
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


def _page(request: HttpRequest, actor: Actor, form: ExperimentForm | None = None, *, status: int = 200) -> HttpResponse:
    state, names, current = state_of(request.GET), _names(actor), now()
    report = recall_report(actor=actor, request=state.request())
    context: dict[str, Any] = {
        "days": report.days,
        "state": state,
        "windows": state.windows(),
        "agent_choices": [(str(agent), name) for agent, name in names.items()],
        "profile_choices": PROFILES,
        "enabled": settings.TELEMETRY_ENABLED,
        "report": report,
        "figures": recall_view.figures(report),
        "helpful": recall_view.helpful_words(report.summary.helpful),
        "drift": recall_view.drift_words(report.drift, report.days),
        "columns": recall_view.columns(report.latency),
        "height": recall_view.HEIGHT,
        "foot": recall_view.HEIGHT - recall_view.FOOT,
        "stages": [
            (one.stage, one.recalls, recall_view.milliseconds(one.p50_ms), recall_view.milliseconds(one.p95_ms))
            for one in report.stages
        ],
        "profiles": recall_view.profile_rows(report.profiles),
        "agents": recall_view.agent_rows(report.agents, names, str(NO_NAME)),
        "slow": recall_view.slow_rows(report.slow, names, str(NO_NAME), current),
        "tuner": tuner_status(actor=actor),
        "changes": recall_view.change_rows(list_tuner_changes(actor=actor, size=SHOWN_CHANGES), current),
        "form": form or ExperimentForm(agents=list(names.items())),
        **_experiments(request, actor, names, current),
        **frame(request, actor),
    }
    return render(request, "telemetry/recall/page.html", context, status=status)


def _experiments(request: HttpRequest, actor: Actor, names: Mapping[UUID, str], current: datetime) -> dict[str, Any]:
    """Describe the experiment that the address names, else the newest, and list all; nothing where there is none."""
    listed = list_experiments(actor=actor, size=SHOWN_EXPERIMENTS)
    asked = request.GET.get("experiment", "")
    shown = _experiment(actor, asked) if asked else next(iter(listed), None)
    if shown is None:
        return {"experiment": None}
    results = experiment_results(actor=actor, experiment_id=shown.pk)
    return {
        "experiment": shown,
        "experiment_label": experiment_view.experiment_label(shown),
        "running": any(one.ended_at is None for one in listed),
        "named_agents": [names.get(agent, str(NO_NAME)) for agent in shown.agents],
        "arms": experiment_view.arm_rows(results),
        "differences": experiment_view.difference_rows(results),
        "method": _(results.method),
        "least_agents": results.least_agents,
        "experiments": experiment_view.experiment_rows(listed, shown.pk, current) if len(listed) > 1 else [],
    }


def _experiment(actor: Actor, asked: str) -> RecallExperiment:
    try:
        return get_experiment(actor=actor, experiment_id=UUID(asked))
    except ValueError:
        raise NotFound("There is no such experiment.") from None


def _names(actor: Actor) -> dict[UUID, str]:
    return {agent.pk: named(agent) for agent in list_agents(actor=actor)}


def _to_page() -> HttpResponse:
    return HttpResponseRedirect(reverse("telemetry:recall"))
