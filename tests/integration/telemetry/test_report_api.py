"""The coverage report over REST and by command."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from memory.ids import new_id
from memory.services.actors import Actor
from telemetry.services.turns.test_mode import set_test_mode
from tests.integration.api.conftest import Client
from tests.integration.telemetry.telling import WEEK, tell, tell_a_week

pytestmark = pytest.mark.django_db

REPORT = "/telemetry/pipeline-coverage"
PUBLISHED = (
    "total_turns",
    "fallback_rate",
    "failure_rate",
    "clusters",
    "top_failures",
    "coverage_by_spoke",
    "decision_hint",
    "window_days",
)
TURNS = sum(times for _, _, times, _ in WEEK)


@pytest.fixture(autouse=True)
def _without_vectors(settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def asked(client: Client, path: str, **headers: str) -> Any:
    return client.json("get", path, **headers)


class TestRest:
    def test_the_published_members_and_more(self, woman: Client) -> None:
        tell_a_week(woman.actor)
        answer = asked(woman, REPORT)
        assert answer.status_code == 200
        report = answer.json()
        assert set(PUBLISHED) < set(report)
        assert (report["total_turns"], report["window_days"], report["stream"]) == (TURNS, 14, "live")
        assert report["fallback_rate"] == round(14 / TURNS, 4)
        assert report["coverage_by_spoke"]["travel"] == {
            "count": 12,
            "failure_count": 1,
            "failure_rate": 0.0833,
            "share": round(12 / TURNS, 4),
            "is_fallback": False,
        }
        assert len(report["trend"]) == 15
        assert report["pareto"][-1]["cumulative"] == 1.0
        assert report["degraded"] == "embedder.none"

    def test_what_is_asked_for(self, woman: Client) -> None:
        tell_a_week(woman.actor)
        answer = asked(woman, f"{REPORT}?days=3&top_n=1&stream=live")
        report = answer.json()
        assert (report["window_days"], len(report["clusters"])) == (3, 1)
        assert 0 < report["total_turns"] < TURNS
        assert asked(woman, f"{REPORT}?until=2020-01-01").json()["total_turns"] == 0

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("days=0", "days.out_of_range"),
            ("days=31", "days.out_of_range"),
            ("days=x", "field.type"),
            ("top_n=101", "top_n.out_of_range"),
            ("stream=both", "stream.invalid"),
            ("agent=1", "id.invalid"),
            ("until=never", "date.invalid"),
            ("format=xml", "format.invalid"),
            ("window=3", "query.unknown"),
        ],
    )
    def test_bad_input(self, woman: Client, query: str, code: str) -> None:
        answer = asked(woman, f"{REPORT}?{query}")
        assert answer.status_code == 422
        assert answer.json()["code"] == code

    def test_an_unknown_agent(self, woman: Client) -> None:
        answer = asked(woman, f"{REPORT}?agent=01890000-0000-7000-8000-000000000000")
        assert (answer.status_code, answer.json()["code"]) == (404, "agent.unknown")

    def test_clusters_as_a_table_without_formulas(self, woman: Client) -> None:
        tell(woman.actor, '=HYPERLINK("http://example.org","click")', matched_spoke="=cmd")
        for answer in (asked(woman, f"{REPORT}?format=csv"), asked(woman, REPORT, Accept="text/csv")):
            assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
            (row,) = rows_of(answer.content.decode())
            assert row["sample_request"].startswith("'=HYPERLINK")
            assert (row["count"], row["label"]) == ("1", "Requests handed to =cmd")
            assert json.loads(row["matched_spokes"]) == ["=cmd"]
        answer = asked(woman, f"{REPORT}?format=json", Accept="text/csv")
        assert answer.headers["Content-Type"] == "application/json"

    def test_the_requests_of_a_cluster_by_pages(self, woman: Client) -> None:
        tell_a_week(woman.actor)
        cluster = next(one for one in asked(woman, REPORT).json()["clusters"] if one["matched_spokes"] == ["travel"])
        seen, cursor = [], ""
        while True:
            page = asked(woman, f"{REPORT}/clusters/{cluster['key']}?limit=5{cursor}").json()
            seen += page["items"]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert len(seen) == cluster["count"] == 12
        assert {one["matched_spoke"] for one in seen} == {"travel"}
        assert [one["timestamp"] for one in seen] == sorted((one["timestamp"] for one in seen), reverse=True)

    def test_a_stale_key(self, woman: Client) -> None:
        tell_a_week(woman.actor)
        key = asked(woman, REPORT).json()["clusters"][0]["key"]
        assert asked(woman, f"{REPORT}/clusters/{key}").status_code == 200
        for stale in (f"{REPORT}/clusters/{key}?until=2020-01-01", f"{REPORT}/clusters/r-1"):
            answer = asked(woman, stale)
            assert (answer.status_code, answer.json()["code"]) == (404, "coverage.cluster_unknown")


def run(*words: str) -> str:
    out = io.StringIO()
    call_command("telemetry", *words, stdout=out)
    return out.getvalue()


class TestCommand:
    def test_lines_json_and_csv(self, alice: Actor) -> None:
        tell_a_week(alice)
        lines = run("report", "--owner", "alice")
        assert f"{TURNS} turns of the live stream" in lines
        assert "Requests handed to fallback" in lines
        assert "Collect more data" in lines
        report = json.loads(run("report", "--owner", "alice", "--json"))
        assert set(PUBLISHED) < set(report)
        assert report["total_turns"] == TURNS
        assert report["decision_hint"].startswith("Collect more data")
        assert "hint" not in report
        rows = rows_of(run("report", "--owner", "alice", "--csv"))
        assert [int(row["count"]) for row in rows] == [one["count"] for one in report["clusters"]]

    def test_options(self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
        tell_a_week(alice)
        set_test_mode(actor=alice, enabled=True)
        lines = run("report", "--owner", "alice")
        assert "TEST MODE IS ON" in lines
        assert "0 turns of the test stream" in lines
        with override_settings(TELEMETRY_ENABLED=False):
            assert "TELEMETRY IS SWITCHED OFF" in run("report", "--owner", "alice")
            assert json.loads(run("report", "--owner", "alice", "--json"))["enabled"] is False
        assert "SWITCHED OFF" not in run("report", "--owner", "alice")
        lines = run("report", "--owner", "alice", "--stream", "live", "--top-n", "1", "--days", "30")
        assert "and 2 more clusters" in lines
        agent, _ = make_agent(alice, "Violet")
        for named in (str(agent.agent_id), "Violet", "violet"):
            assert "0 turns" in run("report", "--owner", "alice", "--stream", "live", "--agent", named)
        for named in (str(new_id()), "scribe", ""):
            with pytest.raises(CommandError, match=r"no agent of this name or id here.*agent\.unknown"):
                run("report", "--owner", "alice", "--agent", named)

    def test_csv_and_json_are_two_forms(self, alice: Actor) -> None:
        for words in (("--csv", "--json"), ("--json", "--csv")):
            with pytest.raises(CommandError, match="not allowed with argument"):
                run("report", "--owner", "alice", *words)

    @pytest.mark.parametrize("words", [("--days", "99"), ("--days", "0"), ("--top-n", "101")])
    def test_what_cannot_be_used_is_refused_with_its_option(self, alice: Actor, words: tuple[str, str]) -> None:
        with pytest.raises(CommandError, match=f"argument {words[0]}: '{words[1]}' is no "):
            run("report", "--owner", "alice", *words)
