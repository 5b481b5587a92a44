"""`/memories/{memory_id}`: reading, changing and retiring one memory."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.preconditions import etag, expected_version, outdated_is_412
from memory.api.serializers.graph import WrittenSerializer
from memory.api.serializers.memories import (
    CHANGED_MEMORY,
    BriefMemorySerializer,
    ChangeSerializer,
    CountedMemorySerializer,
    DisputeSerializer,
    HistorySerializer,
    MomentQuery,
    RevealedSerializer,
    SourceSerializer,
    SourcesSerializer,
    VersionSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.errors import InvalidInput
from memory.models import Memory, Status
from memory.services.actors import UNSET, Actor, Permission
from memory.services.audit.reading import record_shown
from memory.services.changes import change_memory
from memory.services.disputes import dispute_memory
from memory.services.memories import accesses, get_memory, history, sources, stored_version
from memory.services.retention_policies import policy_of
from memory.services.retirement import archive_memory, delete_memory, restore_memory
from memory.services.revealing import reveal


class MemoryView(LociView):
    """One memory."""

    actions = {
        "GET": Action(
            id="get_memory",
            permission=Permission.READ,
            query=MomentQuery,
            answers={200: CountedMemorySerializer},
            versioned=True,
        ),
        "PATCH": Action(
            id="change_memory",
            permission=Permission.WRITE,
            rate="write",
            body=ChangeSerializer,
            answers={200: CHANGED_MEMORY},
            versioned=True,
        ),
        "DELETE": Action(
            id="delete_memory",
            permission=Permission.DELETE,
            rate="write",
            answers={200: CHANGED_MEMORY, 202: CHANGED_MEMORY},
            versioned=True,
        ),
    }

    def get(self, request: Request, memory_id: str) -> Response:
        """Give one memory, whatever its status. With `as_of` it is shown as it stood then, and was there then."""
        row = get_memory(actor=self.actor, memory_id=path_id(memory_id), as_of=self.query.get("as_of"))
        query = self.query
        return memory_answer(self.actor, row, at=query.get("as_of"), recorded=True, masked=query.get("masked", False))

    @idempotent
    def patch(self, request: Request, memory_id: str) -> Response:
        """Change fields of a live memory. What it said before stays in its history. With If-Match the change is
        refused when the memory has another version by now.
        """
        found = path_id(memory_id)
        changes = self.body(partial=True)
        if not changes:
            raise InvalidInput("Name at least one field to change.", code="change.empty")
        scope = changes.pop("scope", UNSET)
        asked = expected_version(request, lambda: stored_version(actor=self.actor, memory_id=found))
        with outdated_is_412(asked):
            row = change_memory(actor=self.actor, memory_id=found, changes=changes, scope=scope, version=asked)
        return memory_answer(self.actor, row)

    @idempotent
    def delete(self, request: Request, memory_id: str) -> Response:
        """Delete a memory. An agent's delete archives it (200) and can be undone by restoring it. A person's delete
        (202) erases it for good at `erase_at`, ten seconds later; restoring it before undoes that.
        """
        found = path_id(memory_id)
        asked = expected_version(request, lambda: stored_version(actor=self.actor, memory_id=found))
        with outdated_is_412(asked):
            row = delete_memory(actor=self.actor, memory_id=found, version=asked)
        return memory_answer(self.actor, row, status=202 if row.status == Status.ERASING else 200)


class RevealView(LociView):
    """Showing a person what lists mask."""

    actions = {
        "POST": Action(id="reveal_memory", permission=Permission.READ, rate="recall", answers={200: RevealedSerializer})
    }

    def post(self, request: Request, memory_id: str) -> Response:
        """Give the words of a memory without masks, to a person only. Who saw what, and when, stands in the access log
        from then on. An agent reads the memory itself.
        """
        row = reveal(actor=self.actor, memory_id=path_id(memory_id))
        return Response(RevealedSerializer(row).data)


class ArchiveView(LociView):
    """Archiving one memory."""

    actions = {
        "POST": Action(id="archive_memory", permission=Permission.DELETE, rate="write", answers={200: CHANGED_MEMORY})
    }

    @idempotent
    def post(self, request: Request, memory_id: str) -> Response:
        """Take a memory out of every default read. It can be restored; without effect when it is archived already."""
        return memory_answer(self.actor, archive_memory(actor=self.actor, memory_id=path_id(memory_id)))


class DisputeView(LociView):
    """Disputing one memory."""

    actions = {
        "POST": Action(
            id="dispute_memory",
            permission=Permission.WRITE,
            rate="write",
            body=DisputeSerializer,
            answers={201: WrittenSerializer, 200: WrittenSerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request, memory_id: str) -> Response:
        """Say that a live memory is wrong, and why. It stays as it is until somebody decides the review item whose id
        is answered. The same reason given again is the same item (200).
        """
        item, created = dispute_memory(actor=self.actor, memory_id=path_id(memory_id), reason=self.body()["reason"])
        return Response({"id": str(item.pk), "created": created}, status=201 if created else 200)


class RestoreView(LociView):
    """Restoring one memory."""

    actions = {
        "POST": Action(
            id="restore_memory",
            permission=Permission.WRITE,
            rate="write",
            answers={200: CHANGED_MEMORY},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request, memory_id: str) -> Response:
        """Bring an archived memory back, without an expiry that has passed, or undo a person's deletion while there is
        time. Without effect on a live one.
        """
        return memory_answer(self.actor, restore_memory(actor=self.actor, memory_id=path_id(memory_id)))


class HistoryView(LociView):
    """Earlier versions of one memory."""

    actions = {
        "GET": Action(id="get_memory_history", permission=Permission.READ, answers={200: HistorySerializer}),
    }

    def get(self, request: Request, memory_id: str) -> Response:
        """Give what a memory said before, newest first, at most a hundred versions."""
        rows = history(actor=self.actor, memory_id=path_id(memory_id))
        return Response({"items": VersionSerializer(rows, many=True).data})


class SourcesView(LociView):
    """Statements of one memory."""

    actions = {
        "GET": Action(id="get_memory_sources", permission=Permission.READ, answers={200: SourcesSerializer}),
    }

    def get(self, request: Request, memory_id: str) -> Response:
        """Give by whom, when and from where a memory was stated, newest first, at most a hundred."""
        rows = sources(actor=self.actor, memory_id=path_id(memory_id))
        return Response({"items": SourceSerializer(rows, many=True).data})


def memory_answer(
    actor: Actor,
    row: Memory,
    *,
    status: int = 200,
    at: datetime | None = None,
    recorded: bool = False,
    masked: bool = False,
) -> Response:
    """Show one memory with its uses and its version as the entity tag; only briefly to a key that may not read.

    `at` is the moment that it is shown from, the present when left out; `recorded` says that the audit knows already
    that it was read, and `masked` covers personal data.
    """
    if Permission.READ in actor.permissions:
        if not recorded:
            record_shown(actor=actor, sort="memory", memory_id=row.pk)
        uses: dict[Any, Any] = accesses(actor=actor, memory_ids=[row.pk])
        context = {"uses": uses, "at": at, "policy": policy_of(actor), "masked": masked}
        body = CountedMemorySerializer(row, context=context).data
    else:
        body = BriefMemorySerializer(row).data
    return Response(body, status=status, headers={"ETag": etag(row.version)})
