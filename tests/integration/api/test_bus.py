"""The bus over HTTP: a whole conversation, what each refusal looks like, and what is kept of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest

from memory.models import IdempotencyRecord, owner_scope
from memory.services import clock
from memory.services.actors import Actor
from tests.integration.api.conftest import Client, bearing, client_of, problem, remember

HEADER = "X-Loci-Capability"
KEY = {"Idempotency-Key": "once"}
MONDAY = {"text": "The deploy runs on Monday.", "target": "owner", "topics": ["ops"], "importance": 0.6}


class StandingClock:
    """A clock that stands until it is moved."""

    moment = datetime(2026, 5, 4, 12, tzinfo=UTC)

    def now(self) -> datetime:
        return self.moment


@pytest.fixture
def standing() -> Iterator[StandingClock]:
    """Let the clock stand."""
    one = StandingClock()
    clock.set_clock(one)
    yield one
    clock.set_clock(None)


def issued(woman: Client, agent: Client, **body: Any) -> Any:
    response = woman.json("post", f"/agents/{agent.actor.agent_id}/capabilities", body)
    assert response.status_code == 201, response.content
    return response.json()


def test_a_conversation(woman: Client, agent: Client, colleague: Client) -> None:
    mine, theirs = (issued(woman, one)["token"] for one in (agent, colleague))
    known = remember(colleague, "The deploy runs on Tuesday.")
    published = agent.json("post", "/bus/messages", MONDAY, **{HEADER: mine})
    assert published.status_code == 201
    message = published.json()
    assert message["source_agent"] == str(agent.actor.agent_id)
    assert (message["target"], message["topics"], message["importance"]) == ("owner", ["ops"], 0.6)
    page = colleague.json("get", "/bus/messages", None, **{HEADER: theirs}).json()
    (item,) = page["items"]
    assert {name: item[name] for name in message} == message
    assert (item["trust"], item["repeats"]) == (0.3, None)
    (against,) = item["contradicts"]
    assert against == {
        "memory_id": known, "overlap": pytest.approx(2 / 3), "resolution": "keep_existing", "ground": "trust",
    }  # fmt: skip
    # A person says that this agent is to be believed.
    trusted = woman.json("put", f"/agents/{agent.actor.agent_id}/trust", {"trust": 0.9})
    assert (trusted.status_code, trusted.json()["trust"]) == (200, 0.9)
    accepted = colleague.json("post", f"/bus/messages/{message['id']}/accept", {"kind": "fact"}, **{HEADER: theirs})
    assert accepted.status_code == 201
    body = accepted.json()
    assert (body["status"], body["superseded"], body["kept"], body["reviews"]) == ("live", [known], None, [])
    stored = colleague.json("get", f"/memories/{body['memory_id']}").json()
    assert (stored["text"], stored["source"]) == (MONDAY["text"], f"bus/{agent.actor.agent_id}")
    assert colleague.json("get", f"/memories/{known}").json()["status"] == "superseded"
    again = colleague.json("post", f"/bus/messages/{message['id']}/accept", {}, **{HEADER: theirs})
    assert (again.status_code, again.json()["created"]) == (200, False)
    # From the last answer on there is nothing new, and later there is.
    after = page["after"]
    page = colleague.json("get", f"/bus/messages?after={after}", None, **{HEADER: theirs}).json()
    assert page == {"items": [], "after": after, "more": False}
    agent.json("post", "/bus/messages", {**MONDAY, "text": "Lunch is ready."}, **{HEADER: mine})
    page = colleague.json("get", f"/bus/messages?after={after}&limit=1", None, **{HEADER: theirs}).json()
    assert [one["text"] for one in page["items"]] == ["Lunch is ready."]
    assert page["more"] is True


def test_targets_are_written_as_they_are_read(woman: Client, agent: Client, colleague: Client) -> None:
    squad = woman.json("post", "/groups", {"kind": "squad", "name": "core"}).json()["id"]
    for member in (agent, colleague):
        woman.json("put", f"/groups/{squad}/members/{member.actor.agent_id}")
    targets = ["owner", f"squad:{squad}", f"agent:{colleague.actor.agent_id}"]
    bearing(agent)
    bearing(colleague)
    for target in targets:
        assert agent.json("post", "/bus/messages", {**MONDAY, "target": target}).json()["target"] == target
    assert [one["target"] for one in colleague.json("get", "/bus/messages").json()["items"]] == targets
    found = colleague.json("get", f"/bus/messages?scope=squad:{squad}&topic=ops&topic=x&min_importance=0.5")
    assert [one["target"] for one in found.json()["items"]] == [f"squad:{squad}"]
    # Out of the squad, with the same token.
    woman.json("delete", f"/groups/{squad}/members/{colleague.actor.agent_id}")
    assert [one["target"] for one in colleague.json("get", "/bus/messages").json()["items"]] == [targets[0], targets[2]]
    problem(colleague.json("get", f"/bus/messages?scope=squad:{squad}"), 403, "auth.forbidden")


def test_nobody_speaks_in_anothers_name(woman: Client, agent: Client, colleague: Client) -> None:
    token = issued(woman, agent)["token"]
    problem(colleague.json("post", "/bus/messages", MONDAY, **{HEADER: token}), 403, "capability.refused")
    spoofed = {**MONDAY, "source_agent": str(colleague.actor.agent_id)}
    problem(agent.json("post", "/bus/messages", spoofed, **{HEADER: token}), 422, "field.unknown")


def test_refusals_tell_no_more_than_needed(woman: Client, agent: Client, stranger: Client, colleague: Client) -> None:
    good = issued(woman, agent)["token"]
    bad = {
        "nonsense": "x",
        "forged": good[:-1] + ("A" if good[-1] != "A" else "B"),
        "cut": good[:-9],
        "another agent's": issued(woman, colleague)["token"],
        "another owner's": bearing(stranger).sent["HTTP_X_LOCI_CAPABILITY"],
    }
    answers = set()
    for token in bad.values():
        for method, path, body in (
            ("get", "/bus/messages", None),
            ("post", "/bus/messages", MONDAY),
            ("post", f"/bus/messages/{UUID(int=7)}/accept", {}),
        ):
            response = agent.json(method, path, body, **{HEADER: token})
            answers.add(str(sorted(problem(response, 403, "capability.refused").items())))
            assert token not in response.content.decode()
    assert len(answers) == 1
    problem(agent.json("get", "/bus/messages"), 403, "capability.required")
    problem(woman.json("post", "/bus/messages", MONDAY, **{HEADER: good}), 403, "bus.agents_only")


def test_a_person_reads_all(woman: Client, agent: Client, colleague: Client) -> None:
    bearing(agent).json("post", "/bus/messages", {**MONDAY, "target": f"agent:{colleague.actor.agent_id}"})
    assert len(woman.json("get", "/bus/messages").json()["items"]) == 1


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("scope=", "scope.invalid"),
        ("scope=*", "scope.invalid"),
        ("scope=owner&scope=agent", "scope.invalid"),
        ("min_importance=nan", "field.type"),
        ("min_importance=2", "min_importance.out_of_range"),
        ("agent=x", "id.invalid"),
        ("limit=101", "limit.out_of_range"),
        ("limit=0", "limit.out_of_range"),
        ("after=x", "cursor.invalid"),
    ],
)
def test_queries_that_cannot_be_used(agent: Client, query: str, code: str) -> None:
    problem(bearing(agent).json("get", f"/bus/messages?{query}"), 422, code)


def test_a_cursor_of_another_list_is_refused(agent: Client) -> None:
    for text in ("one", "two"):
        remember(agent, text)
    cursor = agent.json("get", "/memories?limit=1").json()["next"]
    problem(bearing(agent).json("get", f"/bus/messages?after={cursor}"), 422, "cursor.invalid")


def test_a_token_is_kept_nowhere(woman: Client, agent: Client) -> None:
    path = f"/agents/{agent.actor.agent_id}/capabilities"
    first = woman.json("post", path, {"max_scope": "squad"}, **KEY).json()
    assert first["token"].startswith("locicap1_")
    assert (first["max_scope"], first["publish_rate"], first["can_publish"]) == ("squad", 50, True)
    again = woman.json("post", path, {"max_scope": "squad"}, **KEY)
    assert again["Idempotency-Replayed"] == "true"
    assert again.json() == {**first, "token": None}
    with owner_scope(woman.actor.owner_id):
        assert IdempotencyRecord.objects.get().body["body"]["token"] is None


def test_an_agent_grants_no_more_than_it_has(woman: Client, agent: Client, colleague: Client) -> None:
    path = f"/agents/{colleague.actor.agent_id}/capabilities"
    problem(agent.json("post", path, {}), 403, "capability.required")
    own = issued(woman, agent, max_scope="squad", max_importance=0.5)["token"]
    refused = problem(agent.json("post", path, {"max_scope": "owner"}, **{HEADER: own}), 403, "capability.above_issuer")
    assert refused["field"] == "max_scope"
    granted = agent.json("post", path, {}, **{HEADER: own}).json()
    assert (granted["max_scope"], granted["max_importance"]) == ("squad", 0.5)


def test_ending_all_tokens(woman: Client, agent: Client) -> None:
    token = issued(woman, agent)["token"]
    assert agent.json("get", "/bus/messages", None, **{HEADER: token}).status_code == 200
    assert woman.json("delete", f"/agents/{agent.actor.agent_id}/capabilities").status_code == 204
    problem(agent.json("get", "/bus/messages", None, **{HEADER: token}), 403, "capability.refused")


def test_trust_is_shown_and_taken_back(woman: Client, agent: Client) -> None:
    path = f"/agents/{agent.actor.agent_id}/trust"
    problem(agent.json("put", path, {"trust": 1}), 403, "auth.person_only")
    problem(woman.json("put", path, {"trust": 1.7}), 422, "trust.out_of_range")
    problem(woman.json("put", path, {}), 422, "field.required")
    assert woman.json("put", path, {"trust": 1}).json()["trust"] == 1.0
    assert [one["trust"] for one in woman.json("get", "/agents").json()["items"]] == [1.0]
    assert woman.json("put", path, {"trust": None}).json()["trust"] is None


def test_a_refusal_that_waiting_or_another_token_ends_is_not_kept(
    woman: Client, agent: Client, standing: StandingClock
) -> None:
    token = issued(woman, agent, publish_rate=1)["token"]
    problem(agent.json("post", "/bus/messages", MONDAY, **KEY, **{HEADER: "x"}), 403, "capability.refused")
    assert agent.json("post", "/bus/messages", MONDAY, **KEY, **{HEADER: token}).status_code == 201
    later = {"Idempotency-Key": "another"}
    refused = agent.json("post", "/bus/messages", MONDAY, **later, **{HEADER: token})
    assert problem(refused, 429, "bus.rate")["retry_after"] == 3600
    assert refused["Retry-After"] == "3600"
    standing.moment += timedelta(hours=1)
    assert agent.json("post", "/bus/messages", MONDAY, **later, **{HEADER: token}).status_code == 201


def test_a_paused_agent_is_out(woman: Client, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
    actor, secret = make_agent(alice, "assistant")
    client = client_of(secret)
    client.actor = actor
    bearing(client)
    assert client.json("get", "/bus/messages").status_code == 200
    woman.json("post", f"/agents/{actor.agent_id}/pause")
    problem(client.json("get", "/bus/messages"), 401, "auth.invalid")
