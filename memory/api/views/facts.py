"""`/facts`: what held at a date, as far as it was known at another."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.pagination import KeysetPagination
from memory.api.serializers.facts import FactPageSerializer, FactQuery, FactSerializer
from memory.api.serializers.memories import SHOWN_CHARACTERS
from memory.api.views.base import LociView
from memory.services.actors import UNSET, Permission
from memory.services.facts import facts


class FactsView(LociView):
    """Facts in both times."""

    actions = {
        "GET": Action(id="list_facts", permission=Permission.READ, query=FactQuery, answers={200: FactPageSerializer})
    }

    def get(self, request: Request) -> Response:
        """List facts, preferences, decisions and instructions that held at a moment, as far as they were known at
        another, with what took whose place. `superseded=true` lists what held at any time.
        """
        query = self.query
        rows, following = KeysetPagination().page(
            "facts",
            limit=query.get("limit"),
            cursor=query.get("cursor"),
            fetch=lambda after, size: facts(
                actor=self.actor,
                as_of=query.get("as_of"),
                known_at=query.get("known_at"),
                about=query.get("about"),
                kinds=query.get("kind", ()),
                superseded=query.get("superseded") == "true",
                scope=query.get("scope", UNSET),
                after=after,
                size=size,
            ),
            position=lambda one: (one.begins, one.memory.pk),
        )
        shown = {"most_characters": SHOWN_CHARACTERS, "at": query.get("as_of") or query.get("known_at")}
        return Response({"items": FactSerializer(rows, many=True, context=shown).data, "next": following})
