"""Bodies and answers that are a text and not JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser
from rest_framework.renderers import JSONRenderer

from memory.api.actions import MIB, action_of
from memory.api.errors import MalformedBodyError
from memory.errors import TooLarge
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
