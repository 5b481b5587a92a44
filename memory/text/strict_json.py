"""JSON, read strictly: what could be meant in two ways, or would fill the memory, is refused before it is used."""

from __future__ import annotations

import json
import math
import re
from itertools import islice
from typing import Any, Final

from memory.errors import MalformedBodyError, TooLarge

BYTES_A_VALUE: Final = 16
"""Least bytes of an object for each of its values: small ones take many times their bytes when parsed."""

MAX_DEPTH: Final = 32
"""Most objects and lists inside one another."""

# A string, closed or not, or what begins or parts values. Nothing here is tried twice, whatever is sent.
_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[\[{,]', re.DOTALL)


def object_of(raw: bytes, *, most: int) -> dict[str, Any]:
    """Read one JSON object.

    Refused are infinite numbers, NaN, names that stand twice in an object, values nested beyond 32 levels, and more
    values than one for each 16 bytes of the limit.

    Args:
        raw: in UTF-8.
        most: bytes that such an object may have; the number of its values is measured by them.

    Raises:
        MalformedBodyError: with `json.malformed`, `json.number`, `json.duplicate_name`, `json.too_deep` or
            `json.not_an_object`.
        TooLarge: `body.too_large`, too many values; nothing is parsed then.
    """
    _check_number_of_values(raw, most // BYTES_A_VALUE)
    value = load_json(raw)
    if not isinstance(value, dict):
        raise MalformedBodyError("The body has to be a JSON object.", code="json.not_an_object")
    _check_depth(value)
    return value


def _check_number_of_values(raw: bytes, most: int) -> None:
    """Refuse many small values before each of them becomes an object of its own."""
    # Nearly every body passes here, counted with what its strings hold.
    if sum(raw.count(mark) for mark in (b"{", b"[", b",")) <= most:
        return
    marks = (found for found in _TOKEN.finditer(raw) if found[0][:1] != b'"')
    if next(islice(marks, most, None), None) is not None:
        raise TooLarge(
            f"The body has more than {most} values. Send it in parts.",
            code="body.too_large",
            limit=most,
        )


def load_json(raw: bytes) -> Any:
    """Parse JSON strictly; raises MalformedBodyError as `object_of`."""
    try:
        return json.loads(
            raw.decode("utf-8"),
            parse_constant=_refuse_constant,
            parse_float=_finite,
            object_pairs_hook=_without_repetition,
        )
    except UnicodeDecodeError as error:
        raise MalformedBodyError("The body is not valid UTF-8.") from error
    except json.JSONDecodeError as error:
        raise MalformedBodyError(
            f"The body is not valid JSON (line {error.lineno}, column {error.colno}).",
            line=error.lineno,
            column=error.colno,
        ) from error
    except RecursionError as error:
        raise _too_deep() from error
    except ValueError as error:
        # Python refuses whole numbers of more than some thousand digits.
        raise MalformedBodyError("The body holds a number that cannot be read.", code="json.number") from error


def _refuse_constant(name: str) -> Any:
    raise MalformedBodyError(f"{name} is no number of JSON.", code="json.number")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise MalformedBodyError("A number of the body is too large.", code="json.number")
    return number


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise MalformedBodyError(
            "A name stands twice in one object, so it is unclear what is meant.",
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
    return MalformedBodyError(f"The body is nested more than {MAX_DEPTH} levels deep.", code="json.too_deep")
