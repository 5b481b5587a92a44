"""The OpenAPI schema, drawn from the table of actions of each view."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from drf_spectacular.extensions import OpenApiAuthenticationExtension, OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from memory.api.actions import CAPABILITY_HEADER, LONGEST_PURGE_TOKEN, RECEIPT_HEADER, Action, action_of
from memory.api.authentication import KEY_HEADER
from memory.api.idempotency import HEADER, MAX_KEY_LENGTH, REPLAYED
from memory.api.problems import MEDIA_TYPE
from memory.api.serializers.base import ProblemSerializer, Strict
from memory.crypto.capabilities import MAX_TOKEN_CHARACTERS

# What can befall every request with a caller, and every request with a body.
EVERYWHERE: Final = (401, 403, 404, 406, 410, 422, 429, 503)
WITH_BODY: Final = (400, 413, 415)
PUBLIC: Final = (406, 422)


class LociSchema(AutoSchema):
    """Describe an operation from its action."""

    @property
    def action(self) -> Action:
        """Give the action of the operation."""
        action = action_of(self.view, self.method)
        assert action is not None
        return action

    def get_operation_id(self) -> str:
        """Give the operation's name."""
        return self.action.id

    def get_summary(self) -> str | None:
        """Give the first sentence of the method's docstring."""
        return self._doc()[0].rstrip(".")

    def get_description(self) -> str:  # type: ignore[override]
        """Give the rest of the method's docstring."""
        return self._doc()[1]

    def get_request_serializer(self) -> Any:
        """Give the serializer of the body."""
        return self.action.body

    def get_response_serializers(self) -> Any:
        """Give the answers and the problems, by status."""
        action = self.action
        answers: dict[Any, Any] = {
            status: OpenApiResponse(serializer, description=HTTPStatus(status).phrase)
            for status, serializer in action.answers.items()
        }
        for status in self._problem_statuses():
            if status not in answers:
                answers[status, MEDIA_TYPE] = OpenApiResponse(ProblemSerializer, description=HTTPStatus(status).phrase)
        return answers

    def get_override_parameters(self) -> list[Any]:
        """Give the query parameters and headers."""
        action = self.action
        parameters: list[Any] = [
            OpenApiParameter(name, OpenApiTypes.UUID if name.endswith("_id") else OpenApiTypes.STR, "path")
            for name in self._path_names()
        ]
        if action.query is not None:
            parameters.append(action.query)
        success = [str(status) for status in action.answers if status < 300]
        if self._takes_key():
            parameters += [
                OpenApiParameter(HEADER, {"type": "string", "minLength": 1, "maxLength": MAX_KEY_LENGTH}, "header"),
                OpenApiParameter(REPLAYED, str, "header", response=success),
            ]
        if action.capability:
            token = {"type": "string", "maxLength": MAX_TOKEN_CHARACTERS}
            parameters.append(OpenApiParameter(CAPABILITY_HEADER, token, "header"))
        if action.purge_token:
            token = {"type": "string", "maxLength": LONGEST_PURGE_TOKEN}
            parameters.append(OpenApiParameter(RECEIPT_HEADER, token, "header"))
        if action.versioned:
            parameters.append(OpenApiParameter("ETag", str, "header", response=success))
            if self.method not in ("GET", "HEAD"):
                parameters.append(OpenApiParameter("If-Match", str, "header"))
        if action.locates:
            parameters.append(OpenApiParameter("Location", str, "header", response=success))
        return parameters

    def _map_basic_serializer(self, serializer: Any, direction: str) -> Any:
        schema = super()._map_basic_serializer(serializer, direction)  # type: ignore[no-untyped-call]
        if direction == "request" and isinstance(serializer, Strict):
            schema["additionalProperties"] = False
        if getattr(serializer, "closed", False):
            # Else the whole of a union would also count as its part.
            schema["additionalProperties"] = False
        return schema

    def _doc(self) -> tuple[str, str]:
        handler = getattr(self.view, self.method.lower())
        first, _, rest = " ".join((handler.__doc__ or "").split()).partition(". ")
        return first, rest

    def _path_names(self) -> list[str]:
        return [part[1:-1] for part in self.path.split("/") if part.startswith("{")]

    def _takes_key(self) -> bool:
        return hasattr(getattr(self.view, self.method.lower()), "takes_idempotency_key")

    def _problem_statuses(self) -> list[int]:
        action = self.action
        statuses = {*(PUBLIC if action.public else EVERYWHERE), *action.problems}
        if action.body is not None or self._takes_key():
            statuses.update(WITH_BODY)
        if self._takes_key():
            statuses.add(409)
        if action.versioned and self.method != "GET":
            statuses.add(412)
        return sorted(statuses)


class WordShape(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """A vocabulary, listed where it is used."""

    target_class = "memory.api.serializers.fields.Word"

    def map_serializer_field(self, auto_schema: AutoSchema, direction: str) -> dict[str, Any]:
        """List the words."""
        return {"type": "string", "enum": list(self.target.choices)}


class AgentKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The two headers that a key can come in."""

    target_class = "memory.api.authentication.AgentKeyAuthentication"
    name = ["agentKey", "agentKeyHeader"]

    def get_security_requirement(self, auto_schema: AutoSchema) -> list[dict[str, list[Any]]]:
        """Say that either header will do."""
        return [{name: []} for name in self.name]

    def get_security_definition(self, auto_schema: AutoSchema) -> list[dict[str, Any]]:
        """Describe both headers."""
        return [
            {"type": "http", "scheme": "bearer", "bearerFormat": "loci_…", "description": "The key of an agent."},
            {"type": "apiKey", "in": "header", "name": KEY_HEADER, "description": "The key of an agent."},
        ]


class PersonScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """The session cookie of the palace."""

    target_class = "memory.api.authentication.PersonAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        """Describe the cookie."""
        from django.conf import settings

        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "A session of the palace; unsafe methods need its CSRF token in X-CSRFToken.",
        }
