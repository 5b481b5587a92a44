"""One agent: its name, trust, groups, keys, tokens and settings, and what it did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import InvalidInput, LociError, NotFound
from memory.palace.access import person_page
from memory.palace.agent_costs import agent_costs
from memory.palace.agent_forms import KeyForm, NameForm, TokenForm, TrustForm
from memory.palace.agent_view import agent_row, key_row
from memory.palace.dates import moment
from memory.palace.errors import add_to_form, problem_of
from memory.palace.permission_words import group_name
from memory.palace.privacy_view import access_row
from memory.palace.setting_words import value_word
from memory.palace.settings_changes import last_changes
from memory.palace.settings_forms import SettingsForm, refused
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.agent_figures import AgentFigures, agent_figures
from memory.services.agent_settings import AGENT_SETTINGS, change_agent_settings, get_agent_settings
from memory.services.agents import (
    change_key,
    create_key,
    list_groups,
    list_keys,
    rename_agent,
    revoke_key,
    set_membership,
)
from memory.services.audit.access_log import LogRequest, access_log
from memory.services.bus.capabilities import Grant, end_capabilities, issue_capability
from memory.services.bus.trusting import set_trust
from memory.services.clock import now
from memory.services.settings import get_settings

ACTS: Final = 20
MOST_GROUPS: Final = 200


@dataclass(frozen=True, slots=True)
class Shown:
    """A secret that is shown in this answer only: a key or a token, with the request that tries it."""

    kind: str
    secret: str
    command: str


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Show an agent."""
    return _page(request, actor, agent_id)


@person_page("POST")
def rename(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Give an agent another name."""
    form = NameForm(request.POST, prefix="name")
    if not form.is_valid():
        return _page(request, actor, agent_id, bound={"name": form}, status=422)
    try:
        rename_agent(actor=actor, agent_id=agent_id, name=form.cleaned_data["name"] or "")
    except NotFound:
        raise
    except LociError as error:
        return _refused(request, actor, agent_id, "name", form, error)
    return _done(request, agent_id, _("Renamed."))


@person_page("POST")
def trust(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Say how far an agent is trusted."""
    form = TrustForm(request.POST, prefix="trust")
    if not form.is_valid():
        return _page(request, actor, agent_id, bound={"trust": form}, status=422)
    try:
        set_trust(actor=actor, agent_id=agent_id, trust=form.value())
    except NotFound:
        raise
    except LociError as error:
        return _refused(request, actor, agent_id, "trust", form, error)
    return _done(request, agent_id, _("Saved."))


@person_page("POST")
def groups(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Put an agent into the groups that are ticked, and take it out of the others."""
    _figures(actor, agent_id)
    try:
        wanted = {UUID(one) for one in request.POST.getlist("groups")[:MOST_GROUPS]}
    except ValueError:
        raise NotFound(_("There is no such squad or project here.")) from None
    for group, members in list_groups(actor=actor):
        if (group.pk in wanted) != (agent_id in members):
            set_membership(actor=actor, group_id=group.pk, agent_id=agent_id, member=group.pk in wanted)
    return _done(request, agent_id, _("Saved. Its keys follow with their next request."), place="groups")


@person_page("GET", "HEAD", "POST")
def new_key(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Make a key; the page that answers is the only one that shows it, and its address leads to the agent."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse("palace:agent", args=[agent_id]) + "#keys")
    form = KeyForm(_groups_of(actor, agent_id), request.POST)
    if not form.is_valid():
        return _page(request, actor, agent_id, bound={"key": form}, status=422)
    try:
        made = create_key(actor=actor, agent_id=agent_id, **form.values())
    except NotFound:
        raise
    except LociError as error:
        return _refused(request, actor, agent_id, "key", form, error)
    command = (
        f"curl {request.build_absolute_uri(reverse('api:recall'))} \\\n"
        f'  -H "Authorization: Bearer {made.secret}" \\\n'
        '  -H "Content-Type: application/json" \\\n'
        f"""  -d '{{"query": "{_("what do you know about me")}"}}'"""
    )
    return _page(request, actor, agent_id, shown=Shown("key", made.secret, command))


@person_page("GET", "HEAD", "POST")
def key(request: HttpRequest, actor: Actor, agent_id: UUID, key_id: UUID) -> HttpResponse:
    """Show what a key may do; change it."""
    found = next((one for one in list_keys(actor=actor, agent_id=agent_id) if one.pk == key_id), None)
    if found is None:
        raise NotFound(_("There is no key with this id here."))
    current = now()
    ends = moment(found.expires_at, current).absolute if found.expires_at else ""
    data = request.POST if request.method == "POST" else None
    own = _groups_of(actor, agent_id)
    form, status = KeyForm(own, data, key=found, ends=ends), 200
    if data is None:
        form.initial["label"] = found.label
    elif form.is_valid():
        try:
            change_key(actor=actor, key_id=key_id, **form.values())
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            return _done(request, agent_id, _("Saved. It holds from the agent's next request on."), place="keys")
    else:
        status = 422
    row = key_row(found, current, {group.pk: group for group in own}, paused=False)
    context = {"agent_id": agent_id, "key": row, "form": form, **surroundings(request, actor)}
    return render(request, "palace/agents/key.html", context, status=status)


@person_page("POST")
def revoke(request: HttpRequest, actor: Actor, agent_id: UUID, key_id: UUID) -> HttpResponse:
    """Stop a key from working for good."""
    revoke_key(actor=actor, key_id=key_id)
    return _done(request, agent_id, _("The key is revoked. Nobody can use it any more."), place="keys")


@person_page("GET", "HEAD", "POST")
def token(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Issue a token for the bus between agents; the page that answers is the only one that shows it."""
    if request.method != "POST":
        return HttpResponseRedirect(reverse("palace:agent", args=[agent_id]) + "#tokens")
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, actor, agent_id, bound={"token": form}, status=422)
    try:
        issued = issue_capability(actor=actor, agent_id=agent_id, grant=Grant(**form.grant()))
    except NotFound:
        raise
    except LociError as error:
        return _refused(request, actor, agent_id, "token", form, error)
    command = (
        f"curl {request.build_absolute_uri(reverse('api:bus'))} \\\n"
        '  -H "Authorization: Bearer loci_…" \\\n'
        f'  -H "X-Loci-Capability: {issued.token}"'
    )
    return _page(request, actor, agent_id, shown=Shown("token", issued.token, command))


@person_page("POST")
def end_tokens(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """End all tokens of an agent."""
    end_capabilities(actor=actor, agent_id=agent_id)
    return _done(request, agent_id, _("All its tokens have ended."), place="tokens")


@person_page("POST")
def settings(request: HttpRequest, actor: Actor, agent_id: UUID) -> HttpResponse:
    """Choose settings for this agent alone."""
    found = get_agent_settings(actor=actor, agent_id=agent_id)
    form = _settings_form(actor, found, request.POST)
    if not form.is_valid():
        return _page(request, actor, agent_id, bound={"settings": form}, status=422)
    changes = form.changes()
    try:
        for name, value in changes.items():
            # Each by itself, so that the log names it.
            change_agent_settings(actor=actor, agent_id=agent_id, changes={name: value})
    except InvalidInput as error:
        refused(form, error)
        return _page(request, actor, agent_id, bound={"settings": form}, status=problem_of(error).status)
    said = _("Saved. It holds from the agent's next request on.") if changes else _("Nothing was changed.")
    return _done(request, agent_id, said, place="settings")


def _done(request: HttpRequest, agent_id: UUID, said: str, *, place: str = "") -> HttpResponseRedirect:
    messages.success(request, said)
    anchor = f"#{place}" if place else ""
    return HttpResponseRedirect(reverse("palace:agent", args=[agent_id]) + anchor)


def _refused(
    request: HttpRequest, actor: Actor, agent_id: UUID, name: str, form: Any, error: LociError
) -> HttpResponse:
    add_to_form(form, error)
    return _page(request, actor, agent_id, bound={name: form}, status=problem_of(error).status)


def _figures(actor: Actor, agent_id: UUID) -> AgentFigures:
    found = next((one for one in agent_figures(actor=actor) if one.agent.pk == agent_id), None)
    if found is None:
        raise NotFound(_("There is no agent with this id here."))
    return found


def _groups_of(actor: Actor, agent_id: UUID) -> list[Any]:
    return [group for group, members in list_groups(actor=actor) if agent_id in members]


def _settings_form(actor: Actor, found: dict[str, Any], data: Any = None) -> SettingsForm:
    behind = get_settings(actor=actor)["values"]
    return SettingsForm(AGENT_SETTINGS, found["chosen"], data, behind=behind, prefix="settings")


def _page(
    request: HttpRequest,
    actor: Actor,
    agent_id: UUID,
    *,
    bound: dict[str, Any] | None = None,
    shown: Shown | None = None,
    status: int = 200,
) -> HttpResponse:
    current, figures = now(), _figures(actor, agent_id)
    agent = agent_row(figures, current, agent_costs(actor))
    all_groups = list_groups(actor=actor)
    by_id = {group.pk: group for group, _members in all_groups}
    found = get_agent_settings(actor=actor, agent_id=agent_id)
    changed = last_changes(actor, current, agent_id=agent_id)
    forms = {
        "name": NameForm(prefix="name", initial={"name": agent.name}),
        "trust": TrustForm(prefix="trust", initial={"trust": agent.trust}),
        "key": KeyForm(figures.groups),
        "token": TokenForm(),
        "settings": _settings_form(actor, found),
        **(bound or {}),
    }
    paused = agent.paused is not None
    keys = list_keys(actor=actor, agent_id=agent_id)
    context = {
        "agent": agent,
        "shown": shown,
        "forms": forms,
        "permissions": forms["key"].choices(),
        "keys": [key_row(one, current, by_id, paused=paused) for one in keys],
        "groups": [
            {"id": str(group.pk), "name": group_name(group), "member": agent_id in members}
            for group, members in all_groups
        ],
        "settings": [
            {
                "name": name,
                "field": forms["settings"][name],
                "chosen": name in found["chosen"],
                "default": value_word(name, found["values"][name]),
                "changed": changed.get(name),
            }
            for name in AGENT_SETTINGS
        ],
        "acts": [
            access_row(entry, current)
            for entry in access_log(actor=actor, request=LogRequest(actor=f"agent:{agent_id}"), size=ACTS)
        ],
        **surroundings(request, actor),
    }
    return render(request, "palace/agents/page.html", context, status=status)
