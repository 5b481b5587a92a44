"""What must be true before the server answers: schema, keys, a first owner, schedules, a built model."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection

from memory.crypto.keyring import keyring
from memory.errors import EmbedderUnavailable, KeysUnavailable
from memory.models import Owner
from memory.providers.composition import vault_used_before
from memory.providers.minilm.build import MANIFEST, default_directory, ensure_built
from memory.services.accounts import (
    FirstOwner,
    create_first_owner,
    owners_of_vault_alone,
    owners_without_keys,
)
from memory.services.amounts import owners
from memory.services.health import RESTORE_VAULT
from memory.services.health.connecting import refused_connection
from memory.services.jobs import ensure_schedules
from memory.services.schema import schema_state
from runtime.errors import RuntimeFault

Say = Callable[[str], None]
# How PgBouncer begins what it says of options in an address.
UNKNOWN_PARAMETER: Final = "unsupported startup parameter"


class NewerDatabase(RuntimeFault):
    """The database was changed by a newer version of the program."""

    code = "database.newer"


def bring_schema_up_to_date(say: Say) -> None:
    """Apply the migrations that are missing; without any, none of them is even imported.

    Raises:
        NewerDatabase: the database has migrations that this program does not know; it was not touched.
    """
    state = schema_state()
    if state.unknown:
        raise NewerDatabase(
            f"The database was changed by a newer version of Loci ({state.unknown[-1]}). Nothing was started. Run that "
            "version, or restore a backup of this one."
        )
    if state.pending:
        say(f"Applying {len(state.pending)} migrations.")
        call_command("migrate", verbosity=0, interactive=False, stdout=_Lines(say))


class _Lines(io.TextIOBase):
    """Says what a command writes, line by line."""

    def __init__(self, say: Say) -> None:
        self._say = say

    def write(self, text: str) -> int:
        if text.strip():
            self._say(text.strip())
        return len(text)


def check_vault() -> None:
    """See that the master key opens the key vault, setting up one that was never used; raises KeysUnavailable."""
    keyring().vault.verify()


def check_known_vault() -> None:
    """See that the master key opens the key vault that was used before; needs no database; raises KeysUnavailable."""
    if _vault_known():
        check_vault()


def refuse_lost_vault() -> None:
    """See that a database with owners comes with its key vault, before another one is set up in its place.

    Raises:
        KeysUnavailable: there are owners and no vault; nothing was made.
    """
    if not _vault_known() and _owners_exist():
        raise KeysUnavailable(
            "This database has owners, but their key vault is gone, so their texts cannot be read. Nothing was started "
            f"or changed. {RESTORE_VAULT}"
        )


def _vault_known() -> bool:
    try:
        return vault_used_before()
    except OSError as error:
        raise KeysUnavailable(
            f"The key vault cannot be looked at ({type(error).__name__}). Nothing was started. Check the owner and "
            "mode of LOCI_KEYS_DIR."
        ) from error


def _owners_exist() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass('memory_owner') IS NOT NULL")
        return bool(cursor.fetchone()[0]) and Owner.objects.exists()


def check_owners(say: Say) -> None:
    """See that every owner's keys are in the vault, and say where the vault has owners and the database has none.

    Raises:
        KeysUnavailable: some are missing, as when the vault's directory was lost or another one is used.
    """
    missing = len(owners_without_keys())
    if missing:
        raise KeysUnavailable(
            f"The key vault has no keys for {owners(missing)} of this database, so their texts cannot be read. "
            f"Nothing was started or changed. {RESTORE_VAULT}"
        )
    unknown = len(owners_of_vault_alone())
    if unknown and not Owner.objects.exists():
        say(
            f"Warning: the key vault knows {owners(unknown)} and this database none. Where that is not meant, another "
            "database belongs to the vault: check DATABASE_URL or LOCI_DATA_DIR, or restore the backup."
        )


def prepare_contents() -> FirstOwner | None:
    """Make the schedules and, in an empty installation, the first owner; gives the latter when it was made."""
    ensure_schedules()
    return create_first_owner()


def make_static_directory() -> None:
    """Make the directory that collected files would go to; the web process complains about a missing one."""
    Path(settings.STATIC_ROOT).mkdir(parents=True, exist_ok=True)


def build_model(say: Say) -> None:
    """Build the local embedding model when it was never built; a failure costs vectors and not the start."""
    if settings.EMBEDDING_PROVIDER != "local" or (default_directory() / MANIFEST).exists():
        return
    say("Building the embedding model; this takes some seconds and happens once.")
    try:
        ensure_built()
    except EmbedderUnavailable as error:
        say(f"Warning: {error.message} Until that is put right, recall works by words only.")


def database_message(error: DatabaseError) -> str:
    """Say what to do about a database that does not answer as it should, without its own words, which hold values."""
    if settings.EMBEDDED_DATABASE:
        return f"The database does not answer as it should ({type(error).__name__}). See `python3 manage.py db status`."
    if UNKNOWN_PARAMETER in str(error):
        return (
            "The pooler that DATABASE_URL leads to refuses start-up parameters. Take `options` out of the address; "
            "`db provision` sets what Loci needs for its roles."
        )
    refused = refused_connection(error)
    if refused is not None:
        return f"{refused.detail} Nothing was started. {refused.remedy}"
    return (
        f"The database of DATABASE_URL cannot be used ({type(error).__name__}). Check the address and the roles: "
        "`python3 manage.py db provision --url …` sets them up, DATABASE_SCHEMA_URL names the owning role."
    )
