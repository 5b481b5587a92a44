"""`/memories`: storing and listing."""

from __future__ import annotations

from typing import Any

from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import MIB, Action
from memory.api.idempotency import idempotent
from memory.api.outcomes import acceptance, check_each, refusal, summary
from memory.api.pagination import KeysetPagination
from memory.api.serializers.memories import (
    SHOWN_CHARACTERS,
    BatchAnswerSerializer,
    BatchSerializer,
    CountedMemorySerializer,
    DraftSerializer,
    MemoryPageSerializer,
    MemoryQuery,
    RememberSerializer,
    StoredSerializer,
)
from memory.api.views.base import LociView
from memory.errors import InvalidInput
from memory.services.actors import UNSET, Permission
from memory.services.drafts import Draft
from memory.services.memories import ListRequest, accesses, list_memories
from memory.services.remember import MAX_BATCH, remember, remember_many
from memory.services.retention_policies import policy_of


class MemoriesView(LociView):
    """All memories."""

    actions = {
        "GET": Action(
            id="list_memories",
            permission=Permission.READ,
            query=MemoryQuery,
            answers={200: MemoryPageSerializer},
        ),
        "POST": Action(
            id="remember",
            permission=Permission.WRITE,
            rate="write",
            body=RememberSerializer,
            answers={201: StoredSerializer, 200: StoredSerializer},
            problems=(409,),
            locates=True,
        ),
    }

    def get(self, request: Request) -> Response:
        """List memories, newest first. Only live ones are listed when no status is named."""
        query = self.query
        wanted = ListRequest(
            scope=query.get("scope", UNSET),
            statuses=query.get("status", ()),
            tiers=query.get("tier", ()),
            kinds=query.get("kind", ()),
            categories=query.get("category", ()),
            tags=query.get("tag", ()),
            sources=query.get("source", ()),
            session_id=query.get("session"),
            agent_id=query.get("agent"),
            created_from=query.get("created_from"),
            created_until=query.get("created_until"),
            filter=query.get("filter"),
            as_of=query.get("as_of"),
        )
        rows, following = KeysetPagination().page(
            "memories",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: list_memories(actor=self.actor, request=wanted, after=after, size=size),
            position=lambda row: (row.created_at, row.pk),
        )
        uses = accesses(actor=self.actor, memory_ids=[row.pk for row in rows]) if rows else {}
        context = {
            "uses": uses,
            "policy": policy_of(self.actor),
            "most_characters": query.get("max_text_characters", SHOWN_CHARACTERS),
            "at": query.get("as_of"),
            "masked": query.get("masked", False),
        }
        items = CountedMemorySerializer(rows, many=True, context=context).data
        return Response({"items": items, "next": following})

    @idempotent
    def post(self, request: Request) -> Response:
        """Remember a statement. The same statement again adds a source to the memory that says so and answers 200."""
        values = self.body()
        scope = values.pop("scope", UNSET)
        stored = remember(actor=self.actor, draft=Draft(**values), scope=scope)
        return Response(
            StoredSerializer(stored).data,
            status=201 if stored.created else 200,
            headers={"Location": reverse("api:memory", args=[stored.memory_id])},
        )


class BatchView(LociView):
    """Several statements at once."""

    actions = {
        "POST": Action(
            id="remember_batch",
            permission=Permission.WRITE,
            rate="write",
            body=BatchSerializer,
            most_bytes=8 * MIB,
            answers={200: BatchAnswerSerializer},
            problems=(409,),
        )
    }

    @idempotent
    def post(self, request: Request) -> Response:
        """Remember several statements. A bad item is refused by itself and the others are stored; when every item is
        bad the answer is 422 `batch.nothing_stored`.
        """
        values = self.body()
        items = values["items"]
        if not 1 <= len(items) <= MAX_BATCH:
            raise InvalidInput(f"A batch holds between 1 and {MAX_BATCH} items.", code="batch.size", field="items")
        checked = check_each(items, DraftSerializer)
        results: dict[int, Any] = dict(checked.refused)
        places = list(checked.good)
        if places:
            drafts = [Draft(**checked.good[place]) for place in places]
            for item in remember_many(actor=self.actor, drafts=drafts, scope=values.get("scope", UNSET)):
                place = places[item.index]
                if item.stored is None:
                    assert item.error is not None
                    results[place] = refusal(place, item.error)
                else:
                    results[place] = acceptance(
                        place,
                        created=item.stored.created,
                        id=str(item.stored.memory_id),
                        vector_pending=item.stored.vector_pending,
                        notes=item.stored.notes,
                    )
        return Response(summary([results[place] for place in range(len(items))]))
