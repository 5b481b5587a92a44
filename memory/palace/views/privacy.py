"""Privacy: what is kept, who has read it, what left the machine, and taking it along."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import render

from memory.errors import LociError
from memory.file_answers import file_answer
from memory.palace.access import person_page
from memory.palace.dates import moment
from memory.palace.errors import add_to_form
from memory.palace.places import place_of, written_place
from memory.palace.presenters import label
from memory.palace.privacy_view import NO_NAME, access_row, named, purge_view, sorts
from memory.palace.purge_forms import SnapshotForm
from memory.palace.surroundings import surroundings
from memory.services.actors import Actor
from memory.services.agents import list_agents
from memory.services.archive.snapshot import snapshot_file_name, snapshot_stream
from memory.services.audit.access_log import LogRequest, access_log
from memory.services.audit.read_totals import read_totals
from memory.services.audit.vocabulary import VERBS
from memory.services.clock import now
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


@person_page("GET", "HEAD")
def access(request: HttpRequest, actor: Actor) -> HttpResponse:
    """List what was done with the owner's memories, newest first."""
    verb = request.GET.get("verb", "")
    after = place_of(request.GET.get("after", ""))
    rows = access_log(actor=actor, request=LogRequest(verb=verb or None), after=after, size=PAGE_ROWS + 1)
    shown, current = rows[:PAGE_ROWS], now()
    context = {
        "rows": [access_row(row, current) for row in shown],
        "verbs": [{"word": word, "shown": label(word)} for word in sorted(VERBS)],
        "verb": verb,
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


def _next_place(event: Any) -> str:
    created: datetime = event.created_at
    pk: UUID = event.pk
    return written_place(created, pk)


def _page(request: HttpRequest, actor: Actor, form: SnapshotForm, *, status: int = 200) -> HttpResponse:
    current = now()
    sent = list_outbound(actor=actor, after=None, size=MOST_SENT)
    context: dict[str, Any] = {
        "kept": sorts(preview_owner(owner_id=actor.owner_id)),
        "readers": [
            {
                "name": total.name or NO_NAME,
                "memories": total.memories,
                "reads": total.reads,
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
