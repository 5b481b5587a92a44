"""`GET /outbound` and `manage.py outbound`: the record of what left, in pages, and a forged row in it."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memory.ids import new_id
from memory.models import OutboundRequest, owner_scope
from memory.ports.outbound import Behalf, Outgoing
from memory.services import outbound
from memory.services.actors import Actor
from tests.integration.api.conftest import Client, problem

pytestmark = pytest.mark.django_db

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def sent(actor: Actor, count: int = 5) -> None:
    for number in range(count):
        outbound.note(
            Outgoing(
                id=new_id(),
                behalf=Behalf(actor.owner_id, "recall"),
                kind="embedding",
                host="embeddings.example",
                size=100 + number,
                digest=hashlib.sha256(str(number).encode()).digest(),
                outcome="PinMismatch" if number == 0 else "2xx",
                at=AT + timedelta(seconds=number),
            )
        )


def test_pages_newest_first(woman: Client, stranger: Client) -> None:
    sent(woman.actor)
    first = woman.json("get", "/outbound?limit=3").json()
    assert [row["size"] for row in first["items"]] == [104, 103, 102]
    second = woman.json("get", f"/outbound?limit=3&cursor={first['next']}").json()
    assert [(row["size"], row["outcome"], row["left"]) for row in second["items"]] == [
        (101, "2xx", True),
        (100, "PinMismatch", False),
    ]
    assert second["next"] is None
    assert set(first["items"][0]) == {
        "id", "at", "kind", "component", "host", "size", "sha256", "outcome", "left", "genuine",
    }  # fmt: skip
    assert first["items"][0]["sha256"] == hashlib.sha256(b"4").hexdigest()
    assert stranger.json("get", "/outbound").json() == {"items": [], "next": None}
    problem(woman.json("get", "/outbound?cursor=x"), 422, "cursor.invalid")


def test_a_forged_row_is_shown_as_such(woman: Client) -> None:
    sent(woman.actor, 2)
    outbound.flush()
    with owner_scope(woman.actor.owner_id):
        OutboundRequest.objects.filter(size=100).update(host="elsewhere.example")
    rows = woman.json("get", "/outbound").json()["items"]
    assert [(row["host"], row["genuine"]) for row in rows] == [
        ("embeddings.example", True),
        ("elsewhere.example", False),
    ]


def typed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("outbound", *arguments, stdout=out)
    return out.getvalue()


class TestCommand:
    def test_it_lists_and_says_when_there_is_nothing(self, alice: Actor) -> None:
        assert typed("--owner", "alice") == "Nothing left for a provider.\n"
        sent(alice)
        lines = typed("--limit", "2").splitlines()
        assert len(lines) == 2
        assert lines[0].startswith("2026-03-01 12:00:04  2xx")
        assert "embeddings.example  embedding/recall" in lines[0]
        value: dict[str, Any] = json.loads(typed("--json"))
        assert [row["size"] for row in value["requests"]] == [104, 103, 102, 101, 100]

    def test_it_ends_with_3_where_a_row_was_forged(self, alice: Actor, capsys: pytest.CaptureFixture[str]) -> None:
        sent(alice, 1)
        outbound.flush()
        with owner_scope(alice.owner_id):
            OutboundRequest.objects.update(size=1)
        with pytest.raises(SystemExit) as ended:
            call_command("outbound")
        assert ended.value.code == 3
        assert "FORGED" in capsys.readouterr().out

    @pytest.mark.parametrize("limit", ["0", "501"])
    def test_a_limit_out_of_range(self, alice: Actor, limit: str) -> None:
        with pytest.raises(CommandError, match="--limit takes 1 to 500"):
            typed("--limit", limit)

    def test_several_owners_need_a_name(self, alice: Actor, make_owner: Callable[..., Actor]) -> None:
        make_owner("zoe")
        with pytest.raises(CommandError, match=r"account\.ambiguous"):
            typed()
