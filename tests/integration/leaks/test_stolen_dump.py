"""A dump in the hands of a thief without the keys: no word in any encoding, and no dictionary that fits."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import subprocess
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from django.db import connections
from pytest_django.plugin import DjangoDbBlocker

from memory.crypto.keyring import keyring
from memory.models import LexPosting, owner_scope
from memory.services.drafts import Draft
from memory.services.remember import remember
from memory.text.tokens import term_frequencies
from runtime.postgres.cluster import Cluster
from runtime.postgres.roles import BACKUP
from runtime.postgres.surroundings import server_environment
from tests.gatherers import written_when_asked
from tests.integration.leaks.conftest import emptied
from tests.integration.leaks.encodings import forms, personal_data, standing_in
from tests.integration.leaks.world import LURE, MARKS, PLANTED, SCOPES, World, make_world

COMMON = f"the {LURE} whistles in the morning and the cat wants breakfast"
QUESTION = "xqaskedquestion"
FILE = "xqfilename"


@dataclass(frozen=True, slots=True)
class Stolen:
    """The dump, the ids that stand in it, and what the thief does not have: what was said."""

    dump: bytes
    world: World
    terms: dict[UUID, set[int]]


@pytest.fixture(scope="module")
def stolen(django_db_setup: None, django_db_blocker: DjangoDbBlocker, cluster: Cluster) -> Iterator[Stolen]:
    """Plant both owners for good, ask and write under keys, and dump the database as a backup does."""
    with written_when_asked(), django_db_blocker.unblock():
        try:
            world = make_world()
            for owner in (world.owner, world.other):
                remember(actor=owner, draft=Draft(text=COMMON))
                for text, _ in personal_data().values():
                    remember(actor=owner, draft=Draft(text=text, source=f"file:{FILE}/{FILE}.md"))
            insider = world.readers["insider"].client
            for path, body in (
                ("/recall", {"query": f"{QUESTION} {LURE}"}),
                ("/memories", {"text": f"{MARKS['owner']}guess"}),
            ):
                answer = insider.json("post", path, body, **{"Idempotency-Key": "xqidempotent"})
                assert answer.status_code < 300, answer.content
            terms = {}
            for actor in (world.owner, world.other):
                with owner_scope(actor.owner_id):
                    terms[actor.owner_id] = set(LexPosting.objects.values_list("term", flat=True))
            yield Stolen(dumped(cluster), world, terms)
        finally:
            emptied()


def dumped(cluster: Cluster) -> bytes:
    """Dump the tests' database with the role that makes backups."""
    command = [str(cluster.binaries.program("pg_dump")), "--format=plain", "--inserts", "--username", BACKUP]
    command += ["--host", str(cluster.socket_directory), "--port", "5432"]
    command += ["--dbname", str(connections["default"].settings_dict["NAME"])]
    return subprocess.run(command, capture_output=True, env=server_environment(), check=True).stdout


def said() -> set[str]:
    """List every word that was planted, the questions, the name of the file and all personal data."""
    words = {MARKS[scope] + kind for scope in SCOPES for kind in (*PLANTED, "question", "guess")}
    words |= {f"{MARKS['admin']} {kind}" for kind in ("squad", "project", "insider", "key", "label")}
    return words | {QUESTION, FILE, "xqidempotent", LURE} | {value for _, value in personal_data().values()}


def test_every_form_is_found_where_it_stands() -> None:
    """The search is not blind: what it looks for in a dump, it finds in one."""
    for shift in range(3):
        around = b"a" * shift + b"xqownertext" + b"b" * 2
        for content in (around, base64.b64encode(around), base64.urlsafe_b64encode(around), around.hex().encode()):
            assert standing_in(b"x" + content, {"xqownertext"}) == {"xqownertext"}
    for coded in ("utf-16-le", "utf-16-be"):
        assert standing_in("ein Xqownertext".encode(coded), {"xqownertext"}) == {"xqownertext"}
    assert len(list(forms("xqownertext"))) > 30
    assert len(personal_data()) >= 14


def test_the_dump_holds_the_rows(stolen: Stolen) -> None:
    assert stolen.dump.count(b"INSERT INTO public.memory_memory ") > 80
    assert stolen.dump.count(b"enc:v1:") > 300
    assert str(stolen.world.owner.owner_id).encode() in stolen.dump
    assert b"INSERT INTO public.memory_idempotencyrecord " in stolen.dump


def test_no_word_stands_in_it_in_any_encoding(stolen: Stolen) -> None:
    assert standing_in(stolen.dump, said()) == set()
    assert not [mark for mark in MARKS.values() if mark.encode() in stolen.dump.lower()]


def test_no_word_stands_in_what_its_blobs_decode_to(stolen: Stolen) -> None:
    """Once more inside everything that looks like hex, base64 or compressed bytes."""
    inner = bytearray()
    for blob in re.findall(rb"\\\\x([0-9a-f]{8,})|\\x([0-9a-f]{8,})", stolen.dump):
        inner += bytes.fromhex((blob[0] or blob[1]).decode()[: len(blob[0] or blob[1]) // 2 * 2]) + b"\n"
    for blob in re.findall(rb"[A-Za-z0-9+/_-]{16,}={0,2}", stolen.dump):
        text = blob.translate(bytes.maketrans(b"-_", b"+/"))
        text = text.rstrip(b"=")[: len(text.rstrip(b"=")) // 4 * 4]
        decoded = base64.b64decode(text)
        inner += decoded + b"\n" + inflated(decoded)
    assert len(inner) > 100_000
    assert standing_in(bytes(inner), said()) == set()


def inflated(blob: bytes) -> bytes:
    try:
        return zlib.decompress(blob)
    except zlib.error:
        return b""


def test_the_same_word_of_two_owners_is_two_terms(stolen: Stolen) -> None:
    first, second = (stolen.terms[actor.owner_id] for actor in (stolen.world.owner, stolen.world.other))
    assert len(first) > 100
    assert len(second) > 50
    assert first & second == set()


def numbers_in(dump: bytes) -> set[int]:
    """List every number in a dump that could be a keyed hash."""
    return {int(number) for number in re.findall(rb"-?\b\d{12,20}\b", dump)}


def secrets_in(dump: bytes) -> list[bytes]:
    """List what a thief would try as a key: nothing, and every id and every digest of the dump."""
    ids = {UUID(one.decode()).bytes for one in re.findall(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", dump)}
    blobs = {bytes.fromhex(one.decode()) for one in re.findall(rb"\\x([0-9a-f]{64})'", dump)}
    return [b"", *sorted(ids), *sorted(blobs)]


def test_no_dictionary_fits(stolen: Stolen) -> None:
    """The whole vocabulary, hashed in the product's own way under everything that stands in the dump, hits nothing.

    The hashes are those of the index, the names and the contents; as a check of the attack, the right key hits.
    """
    vocabulary = sorted(term_frequencies(COMMON))[:6]
    numbers = numbers_in(stolen.dump)
    keys = secrets_in(stolen.dump)
    assert len(numbers) > 300
    assert len(keys) > 500
    hits = [word for key, word in product(keys, vocabulary) if signed(word, key) in numbers]
    assert hits == []
    owner = stolen.world.owner.owner_id
    right = keyring().of(owner)._purpose_key("words")
    assert all(signed(word, right) in numbers for word in vocabulary)


def signed(word: str, key: bytes) -> int:
    """Hash a word as the index does."""
    return int.from_bytes(blake2b(word.encode(), key=key[:64], digest_size=8).digest(), "big", signed=True)


def test_no_plain_digest_of_what_was_said_stands_in_it(stolen: Stolen) -> None:
    """A guess of a whole text, of a request or of a name cannot be tried against any digest of the dump."""
    text = f"{MARKS['owner']}guess"
    request: list[Any] = ["POST", "/api/v1/memories", None, {"text": text}, True]
    bodies = [text, COMMON, "xqidempotent", "idempotency xqidempotent", json.dumps(request, sort_keys=True)]
    bodies += ["request " + json.dumps(request, sort_keys=True), *(value for _, value in personal_data().values())]
    ids = [b"", stolen.world.owner.owner_id.bytes, str(stolen.world.owner.owner_id).encode()]
    for body, salt in product(bodies, ids):
        for name in ("md5", "sha1", "sha256", "sha512", "blake2b", "blake2s", "sha3_256"):
            plain = hashlib.new(name, salt + body.encode()).hexdigest()
            keyed = hmac.new(salt, body.encode(), name).hexdigest()
            for digest in (plain, keyed, plain[:32], keyed[:32]):
                assert digest.encode() not in stolen.dump, (name, body)


def test_names_of_logins_stand_in_clear(stolen: Stolen) -> None:
    """What the page on security says remains: a login's name is no secret to a thief."""
    assert b"'first'" in stolen.dump
