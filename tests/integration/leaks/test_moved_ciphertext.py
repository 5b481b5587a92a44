"""Sealed values in other places than their own, and damaged ones: none opens or is shown, and the answer says why."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection, transaction

from memory.crypto.keyring import keyring
from memory.errors import KeysUnavailable
from memory.models import EmbeddingSpace, Memory, TokenVectors, owner_scope
from memory.recall.token_blobs import open_tokens
from memory.services.keys.sealed_tables import TOKENS, sealed_tables
from memory.services.token_vectors import insert_token_vectors
from tests.integration.leaks.asking import send
from tests.integration.leaks.routes import routes
from tests.integration.leaks.world import World, undone

COLUMNS = [(table.model, column) for table in sealed_tables() for column in table.columns]
every_column = pytest.mark.parametrize(
    ("model", "column"), COLUMNS, ids=[f"{model.__name__}.{column}" for model, column in COLUMNS]
)
# What only consolidation writes: the same field class, in tables that stand empty here.
UNPLANTED = {"Reflection", "Claim"}
Change = Callable[[str], str]


def flipped(value: str, at: int) -> str:
    """Change one bit of what is sealed."""
    head, _, body = value.rpartition(":")
    raw = bytearray(base64.b64decode(body))
    raw[at] ^= 1
    return f"{head}:{base64.b64encode(bytes(raw)).decode()}"


DAMAGES: dict[str, Change] = {
    "first bit of the nonce": lambda value: flipped(value, 0),
    "a bit of the text": lambda value: flipped(value, 12),
    "last bit of the tag": lambda value: flipped(value, -1),
    "without its end": lambda value: value[:-8],
    "the prefix alone": lambda value: value[: value.rindex(":") + 1],
    "a later version": lambda value: value.replace("enc:v1:", "enc:v2:"),
    "version nought": lambda value: value.replace("enc:v1:", "enc:v0:"),
    "a huge version": lambda value: value.replace("enc:v1:", "enc:v999999999:"),
    "twice": lambda value: value + value,
    "without a prefix": lambda value: value.removeprefix("enc:v1:"),
    "plain text": lambda value: "written by somebody else",
    "nothing": lambda value: "",
}


def stored(model: Any, owner_id: UUID) -> Iterator[tuple[UUID, dict[str, str]]]:
    """Give the sealed columns of an owner's rows as they stand in the database."""
    columns = [column for one, column in COLUMNS if one is model]
    named = ", ".join(f'"{column}"' for column in columns)
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute(f'SELECT id, {named} FROM "{model._meta.db_table}" ORDER BY id')
        for row in cursor.fetchall():
            yield row[0], dict(zip(columns, row[1:], strict=True))


def put(model: Any, column: str, row_id: UUID, value: str, owner_id: UUID) -> None:
    """Write a value into the database as a thief who can write would."""
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute(f'UPDATE "{model._meta.db_table}" SET "{column}" = %s WHERE id = %s', [value, row_id])


def opens(model: Any, column: str, row_id: UUID, owner_id: UUID) -> bool:
    """Tell whether a stored value opens; what raises anything but KeysUnavailable is an error of its own."""
    with owner_scope(owner_id):
        row = model.objects.get(pk=row_id)
        try:
            getattr(row, column)
        except KeysUnavailable:
            return False
        return True


def a_value(world: World, model: Any, column: str) -> tuple[UUID, str]:
    """Give a row and a sealed value of it, sealing one where none is planted."""
    owner_id = world.owner.owner_id
    rows = list(stored(model, owner_id))
    if not rows:
        assert model.__name__ in UNPLANTED
        pytest.skip("no such row is planted")
    for row_id, values in rows:
        if values[column] is not None:
            return row_id, values[column]
    field = model._meta.get_field(column)
    with owner_scope(owner_id), transaction.atomic():
        row = model.objects.get(pk=rows[0][0])
        setattr(row, column, ["x"] if "JSON" in type(field).__name__ else "x")
        return row.pk, str(field.pre_save(row, False))


@every_column
def test_a_damaged_value_does_not_open(world: World, model: Any, column: str) -> None:
    row_id, value = a_value(world, model, column)
    with undone():
        put(model, column, row_id, value, world.owner.owner_id)
        assert opens(model, column, row_id, world.owner.owner_id)
        for name, damage in DAMAGES.items():
            put(model, column, row_id, damage(value), world.owner.owner_id)
            assert not opens(model, column, row_id, world.owner.owner_id), name


@every_column
def test_a_value_from_elsewhere_does_not_open(world: World, model: Any, column: str) -> None:
    """From another row, column, table, agent and owner; values of an owner-wide and of an agent's own row alike."""
    row_id, _ = a_value(world, model, column)
    sources = elsewhere(world, model, column, row_id)
    assert len(sources) > 20
    with undone():
        for name, value in sources:
            put(model, column, row_id, value, world.owner.owner_id)
            assert not opens(model, column, row_id, world.owner.owner_id), name


def elsewhere(world: World, model: Any, column: str, row_id: UUID) -> list[tuple[str, str]]:
    """List values of other places: two of each column of each owner, and all of the same table."""
    found = []
    for owner in (world.owner, world.other):
        for one, other in COLUMNS:
            values = [(pk, row[other]) for pk, row in stored_once(world, one, owner.owner_id) if row[other] is not None]
            same = one is model
            for pk, value in values if same else values[:2]:
                if not (same and other == column and pk == row_id):
                    found.append((f"{one.__name__}.{other} of {pk}", value))
    return found


_seen: dict[tuple[int, Any, UUID], list[tuple[UUID, dict[str, str]]]] = {}


def stored_once(world: World, model: Any, owner_id: UUID) -> list[tuple[UUID, dict[str, str]]]:
    """Read a table of the world once."""
    key = (id(world), model, owner_id)
    if key not in _seen:
        _seen[key] = list(stored(model, owner_id))
    return _seen[key]


def test_most_columns_are_planted(world: World) -> None:
    """The tables that stand empty in the planted world are few and known."""
    empty = {model.__name__ for model, _ in COLUMNS if not list(stored(model, world.owner.owner_id))}
    assert empty <= UNPLANTED
    assert len({model for model, _ in COLUMNS}) - len(empty) > 15


def test_a_value_moved_with_its_row_to_another_reader_does_not_open(world: World) -> None:
    """An agent's own memory made owner-wide behind the product's back stays closed, and the other way round."""
    for scope, visibility in (("agent", "owner"), ("owner", "agent")):
        memory = UUID(world.rows[scope]["memory"])
        with undone():
            with owner_scope(world.owner.owner_id), connection.cursor() as cursor:
                cursor.execute("UPDATE memory_memory SET visibility = %s WHERE id = %s", [visibility, memory])
            assert not opens(Memory, "text", memory, world.owner.owner_id)


def test_token_vectors_open_in_their_place_only(world: World) -> None:
    owner_id = world.owner.owner_id
    with undone(), owner_scope(owner_id):
        rows = list(Memory.objects.filter(pk__in=[world.rows[name]["memory"] for name in ("owner", "squad", "agent")]))
        matrices = [np.full((3, 48), place + 1, dtype=np.int8) for place, _ in enumerate(rows)]
        insert_token_vectors(rows, matrices, space_id=EmbeddingSpace.objects.get().pk, reduction=b"\1\2\3\4")
        sealed = {row.memory_id: (bytes(row.sealed), row.space_id) for row in TokenVectors.objects.all()}
        assert len(sealed) == 3
        for row in rows:
            value, space = sealed[row.pk]
            assert tokens_open(row, value, space)
            assert not tokens_open(row, value, space + 1)
            others = [one for memory_id, (one, _) in sealed.items() if memory_id != row.pk]
            bit = bytes([*value[:20], value[20] ^ 1, *value[21:]])
            for wrong in (*others, value[:-1], value[:20], b"", b"\0" * 60, value[::-1], bit, value[:-4] + b"\0" * 4):
                assert not tokens_open(row, wrong, space)


def tokens_open(row: Memory, value: bytes, space: int) -> bool:
    """Tell whether sealed token vectors open for a memory and a space."""
    ring, agent_id = keyring().of(row.owner_id), row.sealing_agent_id
    try:
        open_tokens(value, ring=ring, memory_id=row.pk, space_id=space, agent_id=agent_id, width=48)
    except KeysUnavailable:
        return False
    return True


@pytest.mark.parametrize("damage", ["a bit of the text", "plain text"])
def test_no_answer_shows_a_value_that_does_not_open(world: World, damage: str) -> None:
    """With every sealed value of the owner spoilt, every endpoint answers with a code and without a piece of one."""
    owner_id = world.owner.owner_id
    codes = set()
    with undone():
        pieces = spoil(owner_id, DAMAGES[damage])
        assert pieces
        for route in routes():
            answer = send(world.readers["person"], route, world.rows["owner"])
            assert answer.status != 500, answer
            assert "enc:v" not in answer.content, answer
            assert "written by somebody else" not in answer.content, answer
            assert not [piece for piece in pieces if piece in answer.content], answer
            codes.add(answer.code)
    assert "keys.unavailable" in codes


def spoil(owner_id: UUID, damage: Change) -> set[str]:
    """Damage every sealed value of an owner; gives pieces of what stands there then."""
    pieces = set()
    for model, column in COLUMNS:
        for row_id, values in list(stored(model, owner_id)):
            if values[column] is not None:
                worse = damage(values[column])
                put(model, column, row_id, worse, owner_id)
                pieces.add(worse.rpartition(":")[2][:24])
    return pieces


def test_the_token_table_is_the_only_one_of_bytes() -> None:
    assert TOKENS == "memory_tokenvectors"
