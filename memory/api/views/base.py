"""The base of every endpoint: checks that hold everywhere, in one order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpRequest
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from memory.api.actions import Action, action_of
from memory.api.authentication import actor_of
from memory.api.negotiation import HeaderNegotiation
from memory.api.serializers.base import NoBody, NoQuery, Values
from memory.api.serializers.fields import parse_uuid
from memory.errors import NotFound
from memory.services.actors import Actor
from memory.services.features import require_memory


class BodyRequest(Request):
    """A request whose body is also read when it comes in chunks, without a length."""

    def _load_stream(self) -> None:
        super()._load_stream()  # type: ignore[misc]
        if "HTTP_TRANSFER_ENCODING" in self._request.META and not self._request._read_started:  # type: ignore[attr-defined]
            self._stream = self._request  # type: ignore[assignment]


class LociView(APIView):
    """An endpoint.

    `actions` says for each method what it needs and gives. In order, a request is refused for its Accept header (406),
    its caller (401), a missing permission (403), its rate (429), memory being switched off (503), its query (422), its
    method (405), and then for its body.
    """

    actions: ClassVar[Mapping[str, Action]] = {}
    needs_memory: ClassVar[bool] = True

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    content_negotiation_class = HeaderNegotiation
    metadata_class = None

    query: Values

    @property
    def actor(self) -> Actor:
        """Give who asks."""
        return actor_of(self.request)

    def initialize_request(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Request:
        """Wrap Django's request."""
        context = self.get_parser_context(request)
        return BodyRequest(
            request,
            parsers=self.get_parsers(),
            authenticators=self.get_authenticators(),
            negotiator=self.get_content_negotiator(),
            parser_context=context,
        )

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse what must not reach the method."""
        super().initial(request, *args, **kwargs)
        if self.needs_memory:
            require_memory()
        action = action_of(self, request.method)
        if action is not None:
            self.query = (action.query or NoQuery).read(request.query_params)  # type: ignore[attr-defined]
            if action.body is None and request.method not in SAFE_METHODS:
                NoBody().run_validation(request.data)

    def body(self, *, partial: bool = False) -> Values:
        """Check the body with the action's serializer; raises ValidationError or a domain error."""
        action = self.actions[self.request.method or ""]
        assert action.body is not None
        serializer = action.body(data=self.request.data, partial=partial)
        serializer.is_valid(raise_exception=True)
        values: Values = serializer.validated_data
        return values

    def kept_answer(self, body: Any) -> Any:
        """Give what is kept of an answer under an idempotency key: all of it, unless a view keeps a secret back."""
        return body

    def finalize_response(self, request: Request, response: Response, *args: Any, **kwargs: Any) -> Response:
        """Forbid every cache to keep the answer."""
        response = super().finalize_response(request, response, *args, **kwargs)
        response["Cache-Control"] = "no-store"
        return response


def path_id(text: str) -> UUID:
    """Read an id from a path; raises NotFound for anything that is none, like for an unknown one."""
    found = parse_uuid(text)
    if found is None:
        raise NotFound
    return found
