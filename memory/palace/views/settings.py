"""Settings: how agents are given memories, what is drawn from conversations, and what time takes."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlsplit

from django.conf import settings as installed
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.errors import InvalidInput
from memory.models import EmbeddingSpace, SpaceState, User
from memory.palace.access import person_page
from memory.palace.errors import problem_of
from memory.palace.setting_words import LABELS, VALUES, short
from memory.palace.settings_changes import last_changes
from memory.palace.settings_forms import SettingsForm, refused
from memory.palace.surroundings import surroundings
from memory.providers.composition import second_embedder
from memory.providers.embedder_choices import OLLAMA
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.clock import now
from memory.services.legible import UNREADABLE, legible
from memory.services.retention_policies import MOST_COUNTED, count_outcomes
from memory.services.settings import change_settings, chosen_settings, get_settings
from memory.services.settings_table import OWNER_SETTINGS
from memory.services.spaces.in_use import embedder_in_use

PARTS: Final = {
    "recall": (
        "auto_recall",
        "recall_limit",
        "recall_threshold",
        "recall_tuner",
        "recall_profile",
        "context_tokens",
        "context_format",
    ),
    "capture": ("auto_capture",),
    "retention": ("retention_policy", "archive_retention_days"),
}
"""The parts of the page, with the settings that one button saves."""


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the settings of the owner."""
    return _page(request, actor)


@person_page("POST")
def change(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Save a part of the settings, or give one of them its default back."""
    part = request.POST.get("part", "")
    names = PARTS.get(part)
    if names is None:
        raise InvalidInput(_("There is no such part of the settings."), code="setting.unknown")
    reset = request.POST.get("reset", "")
    if reset in names:
        change_settings(actor=actor, changes={reset: None})
        messages.success(request, _("%(setting)s is as it was by default.") % {"setting": LABELS[reset]})
        return _back(part)
    form = _form(part, get_settings(actor=actor)["values"], request.POST)
    if form.is_valid():
        try:
            _save(request, actor, form)
        except InvalidInput as error:
            refused(form, error)
            return _page(request, actor, bound=(part, form), status=problem_of(error).status)
        return _back(part)
    return _page(request, actor, bound=(part, form), status=422)


def _save(request: HttpRequest, actor: Actor, form: SettingsForm) -> None:
    changes = form.changes()
    if not changes:
        messages.info(request, _("Nothing was changed."))
        return
    # One that is brought to its default is chosen no more. Each by itself, so that the log names it.
    for name, value in changes.items():
        wanted = None if value == OWNER_SETTINGS[name].default else value
        change_settings(actor=actor, changes={name: wanted})
    messages.success(request, _("Saved. It holds from the next request on."))


def _back(part: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(f"{reverse('palace:settings')}#{part}")


def _form(part: str, values: dict[str, Any], data: Any = None) -> SettingsForm:
    return SettingsForm(PARTS[part], values, data)


def _page(
    request: HttpRequest, actor: Actor, *, bound: tuple[str, SettingsForm] | None = None, status: int = 200
) -> HttpResponse:
    values, chosen, current = get_settings(actor=actor)["values"], chosen_settings(actor=actor), now()
    changed = last_changes(actor, current)
    forms = {part: _form(part, values) for part in PARTS}
    if bound is not None:
        forms[bound[0]] = bound[1]
    context = {
        "parts": {part: [_row(form, name, chosen, changed) for name in PARTS[part]] for part, form in forms.items()},
        "forms": forms,
        "outcomes": _outcomes(actor, values["retention_policy"]),
        "agents": [
            {"id": agent.pk, "name": legible(agent, "name") or _(UNREADABLE)} for agent in list_agents(actor=actor)
        ],
        "embedding": _embedding(request),
        **surroundings(request, actor),
    }
    return render(request, "palace/settings/page.html", context, status=status)


def _row(form: SettingsForm, name: str, chosen: dict[str, Any], changed: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "field": form[name],
        "chosen": name in chosen,
        "default": short(OWNER_SETTINGS[name].default),
        "changed": changed.get(name),
    }


def _outcomes(actor: Actor, current: str) -> list[dict[str, Any]]:
    """Say for each retention policy how many memories it would archive today."""
    return [
        {"words": str(VALUES["retention_policy"][name]), "count": _counted(count), "current": name == current}
        for name, count in count_outcomes(actor=actor).items()
    ]


def _counted(count: int) -> str:
    if count > MOST_COUNTED:
        return _("more than %(count)d") % {"count": MOST_COUNTED}
    return ngettext("%(count)d memory", "%(count)d memories", count) % {"count": count}


def _embedding(request: HttpRequest) -> list[dict[str, str]]:
    """Give what staff may know of the model that reads for meaning, and what to change it with; nothing to others."""
    if not isinstance(request.user, User) or not request.user.is_staff:
        return []
    model = embedder_in_use()
    space = EmbeddingSpace.objects.filter(state=SpaceState.ACTIVE).first()
    prefix = "EMBEDDING_SECOND" if model is second_embedder() else "EMBEDDING"
    named = f"{prefix}_BASE_URL"
    if model.provider == OLLAMA and not getattr(installed, named):
        named = "OLLAMA_BASE_URL"
    address = getattr(installed, named)
    return [
        {"name": _("Provider"), "value": model.provider, "type": f"{prefix}_PROVIDER=local"},
        {"name": _("Model"), "value": model.model or _("none"), "type": f"{prefix}_MODEL=…"},
        {
            "name": _("Address"),
            "value": _without_password(address) or _("in this process"),
            "type": f"{named}=https://…",
        },
        {"name": _("Width of a vector"), "value": str(space.dimension) if space else _("not known yet"), "type": ""},
    ]


def _without_password(address: str) -> str:
    """Give an address without a name or password that it may hold."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    return parts._replace(netloc=f"{host}:{parts.port}" if parts.port else host).geturl()
