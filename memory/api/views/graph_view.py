"""`/graph/view`: the graph as a picture, the same that the palace draws."""

from __future__ import annotations

from dataclasses import asdict

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.serializers.graph_view import GraphViewQuery, GraphViewSerializer
from memory.api.views.base import LociView
from memory.errors import InvalidInput
from memory.services.actors import Permission
from memory.services.graph_view.request import MOST_NODES, ViewRequest
from memory.services.graph_view.view import graph_view


class GraphPictureView(LociView):
    """The graph around a seed."""

    actions = {
        "GET": Action(
            id="view_graph",
            permission=Permission.READ,
            rate="recall",
            query=GraphViewQuery,
            answers={200: GraphViewSerializer},
        )
    }

    def get(self, request: Request) -> Response:
        """Give memories and entities around a seed by what they count, each with a place in the plane, and the
        strongest links between them. What is not shown is counted.
        """
        query = self.query
        if "q" in query and not query["q"].strip():
            raise InvalidInput("The search holds no word.", code="q.invalid", field="q")
        view = graph_view(
            actor=self.actor,
            request=ViewRequest(
                memory_id=query.get("memory"),
                entity_id=query.get("entity"),
                community=query.get("community"),
                query=query.get("q", ""),
                depth=query.get("depth", 1),
                layer=query.get("layer", "both"),
                valid_at=query.get("valid_at"),
                known_at=query.get("known_at"),
                most=query.get("limit", MOST_NODES),
            ),
        )
        answer = {
            "start": view.seeds.sort,
            "things": [
                {**asdict(one), "x": round(x, 2), "y": round(y, 2)}
                for one, (x, y) in zip(view.things, view.places, strict=True)
            ],
            "links": [
                {
                    **one._asdict(),
                    "source": source,
                    "target": target,
                    "label": view.labels.get(one.label, ""),
                }
                for one, (source, target) in zip(view.links, view.ends, strict=True)
            ],
            "unseen": view.unseen,
            "more_links": view.more_links,
            "true_since": view.true_since,
            "known_since": view.known_since,
        }
        return Response(GraphViewSerializer(answer).data)
