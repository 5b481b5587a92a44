"""The one way in for bodies: JSON, strictly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from memory.api.actions import MIB, action_of
from memory.errors import TooLarge
from memory.text.strict_json import object_of


class StrictJSONParser(BaseParser):
    """Parse one JSON object in UTF-8, of at most as many bytes as the endpoint's action says.

    Refused are infinite numbers, NaN, names that stand twice in an object, values nested beyond 32 levels, and more
    values than one for each 16 bytes of the limit. An empty body counts as an empty object.
    """

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Read and parse a body.

        Raises:
            MalformedBodyError: with `json.malformed`, `json.number`, `json.duplicate_name`, `json.too_deep` or
                `json.not_an_object`.
            TooLarge: `body.too_large`, more bytes or values than the limit; nothing is parsed then.
        """
        most = _most_bytes(parser_context or {})
        raw = stream.read(most + 1)
        if len(raw) > most:
            raise TooLarge(
                f"The body has more than {most} bytes. Send it in parts.",
                code="body.too_large",
                limit=most,
            )
        if not raw.strip():
            return {}
        return object_of(raw, most=most)


def _most_bytes(context: Mapping[str, Any]) -> int:
    view = context.get("view")
    action = action_of(view, view.request.method) if view is not None else None
    return MIB if action is None else action.most_bytes
