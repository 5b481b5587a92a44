"""`/purges`: erasing for good, and the receipts."""

from __future__ import annotations

from typing import Any, Final

from rest_framework.request import Request
from rest_framework.response import Response

from memory.api.actions import LONGEST_PURGE_TOKEN, RECEIPT_HEADER, Action
from memory.api.idempotency import idempotent
from memory.api.serializers.purges import (
    BegunPurgeSerializer,
    NewPurgeSerializer,
    PurgeCountsSerializer,
    PurgeRowSerializer,
    PurgesSerializer,
    PurgeTargetSerializer,
    ReceiptSerializer,
)
from memory.api.views.base import LociView, path_id
from memory.errors import InvalidInput, NotFound, PermissionRefused
from memory.models import PurgeSubject
from memory.services.actors import Permission
from memory.services.purge.held import held_stores
from memory.services.purge.partial_requests import (
    PartialRequest,
    begin_partial,
    preview_partial,
    purge_seen,
    purges_seen,
)
from memory.services.purge.requests import NewPurge, begin_purge, preview_owner, purge_by_token
from memory.services.reauthentication import confirm_person

PARTS: Final = ("memories", "source", "agent")
# What everything asks of a person.
FOR_OWNER: Final = ("password", "confirm")


class PurgePreviewView(LociView):
    """Counting what a purge would erase."""

    needs_memory = False
    actions = {
        "POST": Action(
            id="preview_purge",
            permission=Permission.PRIVACY,
            rate="recall",
            body=PurgeTargetSerializer,
            answers={200: PurgeCountsSerializer},
        )
    }

    def post(self, request: Request) -> Response:
        """Count what a purge of one memory, some, a source, an agent or everything would erase, and change nothing."""
        values = self.body()
        if _is_whole(values):
            if self.actor.kind != "person":
                raise PermissionRefused("Only a person can have everything erased.", code="auth.person_only")
            counts = preview_owner(owner_id=self.actor.owner_id)
            return Response({"subject": PurgeSubject.OWNER, "counts": counts})
        found = preview_partial(actor=self.actor, request=_partial(values))
        return Response({"subject": found.subject, "counts": found.counts})


class PurgesView(LociView):
    """All purges of an owner."""

    needs_memory = False
    actions = {
        "GET": Action(id="list_purges", permission=Permission.PRIVACY, answers={200: PurgesSerializer}),
        "POST": Action(
            id="begin_purge",
            permission=Permission.PRIVACY,
            rate="write",
            body=NewPurgeSerializer,
            answers={202: BegunPurgeSerializer},
            problems=(409, 410),
        ),
    }

    def get(self, request: Request) -> Response:
        """List the owner's purges, newest first, at most 50; to an agent, those that it has asked for itself."""
        rows = purges_seen(actor=self.actor)
        return Response({"items": PurgeRowSerializer(rows, many=True).data})

    def post(self, request: Request) -> Response:
        """Begin to erase for good what the body names. A worker does it; the answer holds the token that opens the
        receipt. A person gives the password; a key needs `memory:delete` besides. With `owner` everything goes, and
        every later request is 410 `owner.purging`: nothing is kept under an idempotency key then.
        """
        values = self.body()
        if _is_whole(values):
            return self._whole(request, values)
        # An answer is not given again either to whoever does not show who they are.
        self._confirm_part(request, values)
        return self._part(request)

    def _confirm_part(self, request: Request, values: dict[str, Any]) -> None:
        if "password" in values:
            confirm_person(actor=self.actor, password=values["password"], confirm=None, request=request._request)
        elif self.actor.kind == "person":
            raise InvalidInput(
                "A person has something erased only with the password. Nothing was erased.",
                code="field.required",
                field="password",
            )
        else:
            self.actor.require(Permission.DELETE)

    # What the methods that do the work have, for the schema.
    post.takes_idempotency_key = True  # type: ignore[attr-defined]

    def kept_answer(self, body: Any) -> Any:
        """Keep the token back."""
        return {**body, "token": None} if isinstance(body, dict) and "token" in body else body

    @idempotent
    def _part(self, request: Request) -> Response:
        return _begun(begin_partial(actor=self.actor, request=_partial(self.body())))

    def _whole(self, request: Request, values: dict[str, Any]) -> Response:
        missing = [name for name in FOR_OWNER if name not in values]
        if missing:
            raise InvalidInput(
                "Everything is erased only with the password and the name of the login. Nothing was erased.",
                code="field.required",
                field=missing[0],
            )
        confirm_person(
            actor=self.actor, password=values["password"], confirm=values["confirm"], request=request._request
        )
        return _begun(begin_purge(actor=self.actor))


class PurgeStateView(LociView):
    """One purge."""

    needs_memory = False
    actions = {"GET": Action(id="get_purge", permission=Permission.PRIVACY, answers={200: PurgeRowSerializer})}

    def get(self, request: Request, purge_id: str) -> Response:
        """Tell how far a purge is; to an agent only of one that it has asked for itself."""
        try:
            row = purge_seen(actor=self.actor, purge_id=path_id(purge_id))
        except NotFound as error:
            # Like every other id that is not here.
            raise NotFound from error
        return Response(PurgeRowSerializer(row).data)


class ReceiptView(LociView):
    """The receipt of a purge, for whoever has its token."""

    needs_memory = False
    authentication_classes = ()
    actions = {
        "GET": Action(
            id="get_purge_receipt", public=True, purge_token=True, answers={200: ReceiptSerializer}, problems=(404, 429)
        )
    }

    def get(self, request: Request, purge_id: str) -> Response:
        """Give the signed receipt to whoever sends the purge's token; the login may be gone by then. Without the right
        token, a purge is like one that never was. Before there is one, `held` of the answer names the stores elsewhere
        that are waited for.
        """
        token = request.headers.get(RECEIPT_HEADER, "")
        purge = purge_by_token(
            purge_id=path_id(purge_id), token=token[:LONGEST_PURGE_TOKEN], address=request.META.get("REMOTE_ADDR")
        )
        if purge.receipt is None:
            raise NotFound(
                "The receipt is written when the purge is done. Ask again later.",
                code="receipt.not_yet",
                held=held_stores(purge),
            )
        return Response(purge.receipt)


def _is_whole(values: dict[str, Any]) -> bool:
    """Tell whether everything is meant; raises InvalidInput where more than one thing is."""
    whole = bool(values.get("owner"))
    if whole and any(name in values for name in (*PARTS, "seal")):
        raise InvalidInput("With `owner` nothing else is named. Nothing was erased.", code="purge.several")
    if not whole and "confirm" in values:
        raise InvalidInput("`confirm` goes with `owner` only. Nothing was erased.", code="purge.several")
    return whole


def _partial(values: dict[str, Any]) -> PartialRequest:
    return PartialRequest(**{name: values[name] for name in (*PARTS, "seal") if name in values})


def _begun(made: NewPurge) -> Response:
    return Response({**PurgeRowSerializer(made.purge).data, "token": made.token}, status=202)
