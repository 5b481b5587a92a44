"""What is done before anything is served, by `up` and by `prepare` alike, and what a first owner is told."""

from __future__ import annotations

from config import serving
from memory.management import preparation
from memory.management.own_server import refuse_unfit_server
from memory.management.preparation import Say
from memory.management.replaying import replay_after_restore
from memory.services.accounts import FirstOwner
from memory.services.key_places import key_findings
from memory.services.schema import schema_state


def make_ready(say: Say) -> None:
    """Check server and keys, bring the schema up to date, erase again after a restore, and make what serving needs.

    Takes a second where all is in place; the first time the migrations, and some seconds for the embedding model.

    Args:
        say: is given a line for each thing done that takes a while, and for each warning.

    Raises:
        RuntimeFault: the server is not fit, or the database was changed by a newer version; it was not touched.
        KeysUnavailable: the vault is gone, does not open, or lacks keys of owners.
        django.db.DatabaseError: the database cannot be asked or changed.
    """
    refuse_unfit_server(migrating=bool(schema_state().pending))
    preparation.refuse_lost_vault()
    preparation.check_vault()
    preparation.bring_schema_up_to_date(say)
    # Before owners are compared with the vault: those who were purged are in a restored database, without keys.
    replay_after_restore(say)
    preparation.check_owners(say)
    for finding in key_findings(serving.master_key_file()):
        if finding.status != "ok":
            say(f"Warning: {finding.detail} {finding.remedy}")
    preparation.build_model(say)
    preparation.make_static_directory()


def secrets_of(first: FirstOwner) -> list[str]:
    """Give the lines with which a first owner is shown login, password and agent key, once."""
    return [
        f"  Login      {first.username}",
        f"  Password   {first.password}",
        f"  Agent key  {first.key.secret}",
    ]
