"""Bad input: each gets a clear 4xx with a code, and nothing is half written."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from memory.models import LexPosting, Memory, MemorySource, PendingVector, owner_scope
from memory.services.actors import Actor, Permission
from tests.integration.api.conftest import API, Client, client_of, problem, remember

KIB = 1024
BAD_TEXTS: list[tuple[str, Any, int, str]] = [
    ("empty", "", 422, "text.empty"),
    ("blank", " \t\n  ", 422, "text.empty"),
    ("invisible", "\u200b\u2060\ufeff", 422, "text.empty"),
    ("too large", "x" * (256 * KIB + 1), 413, "text.too_large"),
    ("too large in bytes", "\N{SNOWMAN}" * (86 * KIB), 413, "text.too_large"),
    ("one word repeated", "bla " * 125_000, 413, "text.too_large"),
    ("NUL", "Acme moved\x00 to Shenzhen", 422, "text.nul"),
    ("control character", "ding \x07", 422, "text.control"),
    ("C1 control character", "next\x85line", 422, "text.control"),
    ("number", 7, 422, "field.type"),
    ("truth value", True, 422, "field.type"),
    ("null", None, 422, "field.null"),
    ("list", ["text"], 422, "field.type"),
    ("object", {"text": "text"}, 422, "field.type"),
]


def nothing_written(actor: Actor) -> None:
    with owner_scope(actor.owner_id):
        for model in (Memory, MemorySource, LexPosting, PendingVector):
            assert not model.objects.exists(), model


def send(client: Client, raw: Any, content_type: str = "application/json", path: str = "/memories") -> Any:
    return client.generic("POST", f"{API}{path}", raw, content_type=content_type)


@pytest.mark.parametrize(("text", "status", "code"), [case[1:] for case in BAD_TEXTS], ids=[c[0] for c in BAD_TEXTS])
def test_texts_that_cannot_be_stored(agent: Client, text: Any, status: int, code: str) -> None:
    problem(agent.json("post", "/memories", {"text": text}), status, code)
    body = problem(agent.json("post", "/memories/batch", {"items": [{"text": text}]}), 422, "batch.nothing_stored")
    assert body["results"][0]["error"]["code"] == code
    body = problem(
        agent.json("post", "/turns", {"session": "s", "turns": [{"text": text}]}), 422, "batch.nothing_stored"
    )
    assert body["results"][0]["error"]["code"] == code
    nothing_written(agent.actor)
    memory = remember(agent, "sound")
    problem(agent.json("patch", f"/memories/{memory}", {"text": text}), status, code)
    assert agent.json("get", f"/memories/{memory}").json()["text"] == "sound"
    assert agent.json("get", f"/memories/{memory}/history").json()["items"] == []


@pytest.mark.parametrize("member", ["text", "speaker", "source", "category", "tags", "metadata", "session", "query"])
def test_half_a_surrogate_pair_is_refused_wherever_it_stands(agent: Client, member: str) -> None:
    half = "\\ud800"
    bodies = {
        "text": ("/memories", f'{{"text": "{half}"}}'),
        "speaker": ("/memories", f'{{"text": "x", "speaker": "{half}"}}'),
        "source": ("/memories", f'{{"text": "x", "source": "{half}"}}'),
        "category": ("/memories", f'{{"text": "x", "category": "{half}"}}'),
        "tags": ("/memories", f'{{"text": "x", "tags": ["{half}"]}}'),
        "metadata": ("/memories", f'{{"text": "x", "metadata": {{"{half}": 1}}}}'),
        "session": ("/turns", f'{{"session": "{half}", "turns": [{{"text": "x"}}]}}'),
        "query": ("/recall", f'{{"query": "{half}"}}'),
    }
    path, raw = bodies[member]
    response = send(agent, raw, path=path)
    if member == "category":
        # An unknown category is no error; it becomes the default one, and the name is not kept.
        assert response.status_code == 201
        return
    problem(response, 422, "metadata.invalid" if member == "metadata" else "text.surrogate")
    nothing_written(agent.actor)


def test_an_unknown_member_with_half_a_surrogate_pair_can_still_be_named(agent: Client) -> None:
    body = problem(send(agent, '{"text": "x", "\\udfff": 1}'), 422, "field.unknown")
    assert body["field"] == "?"


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (b'{"text": "x"', 400, "json.malformed"),
        (b"{'text': 'x'}", 400, "json.malformed"),
        (b'{"text": "x"} and more', 400, "json.malformed"),
        (b'\xff\xfe{"text": "x"}', 400, "json.malformed"),
        (b'{"text": "x", "importance": NaN}', 400, "json.number"),
        (b'{"text": "x", "importance": -Infinity}', 400, "json.number"),
        (b'{"text": "x", "importance": 1e999}', 400, "json.number"),
        (b'{"text": "x", "metadata": {"n": ' + b"9" * 5000 + b"}}", 400, "json.number"),
        (b'{"text": "x", "text": "y"}', 400, "json.duplicate_name"),
        (b'{"text": "x", "metadata": ' + b'{"a":' * 40 + b"1" + b"}" * 41, 400, "json.too_deep"),
        (b"[" * 60_000, 400, "json.too_deep"),
        (b'[{"text": "x"}]', 400, "json.not_an_object"),
        (b'"text"', 400, "json.not_an_object"),
        (b"null", 400, "json.not_an_object"),
        (b"", 422, "field.required"),
        (b"  \n ", 422, "field.required"),
        (b"{}", 422, "field.required"),
    ],
)
def test_bodies_that_are_not_the_json_expected(agent: Client, raw: bytes, status: int, code: str) -> None:
    problem(send(agent, raw), status, code)
    nothing_written(agent.actor)


@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "x" * 300,
    ],
)
def test_only_json_is_taken(agent: Client, content_type: str) -> None:
    problem(send(agent, b'{"text": "x"}', content_type), 415, "content_type.unsupported")
    nothing_written(agent.actor)


def test_a_character_set_may_be_named(agent: Client) -> None:
    assert send(agent, b'{"text": "x"}', "application/json; charset=utf-8").status_code == 201


def test_a_body_beyond_the_limit_is_refused(agent: Client) -> None:
    raw = b'{"memories": [' + b" " * (32 * KIB * KIB) + b"]}"
    problem(send(agent, raw, path="/import"), 413, "body.too_large")
    nothing_written(agent.actor)


@pytest.mark.parametrize("value", [-0.01, 1.01, 10**400, -1, 5])
@pytest.mark.parametrize("name", ["importance", "confidence"])
def test_numbers_outside_of_their_range(agent: Client, name: str, value: float) -> None:
    status, code = (422, "field.type") if value == 10**400 else (422, f"{name}.out_of_range")
    problem(agent.json("post", "/memories", {"text": "x", name: value}), status, code)
    nothing_written(agent.actor)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"importance": "0.5"}, "field.type"),
        ({"importance": True}, "field.type"),
        ({"kind": "opinion"}, "kind.invalid"),
        ({"kind": "turn"}, "kind.invalid"),
        ({"kind": ["note"]}, "kind.invalid"),
        ({"tier": "working"}, "tier.invalid"),
        ({"summary_level": "yearly"}, "summary_level.invalid"),
        ({"tags": "tag"}, "field.type"),
        ({"tags": [7]}, "field.type"),
        ({"tags": ["t"] * 51}, "tags.too_many"),
        ({"tags": [""]}, "tags.invalid"),
        ({"tags": ["tea", " \u200b "]}, "tags.invalid"),
        ({"topics": [""]}, "topics.invalid"),
        ({"tags": ["ding \x07"]}, "text.control"),
        ({"metadata": {"a\x00b": 1}}, "metadata.invalid"),
        ({"metadata": {"a": "\x00"}}, "metadata.invalid"),
        ({"metadata": {"a": [1, {"b": ["deep\x00"]}]}}, "metadata.invalid"),
        ({"source": 7}, "field.type"),
        ({"metadata": []}, "field.type"),
        ({"metadata": "x"}, "field.type"),
        ({"category": 7}, "field.type"),
        ({"category": "x" * 65}, "category.too_long"),
        ({"occurred_at": "yesterday"}, "date.invalid"),
        ({"occurred_at": "2026-13-01"}, "date.invalid"),
        ({"occurred_at": 1700000000}, "date.invalid"),
        ({"occurred_at": "1899-12-31T23:59:59Z"}, "date.out_of_range"),
        ({"occurred_at": "2200-01-01"}, "date.out_of_range"),
        ({"expires_at": "9999-12-31T23:59:59-12:00"}, "date.out_of_range"),
        ({"occurred_at": "0001-01-01T00:00:00+14:00"}, "date.out_of_range"),
        ({"valid_from": "2026-02-01", "valid_until": "2026-01-01"}, "date.order"),
        ({"id": str(uuid4())}, "field.unknown"),
        ({"owner_id": str(uuid4())}, "field.unknown"),
        ({"scope": ""}, "scope.invalid"),
        ({"scope": None}, "scope.invalid"),
        ({"scope": "*"}, "scope.invalid"),
        ({"scope": []}, "scope.invalid"),
        ({"scope": ["owner"]}, "scope.invalid"),
        ({"scope": {"squad": 1}}, "scope.invalid"),
        ({"scope": "owner:x"}, "scope.invalid"),
        ({"scope": "squad:"}, "scope.invalid"),
        ({"scope": 7}, "scope.invalid"),
    ],
)
def test_fields_that_cannot_be_used(agent: Client, fields: dict[str, Any], code: str) -> None:
    problem(agent.json("post", "/memories", {"text": "x", **fields}), 422, code)
    nothing_written(agent.actor)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"metadata": {"x": "y" * 17_000}}, "metadata.too_large"),
        ({"tags": ["x" * 201]}, "tags.too_long"),
        ({"source": "x" * 201}, "source.too_long"),
    ],
)
def test_fields_that_are_too_large(agent: Client, fields: dict[str, Any], code: str) -> None:
    problem(agent.json("post", "/memories", {"text": "x", **fields}), 413, code)
    nothing_written(agent.actor)


def test_all_errors_of_a_body_are_named_together(agent: Client) -> None:
    body = problem(
        agent.json("post", "/memories", {"colour": "crimson", "importance": 2, "kind": "x"}), 422, "field.unknown"
    )
    assert [(error["field"], error["code"]) for error in body["errors"]] == [
        ("colour", "field.unknown"),
        ("text", "field.required"),
        ("kind", "kind.invalid"),
        ("importance", "importance.out_of_range"),
    ]
    assert "crimson" not in json.dumps(body)


@pytest.mark.parametrize(
    ("scope", "code"),
    [
        ("", "scope.invalid"),
        (None, "scope.invalid"),
        ("*", "scope.invalid"),
        ([], "scope.invalid"),
        ([None], "scope.invalid"),
        (["owner", "*"], "scope.invalid"),
        (["owner"] * 51, "scope.invalid"),
        ({}, "scope.invalid"),
    ],
)
@pytest.mark.parametrize("path", ["/recall", "/context"])
def test_scopes_that_cannot_be_read(agent: Client, path: str, scope: Any, code: str) -> None:
    remember(agent, "Kyoto is old.")
    problem(agent.json("post", path, {"query": "Kyoto", "scope": scope}), 422, code)


def test_an_unknown_category_becomes_general_and_is_noted(agent: Client) -> None:
    response = agent.json("post", "/memories", {"text": "x", "category": "gossip"})
    assert response.status_code == 201
    assert [note["code"] for note in response.json()["notes"]] == ["category.unknown"]
    assert agent.json("get", f"/memories/{response.json()['id']}").json()["category"] == "general"


@pytest.mark.parametrize("blank", ["", "  "])
def test_a_blank_category_is_general(agent: Client, blank: str) -> None:
    response = agent.json("post", "/memories", {"text": "x", "category": blank})
    assert response.json()["notes"] == []
    memory = response.json()["id"]
    assert agent.json("get", f"/memories/{memory}").json()["category"] == "general"
    agent.json("patch", f"/memories/{memory}", {"category": "project"})
    assert agent.json("patch", f"/memories/{memory}", {"category": blank}).json()["category"] == "general"


@pytest.mark.parametrize("raw", ['{"\\ud800": 1}', '{"a": "\\udfff"}', '{"a": {"b": ["\\ud800"]}}'])
def test_metadata_with_half_a_surrogate_pair_is_refused(agent: Client, raw: str) -> None:
    problem(send(agent, f'{{"text": "x", "metadata": {raw}}}'), 422, "metadata.invalid")
    memory = remember(agent, "sound", metadata={"a": 1})
    response = agent.generic(
        "PATCH", f"{API}/memories/{memory}", f'{{"metadata": {raw}}}', content_type="application/json"
    )
    problem(response, 422, "metadata.invalid")
    assert agent.json("get", f"/memories/{memory}").json()["metadata"] == {"a": 1}


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("2026-01-02T15:04:05", "2026-01-02T15:04:05Z"),
        ("2026-01-02T15:04:05Z", "2026-01-02T15:04:05Z"),
        ("2026-01-02T15:04:05.123456+05:30", "2026-01-02T09:34:05.123456Z"),
        ("2026-01-02", "2026-01-02T00:00:00Z"),
    ],
)
def test_naive_and_aware_dates_are_shown_in_utc(agent: Client, given: str, shown: str) -> None:
    memory = remember(agent, "x", occurred_at=given)
    assert agent.json("get", f"/memories/{memory}").json()["occurred_at"] == shown


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (
            "\u05d4\u05d9\u05e9\u05d9\u05d1\u05d4 \u05d1\u05d9\u05d5\u05dd \u05e8\u05d1\u05d9\u05e2\u05d9",
            "\u05d4\u05d9\u05e9\u05d9\u05d1\u05d4",
        ),
        (
            "\u0627\u0644\u0645\u0648\u0639\u062f \u064a\u0648\u0645 \u0627\u0644\u062b\u0644\u0627\u062b\u0627\u0621",
            "\u0627\u0644\u0645\u0648\u0639\u062f",
        ),
        ("Party \N{PARTY POPPER}\N{ZERO WIDTH JOINER}\N{FAMILY} on Friday", "party"),
        ("外币汇率换算规则已经更新", "汇率换算"),
        ("hello world", "hello* OR world"),
        ("Ticket ZX-4419 was closed", "ZX-4419"),
    ],
)
def test_every_script_is_kept_and_found(agent: Client, text: str, query: str) -> None:
    memory = remember(agent, text)
    remember(agent, "something else entirely")
    assert agent.json("get", f"/memories/{memory}").json()["text"] == text
    hits = agent.json("post", "/recall", {"query": query, "profile": "praxis"}).json()["hits"]
    assert [hit["memory"]["id"] for hit in hits] == [memory]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("", "text.empty"),
        ("   ", "text.empty"),
        ("word " * 60_000, "query.too_long"),
        ("x" * 33_000, "query.too_long"),
        ("nul \x00", "text.nul"),
        ("bell \x07", "text.control"),
        (None, "field.null"),
        (7, "field.type"),
        (["tea"], "field.type"),
    ],
)
@pytest.mark.parametrize("path", ["/recall", "/context"])
def test_queries_that_cannot_be_asked(agent: Client, path: str, query: Any, code: str) -> None:
    problem(agent.json("post", path, {"query": query}), 422, code)


def test_the_largest_text_and_the_longest_query_are_taken(agent: Client) -> None:
    text = "bla " * 64_000
    memory = remember(agent, text)
    assert agent.json("get", f"/memories/{memory}").json()["text"] == text
    assert agent.json("post", "/recall", {"query": "word " * 500}).status_code == 200


def test_the_same_text_twice_in_a_row_is_one_memory(agent: Client) -> None:
    first, second = (
        remember(agent, "The dog descends from the wolf."),
        remember(agent, "The dog descends from the wolf."),
    )
    assert first == second
    assert len(agent.json("get", "/memories").json()["items"]) == 1


def test_two_equal_turns_are_two_rows(agent: Client) -> None:
    turns = [{"text": "ok", "role": "user"}, {"text": "ok", "role": "user"}]
    body = agent.json("post", "/turns", {"session": "s", "turns": turns}).json()
    assert body["created"] == 2
    assert len({result["id"] for result in body["results"]}) == 2


@pytest.mark.django_db(transaction=True)
def test_twenty_parallel_identical_adds_are_one_row_with_twenty_sources(
    transactional_db: None, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
) -> None:
    actor, secret = make_agent(alice, "assistant", scopes=list(Permission))

    def add(number: int) -> tuple[int, str]:
        try:
            response = client_of(secret).json("post", "/memories", {"text": "Said by twenty.", "source": f"s{number}"})
            return response.status_code, response.json()["id"]
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(add, range(20)))
    assert sorted(status for status, _ in answers) == [200] * 19 + [201]
    assert len({memory for _, memory in answers}) == 1
    with owner_scope(actor.owner_id):
        assert Memory.objects.count() == 1
        assert sorted(source.source for source in MemorySource.objects.all()) == sorted(f"s{n}" for n in range(20))
