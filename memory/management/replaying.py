"""Erasing again after a restore what was erased since the backup: at once where that can be done, else at `up`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from django.db import DatabaseError, connections

from memory.errors import LociError
from memory.services.amounts import owners
from memory.services.purge.older_database import is_older_than_ledger
from memory.services.purge.replay import Replayed, replay
from memory.services.schema import schema_state
from runtime.paths import data_directory

MARK: Final = "purges-to-replay"
BY_HAND: Final = "python3 manage.py purge replay"

Say = Callable[[str], None]


def mark_restore() -> None:
    """Note on the disk that a restore has begun, so that the purges are replayed however it ends.

    The note stays where the restore fails: replaying purges in the database that they were made in does nothing.
    """
    _mark().touch(mode=0o600)


def replay_after_restore(say: Say) -> None:
    """Replay the purges where the database is older than their ledger, and say what came of it.

    That is so after a `db restore`, which notes it, and after any other restore, which the database shows by what it
    does not know. What fails is tried again at `up`.
    """
    marked = _mark().exists()
    later = f"That is done when `up` starts, or by `{BY_HAND}`."
    try:
        state = schema_state()
        if not marked and (state.pending or state.unknown or not is_older_than_ledger()):
            return
        if state.pending or state.unknown:
            say(f"What was erased since the backup has to be erased again. {later}")
            return
        done = replay()
    except LociError as error:
        say(f"What was erased since the backup could not be erased again ({error.machine_code}). {later}")
        return
    except DatabaseError as error:
        say(f"What was erased since the backup could not be erased again ({type(error).__name__}). {later}")
        return
    finally:
        connections.close_all()
    if done.failed:
        say(f"{described(done)} {later}")
        return
    _mark().unlink(missing_ok=True)
    if done != Replayed():
        say(described(done))


def described(done: Replayed) -> str:
    """Say in a sentence or two what was erased again."""
    counts = {
        ("owner", "owners"): done.owners,
        ("agent", "agents"): done.agents,
        ("memory", "memories"): done.memories,
        ("source", "sources"): done.sources,
    }
    what = ", ".join(f"{count} {names[count != 1]}" for names, count in counts.items() if count) or "nothing"
    line = f"Erased again what the purge ledger names: {what}."
    if done.failed:
        codes = ", ".join(sorted(done.failed))
        line += f" Of {owners(sum(done.failed.values()))} it could not be erased ({codes})."
    return line


def _mark() -> Path:
    return data_directory() / MARK
