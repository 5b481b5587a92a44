"""`/saved-searches`: searches that a person keeps under a name."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.serializers.saved_searches import (
    NewSavedSearchSerializer,
    SavedSearchesSerializer,
    SavedSearchSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from memory.services.saved_searches import delete_saved_search, list_saved_searches, save_search


class SavedSearchesView(LociView):
    """All saved searches."""

    actions = {
        "GET": Action(id="list_saved_searches", permission=Permission.READ, answers={200: SavedSearchesSerializer}),
        "POST": Action(
            id="save_search",
            permission=Permission.SETTINGS,
            rate="write",
            body=NewSavedSearchSerializer,
            answers={201: SavedSearchSerializer},
            problems=(409,),
        ),
    }

    def get(self, request: Request) -> Response:
        """List a person's saved searches, newest first. Agents are refused."""
        return Response({"items": SavedSearchSerializer(list_saved_searches(actor=self.actor), many=True).data})

    @idempotent
    def post(self, request: Request) -> Response:
        """Keep a search under a name. Agents are refused."""
        made = save_search(actor=self.actor, **self.body())
        return Response(SavedSearchSerializer(made).data, status=201)


class SavedSearchView(LociView):
    """One saved search."""

    actions = {
        "DELETE": Action(id="delete_saved_search", permission=Permission.SETTINGS, rate="write", answers={204: None})
    }

    @idempotent
    def delete(self, request: Request, search_id: str) -> Response:
        """Delete a saved search. Agents are refused."""
        delete_saved_search(actor=self.actor, search_id=path_id(search_id))
        return Response(status=204)
