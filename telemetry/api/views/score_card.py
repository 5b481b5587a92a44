"""`/telemetry/score-card`: how healthy the owner's memory is."""

from __future__ import annotations

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import Action
from memory.api.views.base import LociView
from memory.services.actors import Permission
from telemetry.api.serializers.score_card import ScoreCardSerializer
from telemetry.services.score_card import score_card


class ScoreCardView(LociView):
    """The score card."""

    needs_memory = False
    actions = {
        "GET": Action(id="get_score_card", permission=Permission.TELEMETRY_READ, answers={200: ScoreCardSerializer})
    }

    def get(self, request: Request) -> Response:
        """Score the owner's whole memory, with what was taken off and why, and count what waits."""
        return Response(ScoreCardSerializer(score_card(actor=self.actor)).data)
