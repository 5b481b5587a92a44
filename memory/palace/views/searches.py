"""Saved questions, and the owner's own values of a profile: what the search page keeps."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _

from memory.errors import InvalidInput
from memory.palace.access import person_page, safe_next
from memory.palace.recall_questions import state_of_saved
from memory.palace.recall_state import RecallState
from memory.palace.recall_tuning import NAMES, moved_by, overrides, standing
from memory.services.actors import Actor
from memory.services.profiles import change_profile, profile_of, reset_profile, restore_profile
from memory.services.saved_searches import (
    delete_saved_search,
    get_saved_search,
    rename_saved_search,
    save_search,
)

PAGE = "palace:recall"


@person_page("POST")
def save(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Keep the search that the page shows under a name."""
    sent = request.POST
    save_search(
        actor=actor, name=sent.get("name", ""), question=sent.get("question", ""), choices=sent.get("choices", "")
    )
    messages.success(request, _("The question is saved. You find it beside the search box."))
    return HttpResponseRedirect(safe_next(request, PAGE))


@person_page("GET", "HEAD")
def open_saved(request: HttpRequest, actor: Actor, search_id: UUID) -> HttpResponseBase:
    """Go to a search that was kept; its words stand in no list."""
    return HttpResponseRedirect(state_of_saved(get_saved_search(actor=actor, search_id=search_id)).address)


@person_page("POST")
def rename(request: HttpRequest, actor: Actor, search_id: UUID) -> HttpResponse:
    """Give a saved question another name."""
    rename_saved_search(actor=actor, search_id=search_id, name=request.POST.get("name", ""))
    messages.success(request, _("The question has its new name."))
    return HttpResponseRedirect(safe_next(request, PAGE))


@person_page("POST")
def delete(request: HttpRequest, actor: Actor, search_id: UUID) -> HttpResponse:
    """Delete a saved question; the memories stay as they are."""
    delete_saved_search(actor=actor, search_id=search_id)
    messages.success(request, _("The saved question is deleted. No memory was changed."))
    return HttpResponseRedirect(safe_next(request, PAGE))


@person_page("POST")
def keep_values(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Make the places of the sliders the owner's own values of a profile."""
    profile = profile_of(actor=actor, name=name)
    moved = moved_by(standing(profile), {slider: request.POST.get(slider, "") for slider in NAMES})
    if not moved:
        raise InvalidInput(_("No slider was moved, so there is nothing to save."), code="profile.invalid")
    change_profile(actor=actor, name=name, changes=overrides(profile, moved))
    messages.success(request, _("These are your own values of the profile “%(name)s” now.") % {"name": name})
    return HttpResponseRedirect(_rest(request))


@person_page("POST")
def reset_values(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Give a profile its shipped values back."""
    reset_profile(actor=actor, name=name)
    messages.success(request, _("The profile “%(name)s” has its shipped values again.") % {"name": name})
    return HttpResponseRedirect(_rest(request))


@person_page("POST")
def restore_values(request: HttpRequest, actor: Actor, name: str) -> HttpResponse:
    """Bring former values of a profile back."""
    version = request.POST.get("version", "")
    if not (version.isascii() and version.isdigit() and len(version) <= 9):
        raise InvalidInput(_("Choose one of the versions in the list."), code="profile.version_unknown")
    restore_profile(actor=actor, name=name, version=int(version))
    messages.success(request, _("The former values of the profile “%(name)s” are back.") % {"name": name})
    return HttpResponseRedirect(_rest(request))


def _rest(request: HttpRequest) -> str:
    """Give the address to go back to, which has no sliders any more: they stand where the profile puts them."""
    return safe_next(request, RecallState().address)
