"""What is refused before anything is sent; trying again would not help."""

from __future__ import annotations


class Refused(Exception):
    """A request was not sent, for a reason in the settings; the message is safe to show."""


def refusal(error: BaseException | None) -> Refused | None:
    """Find a refusal behind the errors that a library has made of it."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, Refused):
            return error
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return None
