"""Privacy: what is kept, who has read it, what left the machine, and taking it along."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from memory.errors import LociError
from memory.file_answers import file_answer
from memory.palace.access import person_page
from memory.palace.dates import moment, optional_moment
from memory.palace.errors import add_to_form, problem_of
from memory.palace.holdings_view import holdings_view
from memory.palace.numbers import whole
from memory.palace.places import place_of, written_place
from memory.palace.presenters import label
from memory.palace.privacy_view import NO_NAME, access_row, named, purge_view, sorts
from memory.palace.purge_forms import RenewForm, SnapshotForm
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.archive.snapshot import snapshot_file_name, snapshot_stream
from memory.services.audit.access_log import LogRequest, access_log
from memory.services.audit.read_totals import read_totals
from memory.services.audit.vocabulary import VERBS
from memory.services.clock import now
from memory.services.holdings import holdings
from memory.services.keys.own_rotation import renew_text_key, text_key
from memory.services.outbound import list_outbound
from memory.services.purge.partial_requests import purges_seen
from memory.services.purge.requests import preview_owner

PAGE_ROWS: Final = 50
MOST_SENT: Final = 500


@person_page("GET", "HEAD")
def page(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Show everything about privacy on one page."""
    return _page(request, actor, SnapshotForm())


@person_page("POST")
def snapshot(request: HttpRequest, actor: Actor) -> HttpResponse | StreamingHttpResponse:
    """Give a snapshot as a file."""
    form = SnapshotForm(request.POST)
    if form.is_valid():
        try:
            pieces = snapshot_stream(actor=actor, passphrase=form.cleaned_data["passphrase"] or None)
        except LociError as error:
            add_to_form(form, error)
        else:
            return file_answer(request, pieces, name=snapshot_file_name(now()), media_type="application/octet-stream")
    return _page(request, actor, form, status=422)


@person_page("POST")
def renew_key(request: HttpRequest, actor: Actor) -> HttpResponse:
    """Give the person's texts a new key."""
    form, status = RenewForm(request.POST), 422
    if form.is_valid():
        try:
            renew_text_key(actor=actor, password=form.cleaned_data["password"], request=request)
        except LociError as error:
            add_to_form(form, error)
            status = problem_of(error).status
        else:
            said = _("New texts have a new key from now on. A worker seals the others with it, then the old one goes.")
            messages.success(request, said)
            return HttpResponseRedirect(reverse("palace:privacy") + "#key")
    return _page(request, actor, SnapshotForm(), renew=form, status=status)


@person_page("GET", "HEAD")
def access(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List what was done with the owner's memories, newest first."""
    verb, agent = request.GET.get("verb", ""), request.GET.get("agent", "")
    after = place_of(request.GET.get("after", ""))
    rows = access_log(actor=actor, request=_logged(verb, agent), after=after, size=PAGE_ROWS + 1)
    shown, current = rows[:PAGE_ROWS], now()
    context = {
        "rows": [access_row(row, current) for row in shown],
        "verbs": [{"word": word, "shown": label(word)} for word in sorted(VERBS)],
        "verb": verb,
        "agent": agent,
        "agents": [{"id": str(one.pk), "name": named(one)} for one in list_agents(actor=actor)],
        "next_place": _next_place(shown[-1].event) if len(rows) > PAGE_ROWS else "",
        "further": after is not None,
        **surroundings(request, actor),
    }
    return render(request, "palace/privacy/access.html", context)


@person_page("GET", "HEAD")
def outbound(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List what was sent to models elsewhere."""
    current = now()
    rows = [
        {
            "at": moment(row.at, current),
            "host": row.host,
            "kind": row.kind,
            "component": row.component,
            "size": row.size,
            "outcome": row.outcome,
            "genuine": row.genuine,
            "digest": row.sha256,
        }
        for row in list_outbound(actor=actor, after=None, size=MOST_SENT)
    ]
    return render(request, "palace/privacy/outbound.html", {"rows": rows, **surroundings(request, actor)})


def _logged(verb: str, agent: str) -> LogRequest:
    return LogRequest(verb=verb or None, actor=f"agent:{agent}" if agent else None)


def _next_place(event: Any) -> str:
    created: datetime = event.created_at
    pk: UUID = event.pk
    return written_place(created, pk)


def _page(
    request: HttpRequest,
    actor: Actor,
    form: SnapshotForm,
    *,
    renew: RenewForm | None = None,
    status: int = 200,
) -> HttpResponse:
    current = now()
    key = text_key(actor=actor)
    sent = list_outbound(actor=actor, after=None, size=MOST_SENT)
    context: dict[str, Any] = {
        "kept": sorts(preview_owner(owner_id=actor.owner_id)),
        "holdings": holdings_view(holdings(actor=actor)),
        "key": {
            "made": moment(key.made_at, current),
            "next": optional_moment(key.next_at, current),
            "moving": key.moving,
        },
        "renew_form": renew or RenewForm(),
        "readers": [
            {
                "name": total.name or str(NO_NAME),
                "memories": whole(total.memories),
                "reads": whole(total.reads),
                "last": moment(total.last_at, current),
            }
            for total in read_totals(actor=actor)
        ],
        "sent": len(sent),
        "hosts": sorted({row.host for row in sent}),
        "agents": [{"id": agent.pk, "name": named(agent)} for agent in list_agents(actor=actor)],
        "purges": [purge_view(purge, current) for purge in purges_seen(actor=actor, size=20)],
        "snapshot_form": form,
        **surroundings(request, actor),
    }
    return render(request, "palace/privacy/page.html", context, status=status)
