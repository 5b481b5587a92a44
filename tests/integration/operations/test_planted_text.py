"""Nothing that somebody said stands in clear in the database files or in a dump."""

from __future__ import annotations

import secrets
import subprocess
from pathlib import Path

import psycopg
import pytest

from memory.text.tokens import term_frequencies
from runtime.postgres.provision import superuser_conninfo
from runtime.postgres.roles import BACKUP
from runtime.postgres.surroundings import server_environment
from tests.integration.operations.installation import Installation, printed_key

pytestmark = pytest.mark.slow


def word(kind: str) -> str:
    """Make a word that stands nowhere else, in capitals and with an ending that a stemmer cuts off."""
    letters = "".join(chr(ord("a") + int(digit, 16)) for digit in secrets.token_hex(6))
    return f"{kind.capitalize()}{letters}ings"


PLACES = ("text", "tag", "topic", "source", "speaker", "session", "agent", "tool", "call", "meta", "query", "label")


@pytest.fixture(scope="module")
def planted(running: Installation) -> dict[str, str]:
    """Store a word of its own in every place that takes text."""
    words = {place: word(place) for place in PLACES}
    made = running.run("agent", "create", words["agent"], "--label", words["label"])
    assert made.returncode == 0, made.stderr
    key = next(part for part in made.stdout.split() if part.startswith("loci_"))
    status, body = running.ask(
        "memories",
        {
            "text": f"She said {words['text']} twice, {words['text']}.",
            "tags": [words["tag"]],
            "topics": [words["topic"]],
            "source": f"user:{words['source']}/chat",
            "speaker": words["speaker"],
            "metadata": {"note": words["meta"]},
        },
        key=key,
    )
    assert status == 201, body
    turns = [
        {"role": "user", "text": f"About {words['text']} again.", "speaker": words["speaker"]},
        {
            "role": "tool",
            "text": f"Result for {words['text']}.",
            "tool_name": words["tool"],
            "call_id": words["call"],
        },
    ]
    status, body = running.ask("turns", {"session": words["session"], "turns": turns}, key=key)
    assert status in (200, 201), body
    status, body = running.ask("recall", {"query": f"{words['text']} and {words['query']}?"}, key=key)
    assert status == 200, body
    assert body["hits"], "the planted text must be there to be found"
    return words


def needles(words: dict[str, str]) -> set[bytes]:
    """Give each planted word as it was said, folded, and as the index's analyser makes it."""
    found: set[str] = set()
    for said in words.values():
        found |= {said, said.casefold(), said.upper()}
        found |= {term for term in term_frequencies(said) if len(term) > 8}
    return {needle.encode() for needle in found}


def test_the_analyser_makes_other_forms(planted: dict[str, str]) -> None:
    # Or the search below would look for less than it says.
    said = planted["text"]
    assert any(needle not in (said.encode(), said.casefold().encode()) for needle in needles({"text": said}))
    assert any(len(needle) < len(said) for needle in needles({"text": said}))


def test_no_planted_text_in_the_database_files(running: Installation, planted: dict[str, str]) -> None:
    cluster = running.cluster
    with psycopg.connect(superuser_conninfo(cluster.socket_directory), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    looked_at = 0
    for path in sorted(Path(cluster.data).rglob("*")):
        if path.is_file() and not path.is_symlink() and "server" not in path.relative_to(cluster.data).parts[:1]:
            content = path.read_bytes()
            looked_at += len(content)
            _assert_none(content, planted, str(path.relative_to(cluster.data)))
    assert looked_at > 1_000_000


def test_no_planted_text_in_a_dump(running: Installation, planted: dict[str, str]) -> None:
    cluster = running.cluster
    command = [str(cluster.binaries.program("pg_dump")), "--format=plain", "--inserts"]
    command += ["--host", str(cluster.socket_directory), "--port", "5432", "--username", BACKUP, "--dbname", "loci"]
    dump = subprocess.run(command, capture_output=True, env=server_environment(), check=True).stdout
    # The rows are in it, or nothing would be proved.
    assert b"INSERT INTO public.memory_memory " in dump
    assert b"enc:v1:" in dump
    _assert_none(dump, planted, "the dump")


def test_no_planted_text_in_the_log(running: Installation, planted: dict[str, str]) -> None:
    _assert_none(running.log.read_bytes(), planted, "what `up` has written")


def test_a_word_put_into_the_database_in_clear_is_found(running: Installation, planted: dict[str, str]) -> None:
    # The same search, on a value that is not encrypted: what it looks for, it finds.
    cluster = running.cluster
    mark = {"mark": word("mark")}
    with psycopg.connect(superuser_conninfo(cluster.socket_directory), autocommit=True) as connection:
        connection.execute("CREATE TABLE planted_in_clear AS SELECT %s::text AS value", [mark["mark"]])
        connection.execute("CHECKPOINT")
        files = [path for path in Path(cluster.directory, "base").rglob("*") if path.is_file()]
        assert any(needle in path.read_bytes() for path in files for needle in needles(mark))
        connection.execute("DROP TABLE planted_in_clear")


def _assert_none(content: bytes, words: dict[str, str], where: str) -> None:
    for place, said in words.items():
        for needle in needles({place: said}):
            assert needle not in content, f"the {place} stands in clear in {where}"


def test_the_first_key_is_not_stored(running: Installation, planted: dict[str, str]) -> None:
    key = printed_key(running.log.read_text())
    for path in Path(running.cluster.directory).rglob("*"):
        if path.is_file():
            assert key.encode() not in path.read_bytes(), path
