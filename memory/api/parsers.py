"""The one way in for bodies: JSON, strictly."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import IO, Any, Final

from rest_framework.parsers import BaseParser

from memory.api.errors import MalformedBodyError
from memory.errors import TooLarge

MAX_BODY_BYTES: Final = 32 * 1024 * 1024
MAX_DEPTH: Final = 32
"""Most objects and lists inside one another."""


class StrictJSONParser(BaseParser):
    """Parse one JSON object in UTF-8, at most 32 MiB.

    Refused are infinite numbers, NaN, names that stand twice in an object, and values nested beyond 32 levels. An
    empty body counts as an empty object.
    """

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Read and parse a body.

        Raises:
            MalformedBodyError: with `json.malformed`, `json.number`, `json.duplicate_name`, `json.too_deep` or
                `json.not_an_object`.
            TooLarge: more bytes than the limit.
        """
        raw = stream.read(MAX_BODY_BYTES + 1)
        if len(raw) > MAX_BODY_BYTES:
            raise TooLarge(
                f"The body has more than {MAX_BODY_BYTES} bytes. Nothing was stored. Send it in parts.",
                code="body.too_large",
                limit=MAX_BODY_BYTES,
            )
        if not raw.strip():
            return {}
        value = _load(raw)
        if not isinstance(value, dict):
            raise MalformedBodyError("The body has to be a JSON object.", code="json.not_an_object")
        _check_depth(value)
        return value


def _load(raw: bytes) -> Any:
    try:
        return json.loads(
            raw.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_without_repetition,
        )
    except UnicodeDecodeError as error:
        raise MalformedBodyError("The body is not valid UTF-8. Nothing was stored.") from error
    except json.JSONDecodeError as error:
        raise MalformedBodyError(
            f"The body is not valid JSON (line {error.lineno}, column {error.colno}). Nothing was stored.",
            line=error.lineno,
            column=error.colno,
        ) from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        # Python refuses whole numbers of more than some thousand digits.
        raise MalformedBodyError("The body holds a number that cannot be read.", code="json.number") from error


def _refuse_constant(name: str) -> Any:
    raise MalformedBodyError(f"{name} is no number of JSON. Nothing was stored.", code="json.number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedBodyError("A number of the body is too large. Nothing was stored.", code="json.number")
    return number


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedBodyError(
            "A name stands twice in one object, so it is unclear what is meant. Nothing was stored.",
            code="json.duplicate_name",
        )
    return found


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> MalformedBodyError:
    return MalformedBodyError(
        f"The body is nested more than {MAX_DEPTH} levels deep. Nothing was stored.", code="json.too_deep"
    )
