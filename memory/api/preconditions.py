"""ETag and If-Match: a change that was made from an outdated version is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from rest_framework.request import Request

from memory.api.errors import PreconditionFailedError, PreconditionRequiredError
from memory.errors import Conflict

_TAG: Final = re.compile(r'"(\d{1,9})"')


def etag(version: int) -> str:
    """Write a version as an entity tag."""
    return f'"{version}"'


def expected_version(request: Request, current: Callable[[], int]) -> int | None:
    """Give the version that the header If-Match asks for; None when any will do.

    Args:
        request: the request.
        current: looks up the stored version; called only where the header names several.

    Raises:
        PreconditionFailedError: none of the named tags can be the stored one.
    """
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    versions = [int(tag) for tag in _TAG.findall(header)]
    if len(versions) == 1:
        return versions[0]
    if versions and (stored := current()) in versions:
        return stored
    raise PreconditionFailedError


def required_version(request: Request, current: Callable[[], int]) -> int | None:
    """Give the version that If-Match asks for, which has to be there; None for `*`.

    Args:
        request: the request.
        current: looks up the stored version, as for `expected_version`; called too where the header is missing, so
            that what is not there is not found whatever was sent.

    Raises:
        PreconditionRequiredError: there is no If-Match.
        PreconditionFailedError: as `expected_version`.
    """
    if request.headers.get("If-Match") is None:
        current()
        raise PreconditionRequiredError
    return expected_version(request, current)


@contextmanager
def outdated_is_412(asked: int | None) -> Iterator[None]:
    """Turn a service's conflict of versions into 412 where the request named a version itself."""
    try:
        yield
    except Conflict as error:
        if asked is None or not error.machine_code.endswith((".version", "file.conflict")):
            raise
        raise PreconditionFailedError(**error.details) from error
