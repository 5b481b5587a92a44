"""Bodies and answers that are a text and not JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse
from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

from memory.api.actions import MIB, action_of
from memory.api.schema import LociSchema
from memory.errors import MalformedBodyError, TooLarge
from memory.models import MediaType


class MarkdownParser(BaseParser):
    """Take a body as the text that it is, under the name `content`, with its media type."""

    media_type = str(MediaType.MARKDOWN)

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Read a body of UTF-8.

        Raises:
            TooLarge: `body.too_large`, more bytes than the endpoint's action says.
            MalformedBodyError: `body.not_utf8`.
        """
        view = (parser_context or {}).get("view")
        action = action_of(view, view.request.method) if view is not None else None
        most = MIB if action is None else action.most_bytes
        raw = stream.read(most + 1)
        if len(raw) > most:
            raise TooLarge(f"The body has more than {most} bytes.", code="body.too_large", limit=most)
        try:
            return {"content": raw.decode("utf-8"), "media_type": self.media_type}
        except UnicodeDecodeError as error:
            raise MalformedBodyError("The body is not valid UTF-8.", code="body.not_utf8") from error


class PlainParser(MarkdownParser):
    """Take a plain text."""

    media_type = str(MediaType.PLAIN)


class MarkdownRenderer(JSONRenderer):
    """Lets a caller ask for Markdown; what is no file is JSON all the same."""

    media_type = str(MediaType.MARKDOWN)
    format = "md"


class PlainRenderer(JSONRenderer):
    """Lets a caller ask for plain text; what is no file is JSON all the same."""

    media_type = str(MediaType.PLAIN)
    format = "txt"


class TextSchema(LociSchema):
    """Describe an operation whose body or answer may be a text as well as JSON."""

    def get_request_serializer(self) -> Any:
        """Give the body of each media type, where it replaces a content."""
        body = super().get_request_serializer()
        if self.method != "PUT":
            return None if body is None else {JSONRenderer.media_type: body}
        return {JSONRenderer.media_type: body, PlainParser.media_type: OpenApiTypes.STR}

    def get_response_serializers(self) -> Any:
        """Give the answer of each media type, where a content is read."""
        answers = super().get_response_serializers()
        if self.method == "GET":
            answers[200, JSONRenderer.media_type] = answers.pop(200)
            for renderer in (MarkdownRenderer, PlainRenderer):
                answers[200, renderer.media_type] = OpenApiResponse(OpenApiTypes.STR, description="The text alone.")
        return answers
