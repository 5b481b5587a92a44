"""What the database's own wall stops, claim by claim, for somebody who writes SQL as the application's role.

And what it does not stop: whoever has that role may name any owner. The claims stand in docs/security.md, "Two walls".
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from memory.models import AgentKey, owner_scope
from memory.services.agents import _digest
from tests.integration.leaks.world import World, undone

# Tables with an owner's id that everybody may look into, each with the reason.
OPEN = {
    "memory_duework": "ids and times only; workers read it to find whose work is due",
    "memory_spacefill": "ids, counts and times only; health and operators see how far the whole is",
}


@contextmanager
def told(owner_id: object) -> Iterator[None]:
    """Tell the database an owner by hand, as SQL of a stranger could, and undo everything."""
    with undone(), connection.cursor() as cursor:
        cursor.execute("SELECT set_config('loci.owner', %s, true)", [str(owner_id)])
        yield


def rows(sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Run a statement in a savepoint and give its rows."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(sql, list(parameters))
        found: list[tuple[Any, ...]] = cursor.fetchall() if cursor.description else [(cursor.rowcount,)]
        return found


def owned_tables(kinds: str = "rp") -> list[str]:
    """List every table and partition with an owner's id, from the catalogue."""
    found = rows(
        """SELECT c.relname FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'owner_id' AND NOT a.attisdropped
        WHERE c.relkind = ANY(%s) AND c.relnamespace = 'public'::regnamespace ORDER BY 1""",
        list(kinds),
    )
    return [name for (name,) in found if name not in OPEN]


def filled(world: World) -> dict[str, int]:
    """Count the first owner's rows in every table, seen as that owner."""
    with told(world.owner.owner_id):
        return {table: rows(f'SELECT count(*) FROM "{table}" WHERE owner_id = %s', world.owner.owner_id)[0][0]
                for table in owned_tables()}  # fmt: skip


def test_the_tables_are_not_empty(world: World) -> None:
    counts = filled(world)
    assert len(counts) > 70, "the partitions too"
    assert len([table for table, count in counts.items() if count]) > 30


@pytest.mark.parametrize("setting", ["other", "", "00000000-0000-0000-0000-000000000000"])
def test_another_owner_sees_changes_and_deletes_nothing(world: World, setting: str) -> None:
    """SELECT, UPDATE and DELETE, in every table, and with a partition named directly."""
    with told(world.other.owner_id if setting == "other" else setting):
        for table in owned_tables():
            mine = "owner_id = %s"
            assert rows(f'SELECT count(*) FROM "{table}" WHERE {mine}', world.owner.owner_id) == [(0,)], table
            assert touched(f'UPDATE "{table}" SET owner_id = owner_id WHERE {mine}', world) == 0, table
            assert touched(f'DELETE FROM "{table}" WHERE {mine}', world) == 0, table
    with told(world.owner.owner_id):
        assert rows("SELECT count(*) > 20 FROM memory_memory") == [(True,)]


def touched(sql: str, world: World) -> int:
    """Give how many rows a statement changed; a statement that no role may make changes none."""
    try:
        return int(rows(sql, world.owner.owner_id)[0][0])
    except DatabaseError as error:
        assert "permission denied" in str(error) or "loci" in str(error).lower(), error
        return 0


def test_no_row_can_be_written_for_another_owner(world: World) -> None:
    """INSERT of one's own rows under another owner's name, and UPDATE that gives a row away."""
    tried = 0
    with told(world.other.owner_id):
        for table in owned_tables():
            if rows(f'SELECT count(*) FROM "{table}"') == [(0,)]:
                continue
            given_away = "(jsonb_populate_record(t, jsonb_build_object('owner_id', %s::text))).*"
            for sql in (
                f'INSERT INTO "{table}" SELECT {given_away} FROM "{table}" t',
                f'UPDATE "{table}" SET owner_id = %s',
            ):
                tried += 1
                with pytest.raises(DatabaseError) as refused:
                    rows(sql, str(world.owner.owner_id))
                said = str(refused.value)
                # A partition that is named directly may first notice that the owner belongs to another one.
                refusals = ("row-level security", "append", "audit", "denied", "partition constraint")
                assert any(word in said for word in refusals), (table, said)
    assert tried > 60


def test_a_reference_to_a_row_of_another_owner_is_refused(world: World) -> None:
    """A foreign key is checked together with the owner, so a stranger's id refers to nothing."""
    memory = world.rows["owner"]["memory"]
    with told(world.other.owner_id), pytest.raises(DatabaseError, match="foreign key"):
        rows("UPDATE memory_memorysource SET memory_id = %s", memory)


def test_without_an_owner_nothing_is_there(world: World) -> None:
    with undone():
        rows("SELECT set_config('loci.owner', '', true)")
        for table in owned_tables():
            assert rows(f'SELECT count(*) FROM "{table}"') == [(0,)], table


def test_a_setting_that_is_no_id_is_an_error_and_shows_nothing(world: World) -> None:
    for wrong in ("*", "%", "' OR true --", str(world.owner.owner_id)[:-1]):
        with told(wrong), pytest.raises(DatabaseError, match="uuid"):
            rows("SELECT * FROM memory_memory")


def test_no_trick_widens_the_policy(world: World) -> None:
    """Functions that leak through errors, other schemas, cursors and plans see what the policy lets through only."""
    with told(world.other.owner_id):
        # The division would fail at the first row of another owner that it gets to see.
        assert rows("SELECT count(*) > 0 FROM memory_memory WHERE 1 / (owner_id = %s)::int = 1",
                    world.other.owner_id) == [(True,)]  # fmt: skip
        for sql in (
            "SET LOCAL row_security = off",
            "SET ROLE loci_owner",
            "SET SESSION AUTHORIZATION loci_owner",
            "ALTER TABLE memory_memory DISABLE ROW LEVEL SECURITY",
            "ALTER TABLE memory_memory NO FORCE ROW LEVEL SECURITY",
            "DROP POLICY only_the_owner ON memory_memory",
            "CREATE POLICY mine ON memory_memory USING (true)",
            "CREATE TABLE public.copied (x int)",
            "COPY memory_memory TO PROGRAM 'cat'",
            "SELECT pg_read_file('PG_VERSION')",
        ):
            try:
                rows(sql)
            except DatabaseError:
                continue
            # What may be said changes nothing: with the rows refused, reading them is an error.
            with pytest.raises(DatabaseError, match="row-level security"):
                rows("SELECT * FROM memory_memory")


def test_the_look_up_of_a_key_gives_one_key_for_one_digest(world: World) -> None:
    """`loci_find_key` runs with its owner's rights: it tells ids for a digest, to whoever knows the key itself."""
    with owner_scope(world.owner.owner_id):
        key = AgentKey.objects.filter(agent_id=world.insider.agent_id).first()
        assert key is not None
        digest, key_id = bytes(key.digest), key.pk
    with told(world.other.owner_id):
        assert rows("SELECT * FROM loci_find_key(%s)", digest) == [(world.owner.owner_id, key_id)]
        wrong: list[Any] = [b"", digest[:-1], digest + b"\0", _digest("loci_x"), None, bytes(32), b"%"]
        for presented in wrong:
            assert rows("SELECT * FROM loci_find_key(%s)", presented) == []


def test_functions_of_the_owning_role_are_few_and_bounded(world: World) -> None:
    """Each function that runs with more rights than its caller is known here, with a search path of its own."""
    found = rows(
        """SELECT proname, proconfig FROM pg_proc
        WHERE prosecdef AND pronamespace = 'public'::regnamespace ORDER BY 1"""
    )
    assert {name for name, _ in found} == {"loci_find_key", "loci_index_space"}
    assert all(any(entry.startswith("search_path=pg_catalog") for entry in config) for _, config in found)


def test_whoever_has_the_role_may_name_any_owner(world: World) -> None:
    """What the wall does not stop: the setting is trusted. What it shows then is ciphertext."""
    with told(world.owner.owner_id):
        texts = [text for (text,) in rows("SELECT text FROM memory_memory")]
    assert len(texts) > 20
    assert all(text.startswith("enc:v1:") for text in texts)


def test_what_everybody_may_look_into_holds_ids_and_times_only(world: World) -> None:
    for table in (*OPEN, "memory_owner", "memory_purge"):
        columns = rows("SELECT column_name, data_type FROM information_schema.columns WHERE table_name = %s", table)
        texts = {name for name, kind in columns if kind in ("text", "character varying", "jsonb", "bytea")}
        assert texts <= {"job", "subject", "target", "state", "stage", "position", "expected", "erased", "samples",
                         "requested_by", "error_code", "token_digest", "receipt", "proof"}, table  # fmt: skip
