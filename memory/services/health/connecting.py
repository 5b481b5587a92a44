"""Why a PostgreSQL server does not let Loci in, in words of our own: those of the server may hold what is private."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from memory.services.findings import Finding

ADDRESSES: Final = "DATABASE_URL and DATABASE_SCHEMA_URL"


@dataclass(frozen=True, slots=True)
class Refused:
    """What keeps Loci from connecting, and what to do about it."""

    detail: str
    remedy: str


NOBODY_THERE: Final = Refused(
    "No PostgreSQL server answers there.", f"Start it, and check host and port in {ADDRESSES}."
)
NO_DATABASE: Final = Refused(
    "The server has no such database.",
    f"Check the name at the end of {ADDRESSES}; `python3 manage.py db provision --url …` makes the database.",
)
NOT_ADMITTED: Final = Refused(
    "The server does not admit this role from here, or not without TLS.",
    f"Set sslmode=require in {ADDRESSES}, or add a line to the server's pg_hba.conf.",
)
NO_LOGIN: Final = Refused(
    "The server refuses the login.",
    f"Check role and password in {ADDRESSES}; `python3 manage.py db provision --passwords` sets new ones.",
)
FULL: Final = Refused(
    "The server takes no further connections.", "Raise its max_connections, or lower LOCI_DB_POOL_MAX."
)
NOT_YET: Final = Refused("The server is starting or stopping.", "Wait a moment and try again.")
NO_TLS: Final = Refused(
    "No connection with TLS comes about as the address demands it.",
    f"Check sslmode and sslrootcert in {ADDRESSES}, and the server's certificate.",
)
UNKNOWN_NAME: Final = Refused("The server's name is not known here.", f"Check the host in {ADDRESSES}.")

# The driver gives no code for what fails before the login; the first reason of which a pattern is found counts. What a
# server says in another language than English is told by the driver's class of error alone.
_REASONS: Final[Sequence[tuple[Refused, Sequence[str]]]] = (
    (NO_DATABASE, [r'database "[^"]*" does not exist', "no such database"]),
    # Before what stands in the same message where the driver has tried a refused login again without TLS.
    (NO_LOGIN, ["authentication failed", "no password supplied", r'role "[^"]*" does not exist', "no such user"]),
    (NO_LOGIN, ["not permitted to log in", "permission denied for database", "wrong password type"]),
    (NOT_ADMITTED, [r"no pg_hba\.conf entry", r"pg_hba\.conf rejects"]),
    (FULL, ["too many (clients|connections)", "connection slots", "connection limit exceeded", "no more connections"]),
    (NOT_YET, ["starting up", "shutting down", "recovery mode", "not accepting connections"]),
    (NO_TLS, [r"\b(SSL|TLS)\b", "certificate"]),
    (
        NOBODY_THERE,
        ["connection refused", "no route to host", "network is unreachable", "no such file", "time(d )?out"],
    ),
    (UNKNOWN_NAME, ["failed to resolve host", "could not translate host name", "name or service not known"]),
)


def refused_connection(error: BaseException) -> Refused | None:
    """Tell why a connection did not come about; None where that is not known, or it was something else.

    Args:
        error: what Django or the driver has raised.
    """
    if getattr(error.__cause__ or error, "sqlstate", None):
        # A statement failed, on a connection that had come about.
        return None
    told = str(error)
    found = (refused for refused, words in _REASONS if re.search("|".join(words), told, re.IGNORECASE))
    return next(found, None)


def connection_finding() -> Finding | None:
    """Connect once more to the server of DATABASE_URL and say what keeps Loci out; for an operator's eyes only.

    None with the embedded database, and where nothing does, or nothing that is known.
    """
    if settings.EMBEDDED_DATABASE:
        return None
    try:
        connection.ensure_connection()
    except (DatabaseError, InterfaceError) as error:
        refused = refused_connection(error)
        return Finding("database", "failing", refused.detail, refused.remedy) if refused is not None else None
    return None
