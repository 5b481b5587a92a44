"""The first steps of the guide to the bus, in its order: two agents, tokens, a squad, a message read and accepted."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client as Browser

from memory.services.actors import Actor

API = "/api/v1"

pytestmark = pytest.mark.django_db


def typed(*words: str) -> dict[str, Any]:
    out = StringIO()
    call_command(*words, "--json", stdout=out)
    answer: dict[str, Any] = json.loads(out.getvalue())
    return answer


def sent(method: str, path: str, key: str, body: Any = None, token: str | None = None) -> tuple[int, Any]:
    headers = {"Authorization": f"Bearer {key}"} | ({"X-Loci-Capability": token} if token else {})
    given = {} if body is None else {"data": json.dumps(body), "content_type": "application/json"}
    answer = getattr(Browser(), method)(f"{API}{path}", headers=headers, **given)
    return answer.status_code, answer.json() if answer.content else None


def test_two_agents_talk(alice: Actor) -> None:
    scribe, gardener = typed("agent", "create", "scribe"), typed("agent", "create", "gardener")
    token = typed("agent", "capability", "scribe", "--max-scope", "squad", "--max-importance", "0.8", "--rate", "20")[
        "token"
    ]
    reader_token = typed("agent", "capability", "gardener")["token"]
    message = {"text": "The deploy runs on Monday.", "topics": ["deploys"], "importance": 0.6}
    to_one = {**message, "target": f"agent:{gardener['agent_id']}"}
    assert sent("post", "/bus/messages", scribe["key"], to_one, token)[0] == 201

    manager = typed("agent", "key", "scribe", "--label", "groups", "--scopes", "agents:manage")["key"]
    status, squad = sent("post", "/groups", manager, {"kind": "squad", "name": "deploys"})
    assert status == 201
    assert {one["name"] for one in sent("get", "/agents", manager)[1]["items"]} == {"scribe", "gardener"}
    for member in (scribe, gardener):
        assert sent("put", f"/groups/{squad['id']}/members/{member['agent_id']}", manager)[0] == 204
    to_squad = {**message, "text": "It is postponed.", "target": f"squad:{squad['id']}"}
    assert sent("post", "/bus/messages", scribe["key"], to_squad, token)[0] == 201

    status, read = sent("get", "/bus/messages?topic=deploys&min_importance=0.4", gardener["key"], None, reader_token)
    assert [one["text"] for one in read["items"]] == ["The deploy runs on Monday.", "It is postponed."]
    path = f"/bus/messages/{read['items'][0]['id']}/accept"
    assert sent("post", path, gardener["key"], {"kind": "fact"}, reader_token)[0] == 201


def test_managing_agents_alone_issues_no_first_token(alice: Actor) -> None:
    manager = typed("agent", "create", "manager", "--scopes", "agents:manage")
    gardener = typed("agent", "create", "gardener")
    path = f"/agents/{gardener['agent_id']}/capabilities"
    status, refused = sent("post", path, manager["key"], {})
    assert (status, refused["code"]) == (403, "capability.required")
    own = typed("agent", "capability", "manager")["token"]
    body = {"max_scope": "project", "max_importance": 0.8, "publish_rate": 20}
    assert sent("post", path, manager["key"], body, own)[0] == 201


def test_trust_is_said_in_a_sentence(alice: Actor, mallory: Actor) -> None:
    call_command("agent", "create", "scribe", "--owner", "alice", stdout=StringIO())
    told = StringIO()
    for value in ("0.8", "unset"):
        call_command("agent", "trust", "scribe", value, "--owner", "alice", stdout=told)
    assert told.getvalue() == "scribe is trusted 0.8 of 1.\nNobody says how far scribe is trusted.\n"
    with pytest.raises(CommandError, match="Add --owner LOGIN"):
        call_command("agent", "trust", "scribe", "0.8", stdout=told)
