"""`/recalls/{recall_id}/feedback`: whether a recall has helped."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.idempotency import idempotent
from memory.api.views.base import LociView, path_id
from memory.services.actors import Permission
from telemetry.api.serializers.recall_quality import FeedbackGivenSerializer, FeedbackQuery, FeedbackSerializer
from telemetry.services.recalls.feedback import give_feedback, take_back_feedback


class FeedbackView(LociView):
    """What the caller of a recall says of it."""

    actions = {
        "POST": Action(
            id="give_feedback",
            permission=Permission.TELEMETRY_WRITE,
            rate="write",
            body=FeedbackSerializer,
            answers={200: FeedbackGivenSerializer, 201: FeedbackGivenSerializer},
            problems=(409,),
        ),
        "DELETE": Action(
            id="take_back_feedback",
            permission=Permission.TELEMETRY_WRITE,
            rate="write",
            query=FeedbackQuery,
            answers={204: None},
        ),
    }

    @idempotent
    def post(self, request: Request, recall_id: str) -> Response:
        """Say whether one of your recalls of the last seven days, or one of its hits, has helped. Saying it again
        replaces what you said (200).
        """
        values = self.body()
        given, created = give_feedback(
            actor=self.actor,
            recall_id=path_id(recall_id),
            helpful=values["helpful"],
            memory_id=values.get("memory"),
        )
        return Response(FeedbackGivenSerializer(given).data, status=201 if created else 200)

    @idempotent
    def delete(self, request: Request, recall_id: str) -> Response:
        """Take back what you said."""
        take_back_feedback(actor=self.actor, recall_id=path_id(recall_id), memory_id=self.query.get("memory"))
        return Response(status=204)
