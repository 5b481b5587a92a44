"""What is done to the chosen owner: a run of consolidation, a new text key, and the end of everything."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import logout
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from memory.admin import columns
from memory.admin.access import staff_page
from memory.admin.owner_choice import KEPT_IN, choice_of, require_same
from memory.admin.views.frame import PasswordForm, page, tried
from memory.crypto.keyring import keyring
from memory.errors import InvalidInput
from memory.models import DueWork, Owner
from memory.palace import consolidation_words as words
from memory.palace.forms import PlainText
from memory.palace.presenters import label
from memory.palace.privacy_view import sorts, stays_said
from memory.services.actors import Actor
from memory.services.consolidation.runs import ask_for_run, consolidation_status
from memory.services.keys.rotation import begin_rotation, key_status, next_rotation
from memory.services.purge.receipts import owner_stays
from memory.services.purge.requests import begin_purge, preview_owner


class PurgeForm(PasswordForm):
    """The name of the owner's login, typed, and the password of whoever asks."""

    confirm_name = PlainText(
        label=gettext_lazy("Name of the owner's login"),
        required=False,
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        help_text=gettext_lazy(
            "Type it to say that you mean everything of this owner; the id where there is no login."
        ),
    )
    field_order = ("confirm_name", "password")


@staff_page("GET", "HEAD", "POST")
def consolidation(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show how consolidation stands for the owner, and ask for a run."""
    if request.method == "POST":
        require_same(request, actor)
        ask_for_run(actor=actor)
        messages.success(request, _("A run was asked for; a worker begins it within a minute."))
        return HttpResponseRedirect(request.path)
    status = consolidation_status(actor=actor)
    runs = [one for one in (status["running"], status["last_run"]) if one]
    lines = [
        (_("Switched on"), columns.plain(status["enabled"])),
        (_("Groups"), ", ".join(str(words.GROUPS[one]) for one in status["groups"])),
        (_("Rows that wait"), columns.amount(status["pending_rows"])),
        (_("Bytes that wait"), columns.amount(status["pending_bytes"])),
        (_("Next run"), columns.when(status["next_run_at"])),
        (_("Errors in a row"), columns.plain(status["errors"])),
    ]
    return page(
        request,
        "consolidation",
        _("Consolidation"),
        {
            "lines": lines,
            "runs": [_run(one) for one in runs],
            "enabled": status["enabled"],
            "asked": len(status["asked"]),
        },
    )


def _run(run: dict[str, Any]) -> dict[str, Any]:
    return {
        "address": reverse("admin:memory_consolidationrun_change", args=[run["id"]]),
        "state": label(run["state"]),
        "trigger": label(run["trigger"]),
    }


@staff_page("GET", "HEAD", "POST")
def keys(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show the ages of the owner's text keys; give the owner a new one when the person has shown who it is."""
    form = PasswordForm(request.POST if request.method == "POST" else None)
    status: Any = 200
    if request.method == "POST":
        require_same(request, actor)
        status = tried(form, lambda: _rotate(request, actor, form))
    if isinstance(status, HttpResponse):
        return status
    known = keyring().vault.versions(actor.owner_id)
    counted = key_status(owner_id=actor.owner_id) if request.GET.get("counted") else None
    context = {
        "versions": [(version, columns.when(known[version])) for version in sorted(known, reverse=True)],
        "under_way": len(known) > 1 or DueWork.objects.filter(owner_id=actor.owner_id, job=DueWork.REKEY).exists(),
        "next": columns.when(next_rotation(owner_id=actor.owner_id)),
        "counted": counted is not None,
        "waiting": sorted(counted.waiting.items()) if counted else [],
        "lost": sorted(counted.without_key.items()) if counted else [],
        "form": form,
    }
    return page(request, "keys", _("Text keys"), context, status)


def _rotate(request: HttpRequest, actor: Actor, form: PasswordForm) -> HttpResponse:
    form.confirm(request)
    version = begin_rotation(owner_id=actor.owner_id)
    messages.success(
        request,
        _("Version %(version)s seals from now on. Workers move what is stored; then the older ones are destroyed.")
        % {"version": version},
    )
    return HttpResponseRedirect(reverse("loci-admin:keys"))


@staff_page("GET", "HEAD", "POST")
def purge(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show what erasing the owner would take; do it when the person has shown who it is and typed the name."""
    form = PurgeForm(request.POST if request.method == "POST" else None)
    status: Any = 200
    if request.method == "POST":
        require_same(request, actor)
        status = tried(form, lambda: _purge(request, actor, form))
    if isinstance(status, HttpResponse):
        return status
    counted = request.method == "POST" or bool(request.GET.get("counted"))
    context = {
        "counted": counted,
        "lines": sorts(preview_owner(owner_id=actor.owner_id)) if counted else [],
        "stays": stays_said(map(asdict, owner_stays())),
        "form": form,
    }
    return page(request, "purge", _("Erase an owner"), context, status)


def _purge(request: HttpRequest, actor: Actor, form: PurgeForm) -> HttpResponse:
    choice = choice_of(actor)
    login = Owner.objects.filter(pk=actor.owner_id).values_list("user__username", flat=True).first()
    if form.cleaned_data["confirm_name"] != (login or str(actor.owner_id)):
        raise InvalidInput(
            _("Type the name of the owner's login to say that you mean it. Nothing was erased."),
            code="confirm.mismatch",
            field="confirm_name",
        )
    form.confirm(request)
    made = begin_purge(actor=actor)
    if choice.own:
        logout(request)
    else:
        request.session.pop(KEPT_IN, None)
    return HttpResponseRedirect(reverse("palace:purge-state", args=[made.purge.pk, made.token]))
