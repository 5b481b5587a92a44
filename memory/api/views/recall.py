"""`/recall`, `/recalls/{recall_id}` and `/context`: what the memories have to say."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.serializers.memories import SHOWN_CHARACTERS, MemorySerializer
from memory.api.serializers.recall import (
    ContextAnswerSerializer,
    ContextSerializer,
    ExplanationSerializer,
    RecalledSerializer,
    RecallSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from memory.services.context import build_context
from memory.services.explanations import explanation
from memory.services.questions import RecallRequest
from memory.services.recall import Hit, recall


class RecallView(LociView):
    """Recalls."""

    actions = {
        "POST": Action(
            id="recall",
            permission=Permission.READ,
            rate="recall",
            body=RecallSerializer,
            answers={200: RecalledSerializer},
        )
    }

    def post(self, request: Request) -> Response:
        """Find the memories that fit a query, best first."""
        values = self.body()
        explain = values.pop("explain", False)
        shown = {"most_characters": values.pop("max_text_characters", SHOWN_CHARACTERS), "at": values.get("as_of")}
        answer = recall(actor=self.actor, request=RecallRequest(**values))
        return Response(
            {
                "recall_id": str(answer.recall_id),
                "profile": answer.profile,
                "gate": str(answer.gate),
                "intent": list(answer.intent),
                "degraded": answer.degraded,
                "fallback": answer.fallback,
                "considered": answer.considered,
                "hits": [_hit(hit, explain, shown) for hit in answer.hits],
            }
        )


def _hit(hit: Hit, explain: bool, context: dict[str, Any]) -> dict[str, Any]:
    shown = {
        "memory": MemorySerializer(hit.memory, context=context).data,
        "score": round(hit.score, 6),
        "relevance": round(hit.relevance, 4),
        "matched": list(hit.matched),
        "also": [str(memory_id) for memory_id in hit.also],
    }
    return {**shown, "reasons": dict(hit.reasons)} if explain else shown


class ExplanationView(LociView):
    """Explanations of recalls."""

    actions = {"GET": Action(id="get_recall", permission=Permission.READ, answers={200: ExplanationSerializer})}

    def get(self, request: Request, recall_id: str) -> Response:
        """Explain a recall of the last seven days to the one who made it."""
        return Response(explanation(actor=self.actor, recall_id=path_id(recall_id)))


class ContextView(LociView):
    """Context blocks."""

    actions = {
        "POST": Action(
            id="build_context",
            permission=Permission.READ,
            rate="recall",
            body=ContextSerializer,
            answers={200: ContextAnswerSerializer},
        )
    }

    def post(self, request: Request) -> Response:
        """Write a block for a prompt from the memories that fit a query. It has whole lines only and never more tokens
        than asked for; phrases that address a model are replaced.
        """
        values = self.body()
        block = build_context(
            actor=self.actor,
            form=values.pop("format", None),
            max_tokens=values.pop("max_tokens", None),
            cleaning=values.pop("cleaning", None),
            context_window=values.pop("context_window", None),
            asked=values.pop("asked", False),
            request=RecallRequest(**values),
        )
        recalled = block.recalled
        return Response(
            {
                "text": block.text,
                "tokens": block.tokens,
                "memory_ids": [str(memory_id) for memory_id in block.memory_ids],
                "omitted": block.omitted,
                "recall_id": str(recalled.recall_id),
                "profile": recalled.profile,
                "gate": str(recalled.gate),
                "degraded": recalled.degraded,
                "fallback": recalled.fallback,
            }
        )
