"""Filter expressions, moments to look from and shortened texts over REST."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest

from tests.integration.api.conftest import Client, problem, remember

BAD: list[tuple[Any, str]] = [
    ({"colour": "red"}, "filter.colour"),
    ({"and": [{"kind": "fact"}, {"kind": "rumour"}]}, "filter.and[1].kind"),
    ({"tag": []}, "filter.tag"),
    ({"tag": ["t"] * 51}, "filter.tag"),
    ({"not": {"not": {"not": {"not": {"not": {"tag": "x"}}}}}}, "filter.not.not.not.not.not"),
    ({"agent": "me"}, "filter.agent"),
    ({"occurred": {"from": "soon"}}, "filter.occurred.from"),
    ({}, "filter"),
    ([], "filter"),
    ("tag", "filter"),
    (7, "filter"),
]


def texts(response: Any) -> set[str]:
    assert response.status_code == 200, response.content
    body = response.json()
    return (
        {item["text"] for item in body["items"]} if "items" in body else {hit["memory"]["text"] for hit in body["hits"]}
    )


def found(client: Client, expression: Any) -> set[str]:
    """Give what a recall and a list find, which is the same."""
    listed = texts(client.json("get", f"/memories?filter={quote(json.dumps(expression))}"))
    asked = {"query": "kettle", "filter": expression, "threshold": 0, "limit": 50}
    assert texts(client.json("post", "/recall", asked)) == listed
    block = client.json("post", "/context", asked).json()
    assert len(block["memory_ids"]) == len(listed)
    return listed


def test_an_expression_limits_recalls_blocks_and_lists(agent: Client) -> None:
    remember(agent, "The kettle leaks.", kind="fact", tags=["work"], metadata={"team": "red", "build": {"n": 7}})
    remember(agent, "The kettle is red.", tags=["work"], metadata={"team": "blue"}, source="user:al/chat")
    remember(agent, "A kettle boils.", kind="skill")
    assert found(agent, {"and": [{"tag": "work"}, {"or": [{"kind": "fact"}, {"source": "user:al"}]}]}) == {
        "The kettle leaks.",
        "The kettle is red.",
    }
    assert found(agent, {"and": [{"tag": "work"}, {"not": {"metadata": {"team": "red"}}}]}) == {"The kettle is red."}
    assert found(agent, {"metadata": {"build.n": 7}}) == {"The kettle leaks."}
    assert found(agent, {"not": {"tag": "work"}}) == {"A kettle boils."}


@pytest.mark.parametrize(("expression", "path"), BAD, ids=[f"{n}-{path}" for n, (_, path) in enumerate(BAD)])
def test_expressions_that_cannot_be_used(agent: Client, expression: Any, path: str) -> None:
    for address in ("/recall", "/context"):
        body = problem(agent.json("post", address, {"query": "tea", "filter": expression}), 422, "filter.invalid")
        assert (body["field"], body["path"]) == ("filter", path)
        assert "Nothing was" not in body["detail"]
    body = problem(agent.json("get", f"/memories?filter={quote(json.dumps(expression))}"), 422, "filter.invalid")
    assert (body["field"], body["path"]) == ("filter", path)


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "tag",
        "{",
        '{"tag": "a", "tag": "b"}',
        '{"tag": NaN}',
        "%00",
        "%ED%A0%80",
        "[" * 2_000,
        '{"tag": "' + "x" * 9_000,
    ],
    ids=["empty", "word", "open", "twice", "nan", "nul", "half", "deep", "long"],
)
def test_what_is_no_json_in_a_query(agent: Client, raw: str) -> None:
    escaped = raw if raw.startswith("%") else quote(raw)
    body = problem(agent.json("get", f"/memories?filter={escaped}"), 422, "filter.invalid")
    assert body["path"] == "filter"


def test_null_is_no_filter(agent: Client) -> None:
    problem(agent.json("post", "/recall", {"query": "tea", "filter": None}), 422, "field.null")
    problem(agent.json("get", "/memories?filter=null"), 422, "filter.invalid")
    problem(agent.json("get", '/memories?filter={"tag":"a"}&filter={"tag":"b"}'), 422, "query.repeated")


def test_another_owners_ids_and_labels_find_nothing(agent: Client, stranger: Client) -> None:
    remember(agent, "The kettle leaks.", tags=["work"], metadata={"team": "red"})
    session = agent.json("post", "/turns", {"session": "s", "turns": [{"text": "the kettle"}]}).json()["session_id"]
    remember(stranger, "A stranger's kettle.")
    for expression in (
        {"tag": "work"},
        {"metadata": {"team": "red"}},
        {"agent": str(agent.actor.agent_id)},
        {"session": session},
        {"session": str(uuid4())},
    ):
        assert found(stranger, expression) == set()
        assert found(stranger, {"not": expression}) == {"A stranger's kettle."}


def test_a_memory_is_seen_from_a_moment(agent: Client, stranger: Client) -> None:
    before = datetime.now(UTC).isoformat()
    memory = remember(agent, "The office is in Rome.", valid_until="2150-01-01")
    between = datetime.now(UTC).isoformat()
    agent.json("patch", f"/memories/{memory}", {"text": "The office is in Oslo."})

    def seen(moment: str) -> list[set[str]]:
        lists = texts(agent.json("get", f"/memories?as_of={quote(moment)}"))
        hits = texts(agent.json("post", "/recall", {"query": "office", "threshold": 0, "as_of": moment}))
        return [lists, hits]

    assert seen(before) == [set(), set()]
    assert seen(between) == [{"The office is in Rome."}] * 2
    assert seen("2149-01-01") == [{"The office is in Oslo."}] * 2
    assert seen("2150-01-01") == [set(), set()]
    then = agent.json("get", f"/memories/{memory}?as_of={quote(between)}")
    assert (then.json()["text"], then.json()["version"], then["ETag"]) == ("The office is in Rome.", 1, '"1"')
    assert agent.json("get", f"/memories/{memory}?as_of=2151-01-01").json()["valid"] is False
    assert agent.json("get", f"/memories/{memory}").json()["text"] == "The office is in Oslo."
    problem(agent.json("get", f"/memories/{memory}?as_of={quote(before)}"), 404, "not_found")
    problem(stranger.json("get", f"/memories/{memory}?as_of={quote(between)}"), 404, "not_found")


@pytest.mark.parametrize(
    ("moment", "code"), [("soon", "date.invalid"), ("1066-10-14", "date.out_of_range"), ("", "date.invalid")]
)
def test_moments_that_are_none(agent: Client, moment: str, code: str) -> None:
    memory = remember(agent, "tea")
    for address in ("/memories", f"/memories/{memory}"):
        problem(agent.json("get", f"{address}?as_of={moment}"), 422, code)
    for address in ("/recall", "/context"):
        problem(agent.json("post", address, {"query": "tea", "as_of": moment}), 422, code)
    problem(agent.json("get", f"/memories/{memory}?colour=red"), 422, "query.unknown")


def test_what_no_longer_holds_is_found_and_says_so(agent: Client) -> None:
    remember(agent, "The kettle was lent to Bo.", valid_until="2020-01-01")
    remember(agent, "The kettle will be sold.", valid_from="2150-01-01")
    remember(agent, "The kettle is red.", valid_from="2020-01-01", valid_until="2150-01-01")
    hits = agent.json("post", "/recall", {"query": "kettle", "threshold": 0}).json()["hits"]
    assert {hit["memory"]["text"]: hit["memory"]["valid"] for hit in hits} == {
        "The kettle was lent to Bo.": False,
        "The kettle will be sold.": False,
        "The kettle is red.": True,
    }
    assert found(agent, {"valid": True}) == {"The kettle is red."}


def test_long_texts_are_cut_in_lists_and_recalls(agent: Client) -> None:
    text = "kettle " + "\N{SNOWMAN}" * 9_000
    memory = remember(agent, text)
    short = remember(agent, "kettle " + "x" * 7_993)

    def shown(address: str, body: Any = None) -> dict[str, Any]:
        response = agent.json("post" if body else "get", address, body)
        assert response.status_code == 200, response.content
        items = response.json()["items"] if body is None else [hit["memory"] for hit in response.json()["hits"]]
        return {item["id"]: item for item in items}

    for items in (shown("/memories"), shown("/recall", {"query": "kettle", "threshold": 0})):
        assert (items[memory]["text"], items[memory]["text_truncated"]) == (text[:8_000], True)
        assert (len(items[short]["text"]), items[short]["text_truncated"]) == (8_000, False)
    for items in (
        shown("/memories?max_text_characters=262144"),
        shown("/recall", {"query": "kettle", "threshold": 0, "max_text_characters": 262_144}),
    ):
        assert (items[memory]["text"], items[memory]["text_truncated"]) == (text, False)
    assert shown("/memories?max_text_characters=1")[memory]["text"] == "k"
    whole = agent.json("get", f"/memories/{memory}").json()
    assert (whole["text"], whole["text_truncated"]) == (text, False)
    assert agent.json("patch", f"/memories/{memory}", {"importance": 1}).json()["text"] == text


@pytest.mark.parametrize("given", [0, -1, 262_145, 10**30])
def test_bounds_of_shown_texts(agent: Client, given: int) -> None:
    code = "max_text_characters.out_of_range"
    problem(agent.json("get", f"/memories?max_text_characters={given}"), 422, code)
    problem(agent.json("post", "/recall", {"query": "tea", "max_text_characters": given}), 422, code)


@pytest.mark.parametrize("given", ["8000", 1.5, True, [8000]])
def test_shown_characters_are_a_whole_number(agent: Client, given: Any) -> None:
    problem(agent.json("post", "/recall", {"query": "tea", "max_text_characters": given}), 422, "field.type")
    problem(agent.json("get", "/memories?max_text_characters=many"), 422, "field.type")
    problem(agent.json("post", "/context", {"query": "tea", "max_text_characters": 9}), 422, "field.unknown")
