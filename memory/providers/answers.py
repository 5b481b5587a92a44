"""What a provider answers over HTTP: a status and a body, or nothing that can be read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Final

# How servers say that a request is more than they take; some of them with the status of a fault of their own.
TOO_LARGE: Final = (
    "too large",
    "too long",
    "too many inputs",
    "too many tokens",
    "context length",
    "maximum input",
    "max allowed",
    "maximum allowed",
    "batch size",
)
CONTENT_TOO_LARGE = 413


class Unreachable(Exception):
    """A provider gave no answer that can be read; the message is safe to show."""


class Retryable(Unreachable):
    """A failure that may pass; `wait` is how long the server asked to wait, in seconds."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """A status that trying again would not change, with the body as far as it was read; never shown whole."""

    status: int
    body: bytes

    @property
    def ok(self) -> bool:
        """Tell whether the status is a success."""
        return 200 <= self.status < 300

    def value(self) -> Any:
        """Parse the body.

        Raises:
            Unreachable: the body is not JSON.
        """
        return parsed(self.body)

    @property
    def too_large(self) -> bool:
        """Tell whether the server refused the request for its size: status 413, or words that say so."""
        return self.status == CONTENT_TOO_LARGE or (self.status >= 400 and self.says(*TOO_LARGE))

    def says(self, *words: str) -> bool:
        """Tell whether the body contains one of the words, in any case; for telling refusals apart."""
        text = self.body.decode("utf-8", "replace").lower()
        return any(word.lower() in text for word in words)


def parsed(body: bytes) -> Any:
    """Parse JSON.

    Raises:
        Unreachable: it is none.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Unreachable("answered with something else than JSON") from None
