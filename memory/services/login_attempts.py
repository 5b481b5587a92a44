"""A limit on failed logins of one network, over all names, so that trying names costs the server little.

The lock on a name is another one, of django-axes. A name that was logged in to from a network lately is let through
there, so that whoever shares an address with an attacker can log in.

Counts and marks stand under codes of networks and names that only this installation can make. A purge cannot take
away the marks of a name, since it does not know the networks; its receipt says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.conf import settings
from django.core.cache import caches
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from memory.errors import PermissionRefused, RateLimited
from memory.networks import client_network
from memory.services.windowed_counts import code_of, count_one, take_back

WINDOW_SECONDS: Final = 60
KNOWN_SECONDS: Final = 7 * 24 * 3600
CACHE: Final = "logins"
# What tells wrong credentials: the form of the login, the question for the password, and the lock on the name, which
# alone limits rates within an attempt.
WRONG: Final = (ValidationError, PermissionRefused, RateLimited)


@contextmanager
def counted_attempt(*, name: str, request: HttpRequest) -> Iterator[None]:
    """Count the block as an attempt to log in: as a failed one where it raises that the credentials are wrong.

    Whatever else it raises, such as that the database does not answer, says nothing of whoever asks. It counts from its
    beginning, so that many at once are not let in together.

    Args:
        name: of the login, as it was typed.
        request: from which network.

    Raises:
        RateLimited: too many failed ones from this network within a minute, before the block is begun.
    """
    cache, network = caches[CACHE], client_network(request)
    failed = code_of(network, purpose="failed logins")
    known = code_of(network, name, purpose="known logins")
    if count_one(cache, failed, seconds=WINDOW_SECONDS) > settings.MOST_FAILED_LOGINS and not cache.get(known):
        raise RateLimited(
            "Too many log-ins from your network failed. Wait a minute and try again. Nothing else happened, and every "
            "login that is open goes on.",
            code="auth.flood",
            retry_after=WINDOW_SECONDS,
        )
    try:
        yield
    except WRONG:
        raise
    except BaseException:
        take_back(cache, failed)
        raise
    take_back(cache, failed)
    cache.set(known, True, KNOWN_SECONDS)
