"""Turns and sessions."""

from __future__ import annotations

from typing import Any

from tests.integration.api.conftest import Client, problem

TRIP: list[dict[str, Any]] = [
    {"text": "Where shall we go in May?", "role": "user", "speaker": "Alice", "occurred_at": "2026-04-01T10:00:00Z"},
    {"text": "Kyoto is quiet then.", "role": "assistant", "reply_to": 0},
    {"text": '{"flights": 3}', "role": "tool", "tool_name": "search_flights", "call_id": "c-1"},
]


def test_a_conversation_is_kept_verbatim(agent: Client) -> None:
    answer = agent.json("post", "/turns", {"session": "trip", "turns": TRIP})
    assert answer.status_code == 200
    body = answer.json()
    assert (body["created"], body["existing"], body["refused"]) == (3, 0, 0)
    assert [result["position"] for result in body["results"]] == [0, 1, 2]
    items = agent.json("get", f"/memories?session={body['session_id']}").json()["items"]
    turns = sorted(items, key=lambda item: item["position"])
    assert [turn["text"] for turn in turns] == [turn["text"] for turn in TRIP]
    assert [turn["role"] for turn in turns] == ["user", "assistant", "tool"]
    assert {(turn["kind"], turn["tier"], turn["session_id"]) for turn in turns} == {
        ("turn", "episodic", body["session_id"])
    }
    assert turns[0]["speaker"] == "Alice"
    assert turns[0]["occurred_at"] == "2026-04-01T10:00:00Z"
    assert turns[1]["reply_to_id"] == turns[0]["id"]
    assert (turns[2]["tool_name"], turns[2]["call_id"]) == ("search_flights", "c-1")


def test_a_conversation_can_be_sent_again(agent: Client) -> None:
    placed = [{**turn, "position": place} for place, turn in enumerate(TRIP)]
    first = agent.json("post", "/turns", {"session": "trip", "turns": placed}).json()
    again = agent.json("post", "/turns", {"session": "trip", "turns": placed}).json()
    assert again["existing"] == 3
    assert [result["id"] for result in again["results"]] == [result["id"] for result in first["results"]]
    other = [{**placed[0], "text": "Something else"}, {"text": "Next", "position": 3}]
    body = agent.json("post", "/turns", {"session": "trip", "turns": other}).json()
    assert body["results"][0]["error"]["code"] == "turn.position_taken"
    assert body["results"][1]["outcome"] == "created"


def test_a_bad_turn_does_not_spoil_the_others(agent: Client) -> None:
    turns: list[Any] = [
        {"text": "one"},
        {"text": "two", "role": "judge"},
        {"text": "three", "position": -1},
        {"text": "four", "kind": "note"},
        {"text": "five", "reply_to": 77},
        7,
        {"text": "six", "position": True},
        {"text": "seven"},
    ]
    body = agent.json("post", "/turns", {"session": "s", "turns": turns}).json()
    assert [result.get("error", {}).get("code") for result in body["results"]] == [
        None,
        "role.invalid",
        "position.out_of_range",
        "field.unknown",
        "reply_to.unknown",
        "field.type",
        "field.type",
        None,
    ]
    assert (body["created"], body["refused"]) == (2, 6)
    assert [item["text"] for item in agent.json("get", "/memories").json()["items"]] == ["seven", "one"]


def test_requests_that_cannot_be_used(agent: Client) -> None:
    one = [{"text": "one"}]
    problem(agent.json("post", "/turns", {"turns": one}), 422, "field.required")
    problem(agent.json("post", "/turns", {"session": "s", "turns": []}), 422, "batch.size")
    problem(agent.json("post", "/turns", {"session": "s", "turns": one * 2001}), 422, "batch.size")
    problem(agent.json("post", "/turns", {"session": "", "turns": one}), 422, "text.empty")
    problem(agent.json("post", "/turns", {"session": "s" * 900, "turns": one}), 413, "text.too_large")
    problem(agent.json("post", "/turns", {"session": "s", "turns": one, "scope": "*"}), 422, "scope.invalid")
    problem(agent.json("post", "/turns", {"session": "s", "turns": one, "agent_id": "x"}), 422, "field.unknown")
    problem(agent.json("post", "/turns", {"session": "s", "turns": [{"text": ""}]}), 422, "batch.nothing_stored")
    assert agent.json("get", "/sessions").json()["items"] == []


def test_a_session_is_closed_and_opened_by_new_turns(agent: Client) -> None:
    session = agent.json("post", "/turns", {"session": "trip", "turns": TRIP}).json()["session_id"]
    shown = agent.json("get", f"/sessions/{session}").json()
    assert (shown["session"], shown["turn_count"], shown["next_position"]) == ("trip", 3, 3)
    assert shown["closed_at"] is None
    closed = agent.json("post", f"/sessions/{session}/close").json()
    assert closed["closed_at"].endswith("Z")
    assert agent.json("post", f"/sessions/{session}/close").json() == closed
    agent.json("post", "/turns", {"session": "trip", "turns": [{"text": "One more thing"}]})
    assert agent.json("get", f"/sessions/{session}").json()["closed_at"] is None


def test_sessions_are_the_agents_own_and_all_of_them_the_persons(
    agent: Client, colleague: Client, woman: Client, stranger: Client
) -> None:
    mine = agent.json("post", "/turns", {"session": "trip", "turns": TRIP}).json()["session_id"]
    theirs = colleague.json("post", "/turns", {"session": "trip", "turns": TRIP}).json()["session_id"]
    assert mine != theirs
    assert [item["id"] for item in agent.json("get", "/sessions").json()["items"]] == [mine]
    assert [item["id"] for item in woman.json("get", "/sessions").json()["items"]] == [theirs, mine]
    assert stranger.json("get", "/sessions").json()["items"] == []
    problem(agent.json("get", f"/sessions/{theirs}"), 404, "not_found")
    problem(agent.json("post", f"/sessions/{theirs}/close"), 404, "not_found")


def test_sessions_come_in_pages(agent: Client) -> None:
    expected = [
        agent.json("post", "/turns", {"session": f"s{number}", "turns": [{"text": "hi there"}]}).json()["session_id"]
        for number in range(5)
    ][::-1]
    first = agent.json("get", "/sessions?limit=3").json()
    second = agent.json("get", f"/sessions?limit=3&cursor={first['next']}").json()
    assert [item["id"] for item in first["items"] + second["items"]] == expected
    assert second["next"] is None
