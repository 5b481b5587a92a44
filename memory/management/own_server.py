"""Refusing a PostgreSQL of the operator's own that Loci cannot run on, before anything is changed in it."""

from __future__ import annotations

from django.conf import settings
from django.db import connections

from memory.services.server_checks import unfit
from runtime.errors import RuntimeFault


class UnfitServer(RuntimeFault):
    """The server of DATABASE_URL is not fit for Loci. Nothing was changed."""

    code = "database.unfit"


def refuse_unfit_server(*, migrating: bool) -> None:
    """See that the server of DATABASE_URL, its database and roles are fit; the embedded one is, as it was set up.

    Args:
        migrating: whether migrations are to be applied.

    Raises:
        UnfitServer: they are not; the message has every reason and what to do.
    """
    if settings.EMBEDDED_DATABASE:
        return
    try:
        reasons = [f"{found.detail} {found.remedy}".strip() for found in unfit(migrating=migrating)]
    finally:
        connections.close_all()
    if reasons:
        raise UnfitServer("\n".join([*reasons, "Nothing was changed."]))
