"""How commands answer: as lines for a person or as one JSON object, and errors as exit code 1 with a message."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError
from django.db import OperationalError

from memory.errors import LociError


@contextmanager
def errors_for_operators() -> Iterator[None]:
    """Turn what services raise into the message of a command."""
    try:
        yield
    except LociError as error:
        raise CommandError(f"{error.message} ({error.machine_code})") from error
    except OperationalError as error:
        raise CommandError("The database does not answer. Start it: `python3 manage.py db start`, or `up`.") from error


def counted(number: int, one: str, many: str | None = None) -> str:
    """Write a number with its noun: `1 seal`, `2 seals`; `many` is the plural that has another form."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def written(value: Mapping[str, Any], *, indent: int | None = None) -> str:
    """Write an answer as JSON, with moments as the REST API has them: `2026-01-31T12:00:00Z`."""
    return json.dumps(value, default=_plain, indent=indent)


def moment_written(moment: datetime) -> str:
    """Write a moment as the REST API does."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _plain(value: Any) -> str:
    return moment_written(value) if isinstance(value, datetime) else str(value)


def answer(write: Callable[[str], object], value: Mapping[str, Any], *, as_json: bool, lines: Sequence[str]) -> None:
    """Write one answer; `lines` is the form for a person."""
    if as_json:
        write(written(value))
    else:
        for line in lines:
            write(line)
