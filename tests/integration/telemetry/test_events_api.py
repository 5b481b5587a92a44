"""Turn events over REST: what is taken and refused, what is listed, as JSON and as CSV."""

from __future__ import annotations

import csv
import io
import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from memory.models import AuditEvent, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.clock import now
from telemetry.models import TurnEvent
from tests.integration.api.conftest import API, Client, problem

EVENTS = "/telemetry/pipeline-coverage/events"
Maker = Callable[..., Client]


def posted(client: Client, body: Any) -> Any:
    """Send JSON in which every character outside of ASCII is escaped, half surrogates too."""
    return client.generic("POST", f"{API}{EVENTS}", json.dumps(body), content_type="application/json")


def sent(client: Client, body: Any, status: int = 201) -> Any:
    response = client.json("post", EVENTS, body)
    assert response.status_code == status, response.content
    return response.json()


def listed(client: Client, query: str = "") -> Any:
    response = client.json("get", f"{EVENTS}{query}")
    assert response.status_code == 200, response.content
    return response.json()


@pytest.fixture
def plain(alice: Actor, make_client: Maker) -> Client:
    """An agent of Alice with a usual key."""
    return make_client(alice, "plain")


class TestSending:
    def test_the_event_of_the_seed(self, plain: Client, woman: Client) -> None:
        body = {
            "timestamp": time.time() - 60.0,
            "user_id": "alice",
            "request": "Make me a note about gradient descent",
            "matched_spoke": "knowledge",
            "delegations": ["knowledge"],
            "outcome_status": "completed",
            "tool_call_count": 3,
            "duration_ms": 2156,
        }
        answer = sent(plain, body)
        assert (answer["accepted"], answer["duplicates"], answer["stream"], answer["test_mode"]) == (
            1,
            0,
            "live",
            False,
        )
        assert [note["code"] for note in answer["events"][0]["notes"]] == ["user_id.ignored"]
        one = listed(woman)["items"][0]
        assert one["event_id"] == answer["events"][0]["event_id"]
        assert one["outcome"] == body["outcome_status"]
        kept = ("request", "matched_spoke", "delegations", "tool_call_count", "duration_ms")
        assert [one[name] for name in kept] == [body[name] for name in kept]
        assert not any("vec" in name or "embedding" in name for name in one)

    def test_several_and_again(self, plain: Client) -> None:
        body = {"events": [{"request": f"Request {number}", "id": f"run/{number}"} for number in range(3)]}
        first, again = sent(plain, body), sent(plain, body, status=200)
        assert (first["accepted"], again["accepted"], again["duplicates"]) == (3, 0, 3)
        assert [one["event_id"] for one in first["events"]] == [one["event_id"] for one in again["events"]]
        assert [one["id"] for one in again["events"]] == ["run/0", "run/1", "run/2"]

    def test_a_long_request_is_cut_and_that_is_told(self, plain: Client, woman: Client) -> None:
        answer = sent(plain, {"request": "x" * 501})
        assert [note["code"] for note in answer["events"][0]["notes"]] == ["request.cut"]
        assert listed(woman)["items"][0]["request"] == "x" * 500

    @pytest.mark.parametrize(
        ("event", "code"),
        [
            ({"request": ""}, "text.empty"),
            ({"request": " \u200b"}, "text.empty"),
            ({"request": "a\x00b"}, "text.nul"),
            ({"request": "a\ud800b"}, "text.surrogate"),
            ({"request": "a\x1bb"}, "text.control"),
            ({"request": 7}, "field.type"),
            ({"request": None}, "field.null"),
            ({}, "field.required"),
            ({"request": "x", "outcome": "lost"}, "outcome.invalid"),
            ({"request": "x", "outcome_status": "lost"}, "outcome_status.invalid"),
            ({"request": "x", "outcome": "failed", "outcome_status": "timeout"}, "outcome.invalid"),
            ({"request": "x", "id": ""}, "id.invalid"),
            ({"request": "x", "id": "y" * 129}, "id.invalid"),
            ({"request": "x", "id": "a\x00"}, "text.nul"),
            ({"request": "x", "timestamp": "yesterday"}, "date.invalid"),
            ({"request": "x", "timestamp": True}, "timestamp.invalid"),
            ({"request": "x", "timestamp": 1e300}, "timestamp.invalid"),
            ({"request": "x", "timestamp": -1.0}, "timestamp.outdated"),
            ({"request": "x", "timestamp": time.time() + 3_600}, "timestamp.future"),
            ({"request": "x", "matched_spoke": "s" * 65}, "spoke.too_long"),
            ({"request": "x", "matched_spoke": "a\x00"}, "text.nul"),
            ({"request": "x", "delegations": ["d"] * 33}, "delegations.too_many"),
            ({"request": "x", "delegations": ["d" * 65]}, "spoke.too_long"),
            ({"request": "x", "delegations": "knowledge"}, "field.type"),
            ({"request": "x", "tool_call_count": -1}, "tool_call_count.out_of_range"),
            ({"request": "x", "tool_call_count": 1.5}, "field.type"),
            ({"request": "x", "duration_ms": -1}, "duration_ms.out_of_range"),
            ({"request": "x", "duration_ms": 10**12}, "duration_ms.out_of_range"),
            ({"request": "x", "extra": []}, "field.type"),
            ({"request": "x", "extra": {"a": "b" * 5_000}}, "extra.too_large"),
            ({"request": "x", "extra": {"a": "\x00"}}, "text.nul"),
            ({"request": "x", "embedding": [0.1]}, "field.unknown"),
        ],
    )  # fmt: skip
    def test_what_is_refused(self, plain: Client, woman: Client, event: Any, code: str) -> None:
        status = 413 if code == "extra.too_large" else 422
        refused = problem(posted(plain, event), status, code)
        assert "Nothing was stored." in refused["detail"]
        several = {"events": [{"request": "Good"}, event]}
        # In a list every check is the service's own, and names the event.
        expected = "outcome.invalid" if code == "outcome_status.invalid" else code
        assert problem(posted(plain, several), status, expected)["index"] == 1
        assert listed(woman)["items"] == []

    @pytest.mark.parametrize(
        ("body", "code"),
        [
            ({"events": []}, "events.size"),
            ({"events": [{"request": "x"}] * 1_001}, "events.size"),
            ({"events": "x"}, "field.type"),
            ({"events": [7]}, "field.type"),
            ({"events": [{"request": "x"}], "request": "y"}, "events.mixed"),
        ],
    )
    def test_lists_that_are_none(self, plain: Client, body: Any, code: str) -> None:
        problem(plain.json("post", EVENTS, body), 422, code)

    def test_a_megabyte_of_extra(self, plain: Client, woman: Client) -> None:
        problem(plain.json("post", EVENTS, {"request": "x", "extra": {"a": "b" * 1_000_000}}), 413, "extra.too_large")
        problem(plain.json("post", EVENTS, {"request": "x", "extra": {"a": "b" * 9_000_000}}), 413, "body.too_large")
        assert listed(woman)["items"] == []

    def test_an_empty_spoke_is_direct(self, plain: Client, woman: Client) -> None:
        sent(plain, {"request": "x", "matched_spoke": ""})
        assert listed(woman)["items"][0]["matched_spoke"] == "direct"

    def test_switched_off(self, plain: Client, woman: Client, settings: Any) -> None:
        settings.TELEMETRY_ENABLED = False
        answer = sent(plain, {"request": "x"}, status=202)
        assert (answer["enabled"], answer["accepted"], answer["events"][0]["event_id"]) == (False, 0, None)
        page = listed(woman)
        assert (page["enabled"], page["items"]) == (False, [])

    def test_it_works_without_memory(self, plain: Client, settings: Any) -> None:
        settings.MEMORY_ENABLED = False
        sent(plain, {"request": "x"})

    def test_an_idempotency_key(self, plain: Client, woman: Client) -> None:
        for _ in range(2):
            response = plain.json("post", EVENTS, {"request": "x"}, **{"Idempotency-Key": "one"})
            assert response.status_code == 201
        assert len(listed(woman)["items"]) == 1


class TestListing:
    def test_pages_newest_first(self, plain: Client, woman: Client) -> None:
        moment = now() - timedelta(hours=5)
        times = [(moment + timedelta(minutes=number)).isoformat() for number in range(5)]
        sent(plain, {"events": [{"request": f"R{number}", "timestamp": at} for number, at in enumerate(times)]})
        seen, cursor = [], ""
        for _ in range(3):
            page = listed(woman, f"?limit=2{cursor}")
            seen += [one["request"] for one in page["items"]]
            cursor = f"&cursor={page['next']}"
        assert (seen, page["next"]) == (["R4", "R3", "R2", "R1", "R0"], None)

    def test_filters(self, alice: Actor, plain: Client, woman: Client) -> None:
        sent(
            plain,
            {"events": [
                {"request": "Notes", "matched_spoke": "knowledge"},
                {"request": "Failed", "matched_spoke": "browser", "outcome": "failed"},
                {"request": "Old", "timestamp": (now() - timedelta(days=20)).isoformat()},
            ]},
        )  # fmt: skip
        sent(woman, {"request": "By hand"})

        def requests(query: str) -> list[str]:
            return sorted(one["request"] for one in listed(woman, query)["items"])

        assert requests("") == ["By hand", "Failed", "Notes"]
        assert requests("?days=30") == ["By hand", "Failed", "Notes", "Old"]
        assert requests("?spoke=knowledge") == ["Notes"]
        assert requests("?spoke=unknown") == []
        assert requests("?outcome=failed") == ["Failed"]
        assert requests(f"?agent={plain.actor.agent_id}") == ["Failed", "Notes"]
        problem(woman.json("get", f"{EVENTS}?agent={uuid4()}"), 404, "agent.unknown")
        assert requests("?stream=test") == []

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("?days=0", "days.out_of_range"),
            ("?days=x", "field.type"),
            ("?limit=1001", "limit.out_of_range"),
            ("?agent=x", "id.invalid"),
            ("?outcome=lost", "outcome.invalid"),
            ("?stream=both", "stream.invalid"),
            ("?format=xml", "format.invalid"),
            ("?cursor=x", "cursor.invalid"),
            ("?user_id=alice", "query.unknown"),
        ],
    )
    def test_queries_that_are_none(self, woman: Client, query: str, code: str) -> None:
        problem(woman.json("get", f"{EVENTS}{query}"), 422, code)

    def test_personal_data_is_covered_unless_it_is_asked_for(self, plain: Client, woman: Client) -> None:
        sent(
            plain,
            {"request": "Write to ann@example.org", "matched_spoke": "mail ann@example.org",
             "delegations": ["ann@example.org"], "extra": {"to": "ann@example.org"}},
        )  # fmt: skip
        page = listed(woman)
        assert "ann@" not in json.dumps(page)
        one = page["items"][0]
        assert (one["request"], one["masked"], one["pii_kinds"]) == ("Write to [EMAIL]", True, ["email"])
        assert json.dumps(listed(woman, "?masked=false")).count("ann@example.org") == 4

    def test_covering_a_word_of_ours_hides_no_member(self, plain: Client, woman: Client) -> None:
        sent(
            plain,
            {
                "id": "one",
                "request": "api_key=delegations password: extra",
                "delegations": ["a"],
                "extra": {"n": 1},
            },
        )
        one = listed(woman)["items"][0]
        assert one["masked"]
        assert (one["id"], one["delegations"], list(one["extra"].values())) == ("one", ["a"], [1])

    def test_what_an_agent_reads_is_recorded(self, agent: Client, plain: Client, woman: Client) -> None:
        sent(plain, {"request": "x"})
        problem(plain.json("get", EVENTS), 403, "auth.forbidden")
        listed(woman)
        listed(agent)
        with owner_scope(agent.actor.owner_id):
            read = AuditEvent.objects.get(object_kind="turn_events")
            assert (read.actor, read.verb, read.count) == (agent.actor.label, "read", 1)

    def test_others_see_nothing(self, plain: Client, stranger: Client) -> None:
        sent(plain, {"request": "Secret"})
        assert listed(stranger)["items"] == []
        problem(stranger.json("get", f"{EVENTS}?agent={plain.actor.agent_id}"), 404, "agent.unknown")

    @pytest.mark.parametrize("column", ["request", "details"])
    def test_a_row_that_does_not_open_spoils_no_other(
        self, alice: Actor, plain: Client, woman: Client, column: str
    ) -> None:
        sent(plain, {"events": [{"request": "Whole"}, {"request": "Broken"}]})
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            row = TurnEvent.objects.order_by("-occurred_at", "-pk").last()
            assert row is not None
            cursor.execute(
                f"UPDATE telemetry_turnevent SET {column} = 'enc:v1:AAAA' WHERE owner_id = %s AND id = %s",
                [alice.owner_id, row.pk],
            )
        page = listed(woman)
        assert page["unreadable"] == 1
        assert sorted(one["unreadable"] for one in page["items"]) == [False, True]
        table = woman.json("get", f"{EVENTS}?format=csv")
        assert table.status_code == 200

    def test_a_spoke_whose_name_does_not_open(self, alice: Actor, plain: Client, woman: Client) -> None:
        sent(plain, {"request": "x"})
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute("UPDATE telemetry_spoke SET name = 'rubbish' WHERE owner_id = %s", [alice.owner_id])
        one = listed(woman)["items"][0]
        assert (one["request"], one["matched_spoke"], one["unreadable"]) == ("x", None, True)


class TestCsv:
    @pytest.mark.parametrize(("query", "accept"), [("?format=csv", "application/json"), ("", "text/csv")])
    def test_a_table(self, plain: Client, woman: Client, query: str, accept: str) -> None:
        sent(plain, {"events": [{"request": 'One, "two"\nthree'}, {"request": "=HYPERLINK(1)"}, {"request": "-1"}]})
        response = woman.json("get", f"{EVENTS}{query}", Accept=accept)
        assert response["Content-Type"] == "text/csv; charset=utf-8"
        assert "turn-events.csv" in response["Content-Disposition"]
        rows = list(csv.DictReader(io.StringIO(response.content.decode(), newline="")))
        assert sorted(row["request"] for row in rows) == ["'-1", "'=HYPERLINK(1)", 'One, "two"\nthree']
        assert {row["matched_spoke"] for row in rows} == {"direct"}

    def test_pages(self, plain: Client, woman: Client) -> None:
        sent(plain, {"events": [{"request": f"R{number}"} for number in range(3)]})
        first = woman.json("get", f"{EVENTS}?format=csv&limit=2")
        second = woman.json("get", f"{EVENTS}?format=csv&limit=2&cursor={first['X-Loci-Next']}")
        assert len(first.content.splitlines()) == 3
        assert len(second.content.splitlines()) == 2
        assert "X-Loci-Next" not in second

    def test_errors_stay_problems(self, woman: Client) -> None:
        problem(woman.json("get", f"{EVENTS}?days=0", Accept="text/csv"), 422, "days.out_of_range")
        problem(woman.json("get", EVENTS, Accept="text/html"), 406, "accept.unsupported")

    def test_the_query_counts_for_more_than_the_header(self, woman: Client) -> None:
        assert woman.json("get", f"{EVENTS}?format=json", Accept="text/csv").json()["items"] == []


def test_permissions(alice: Actor, make_client: Maker) -> None:
    writer = make_client(alice, "writer", scopes=[Permission.TELEMETRY_WRITE])
    reader = make_client(alice, "reader", scopes=[Permission.TELEMETRY_READ])
    sent(writer, {"request": "x"})
    assert len(listed(reader)["items"]) == 1
    problem(writer.json("get", EVENTS), 403, "auth.forbidden")
    problem(reader.json("post", EVENTS, {"request": "x"}), 403, "auth.forbidden")
