"""What must be true before the server answers: schema, keys, a first owner, schedules, a built model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from django.conf import settings
from django.core.management import call_command

from memory.crypto.keyring import keyring
from memory.errors import EmbedderUnavailable, KeysUnavailable
from memory.providers.minilm.build import MANIFEST, default_directory, ensure_built
from memory.services.accounts import FirstOwner, create_first_owner, owners_without_keys
from memory.services.jobs import ensure_schedules
from memory.services.schema import schema_state
from runtime.errors import RuntimeFault

Say = Callable[[str], None]


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
        call_command("migrate", verbosity=0, interactive=False)


def check_vault() -> None:
    """See that the master key opens the key vault; raises KeysUnavailable."""
    keyring().vault.verify()


def check_owners() -> None:
    """See that every owner's keys are in the vault.

    Raises:
        KeysUnavailable: some are missing, as when the vault's directory was lost or another one is used.
    """
    missing = len(owners_without_keys())
    if missing:
        raise KeysUnavailable(
            f"The key vault has no keys for {missing} owners of this database, so their texts cannot be read. Nothing "
            "was started or changed. Restore the vault together with its master key, or name the right one in "
            "LOCI_KEYS_DIR or KEYS_DATABASE_URL."
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
