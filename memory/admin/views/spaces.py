"""Embedding spaces: a list, and a page for each with a question to try and a call for missing vectors."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from memory.admin import columns
from memory.admin.access import staff_page
from memory.admin.owner_choice import require_same
from memory.admin.rows import link
from memory.admin.views.frame import page
from memory.errors import LociError
from memory.models import EmbeddingSpace, Memory, SpaceState
from memory.palace.errors import problem_of
from memory.palace.meaning import MOMENT
from memory.palace.numbers import local, whole
from memory.palace.presenters import label
from memory.palace.sentences import said
from memory.services.actors import Actor
from memory.services.embedding_spaces import call_for_vectors, nearest, space_standing
from memory.services.spaces.in_use import BESIDE, model_of
from memory.services.spaces.progress import progress_of


@staff_page("GET", "HEAD")
def spaces(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List the embedding spaces."""
    lines = [
        {
            "space": space,
            "state": label(space.state),
            "address": reverse("loci-admin:space", args=[space.pk]),
            "opened": columns.when(space.created_at),
            "progress": _progress(space),
        }
        for space in EmbeddingSpace.objects.order_by("-pk")
    ]
    return page(request, "spaces", _("Embedding spaces"), {"lines": lines})


def _progress(space: EmbeddingSpace) -> str:
    """Say how far a space beside the one in use is over all owners, and why it pauses; nothing of another one."""
    if space.state not in BESIDE:
        return ""
    found = progress_of(space)
    if found.percent is None:
        sentence = _("not counted yet")
    else:
        counts = {"done": whole(found.done), "total": whole(found.total), "percent": local(f"{found.percent}%")}
        sentence = _("%(done)s of %(total)s memories (%(percent)s)") % counts
    return (
        sentence
        if not space.pause
        else _("%(progress)s, paused: %(code)s")
        % {
            "progress": sentence,
            "code": space.pause,
        }
    )


def _failure(space: EmbeddingSpace) -> str:
    """Say why vectors of a space cannot be made now, after a look at its server; empty where nothing says so.

    The banner speaks of the embedder in use alone, and the one of the space beside it has to be there before a switch.
    """
    model = None if space.state == SpaceState.RETIRED else model_of(space)
    if model is None:
        return ""
    model.look(seconds=MOMENT)
    state = model.state()
    return said(state.reason or "") if state.status == "failing" else ""


@staff_page("GET", "HEAD", "POST")
def space(request: HttpRequest, actor: Actor, space_id: int) -> HttpResponse:
    """Show a space with the owner's rows in it; try a question, or call for the vectors that are missing."""
    if request.method == "POST":
        require_same(request, actor)
    if request.method == "POST" and request.POST.get("act") == "vectors":
        count = call_for_vectors(actor=actor)
        sentence = ngettext(
            "%(count)s memory waits for its vector.", "%(count)s memories wait for their vectors.", count
        )
        messages.success(request, sentence % {"count": count})
        return HttpResponseRedirect(request.path)
    standing = space_standing(actor=actor, space_id=space_id)
    context: dict[str, object] = {
        "standing": standing,
        "progress": _progress(standing.space),
        "failure": _failure(standing.space),
        "state": label(standing.space.state),
        "opened": columns.when(standing.space.created_at),
    }
    status = 200
    if request.method == "POST":
        question = request.POST.get("question", "")
        context |= {"question": question, "asked": True}
        try:
            found = nearest(actor=actor, space_id=space_id, question=question)
            context["found"] = [
                {
                    "distance": local(f"{one.distance:.4f}"),
                    "text": link(Memory, one.memory.pk, columns.memory_text(one.memory)),
                    "status": label(one.memory.status),
                }
                for one in found
            ]
        except LociError as error:
            problem = problem_of(error)
            context["problem"], status = problem, problem.status
    return page(request, "space", str(standing.space.model), context, status)
