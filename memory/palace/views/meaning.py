"""Search by meaning: having vectors made and a model fetched, how far that is, and putting away that all is well."""

from __future__ import annotations

from typing import Final

from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.translation import gettext as _

from memory.errors import PermissionRefused
from memory.models import User
from memory.palace.access import is_partial, page_of, person_page, safe_next
from memory.palace.meaning import SEEN_COOKIE, embedder_status, look_at_embedder, moving_status
from memory.palace.worker_notice import silent_sentence
from memory.providers.embedder_choices import OLLAMA
from memory.services.actors import Actor
from memory.services.catching_up import embed_all, vectors_waiting
from memory.services.health.heartbeat import worker_is_silent
from memory.services.model_fetch import ask_for_fetch, cancel_fetch
from memory.services.spaces.in_use import embedder_in_use

KEPT_SECONDS: Final = 365 * 86_400


@person_page("POST")
def embed(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Begin to make every vector that waits."""
    waiting = embed_all(actor=actor)
    if is_partial(request):
        return _progress(request, actor, waiting)
    if waiting and worker_is_silent():
        messages.warning(request, silent_sentence())
    elif waiting:
        messages.success(request, _("A worker reads them for meaning now. Load this page again to see how far it is."))
    else:
        messages.info(request, _("No memory waits to be read for meaning."))
    return HttpResponseRedirect(safe_next(request, "palace:recall"))


@person_page("POST")
def fetch(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Order the model that the embedding server lacks, or give the order up; for staff."""
    if not (isinstance(request.user, User) and request.user.is_staff):
        raise PermissionRefused("Only staff has models fetched. Nothing was done.", code="auth.staff_only")
    model = embedder_in_use()
    if "cancel" in request.POST:
        cancel_fetch()
    elif model.provider == OLLAMA:
        ask_for_fetch(model=model.model)
    if is_partial(request):
        look_at_embedder()
        return _progress(request, actor, vectors_waiting(actor=actor))
    if worker_is_silent():
        messages.warning(request, silent_sentence())
    return HttpResponseRedirect(safe_next(request, "palace:recall"))


@person_page("GET", "HEAD")
def progress(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Say how far the model is fetched, or how many memories still wait: a part of a page, or the way back to one."""
    if not is_partial(request):
        return HttpResponseRedirect(safe_next(request, "palace:recall"))
    look_at_embedder()
    return _progress(request, actor, vectors_waiting(actor=actor))


@person_page("POST")
def seen(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Put away the banner that all is well, until another model is set."""
    status = embedder_status(actor.owner_id, 0)
    response = HttpResponseRedirect(safe_next(request, "palace:recall"))
    response.set_cookie(
        SEEN_COOKIE,
        status.name.replace(" ", ""),
        max_age=KEPT_SECONDS,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
    )
    return response


def _progress(request: HttpRequest, actor: Actor, waiting: int) -> HttpResponse:
    context = {
        "embedder": embedder_status(actor.owner_id, waiting),
        "moving": moving_status(actor.owner_id),
        "catching_up": True,
        "worker": not worker_is_silent(),
        "here": page_of(request),
        "partial": True,
    }
    return render(request, "palace/parts/meaning.html", context)
