"""The coverage report over stored turns: what it counts, which windows it knows, and how its clusters are opened."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from memory.errors import InvalidInput, NotFound, OwnerRequired, PermissionRefused
from memory.models import AuditEvent, current_owner, owner_scope
from memory.services.actors import Actor
from memory.services.agents import authenticate
from memory.services.clock import set_clock
from memory.services.purge.caches import forget_owner
from telemetry.models import Spoke, TurnEvent
from telemetry.services.coverage import analysis, reporting, rows
from telemetry.services.coverage.cache import reports
from telemetry.services.coverage.parts import CoverageReport
from telemetry.services.coverage.reporting import ReportRequest, cluster_events, coverage_report
from telemetry.services.turns.drafts import TurnDraft
from telemetry.services.turns.recording import record_events
from telemetry.services.turns.test_mode import set_test_mode

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 5, 20, 12, 0, 30, tzinfo=UTC)
# The stub embedder knows letters: requests of the same few letters are alike, and these two sorts are not.
TAXES = ("aaaa taxes", "aaaa taxes please", "aaaa taxes now")
FLIGHTS = ("~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ flights", "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ flights soon")


class Standing:
    """A clock that stands until a test moves it."""

    def __init__(self) -> None:
        self.at = NOON

    def now(self) -> datetime:
        return self.at


@pytest.fixture(autouse=True)
def clock() -> Iterator[Standing]:
    standing = Standing()
    set_clock(standing)
    yield standing
    set_clock(None)


@pytest.fixture(autouse=True)
def _without_vectors(settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "none"


@pytest.fixture
def letters(settings: Any) -> None:
    """Compare requests by their letters."""
    settings.EMBEDDING_PROVIDER = "stub"


def told(
    actor: Actor, requests: Sequence[str], *, spoke: str = "direct", outcome: str = "completed", days_ago: float = 0
) -> None:
    """Record a turn for each request, one second apart, the first the newest."""
    at = NOON - timedelta(days=days_ago)
    drafts = [
        TurnDraft(request=one, matched_spoke=spoke, outcome=outcome, timestamp=at - timedelta(seconds=place))
        for place, one in enumerate(requests)
    ]
    record_events(actor=actor, events=drafts)


def report_of(actor: Actor, **values: object) -> CoverageReport:
    return coverage_report(actor=actor, request=ReportRequest(**values))  # type: ignore[arg-type]


def events_of(
    actor: Actor, key: str, *, after: tuple[datetime, UUID] | None = None, size: int = 50, **values: object
) -> list[str | None]:
    request = ReportRequest(**values)  # type: ignore[arg-type]
    return [one.request for one in cluster_events(actor=actor, request=request, key=key, after=after, size=size)]


class TestNumbers:
    def test_nothing_recorded_is_an_empty_report(self, alice: Actor) -> None:
        report = report_of(alice)
        assert (report.total_turns, report.fallback_rate, report.failure_rate) == (0, 0.0, 0.0)
        assert (report.clusters, report.top_failures, report.pareto, report.next_spoke) == ((), (), (), None)
        assert report.coverage_by_spoke == {}
        assert report.decision_hint.startswith("No data")
        assert len(report.trend) == 15
        assert (report.stream, report.test_mode, report.pending, report.pending_requests) == ("live", False, False, 0)

    def test_clusters_by_spoke_where_there_are_no_vectors(self, alice: Actor) -> None:
        told(alice, ["a", "b", "c"], spoke="calendar")
        told(alice, ["d"], spoke="calendar", outcome="failed")
        told(alice, ["e"], spoke="calendar", outcome="timeout")
        told(alice, ["f", "g"], spoke="fallback")
        told(alice, ["h"], spoke="delegate_task", outcome="failed")
        told(alice, ["i"], spoke="")
        report = report_of(alice)
        assert report.total_turns == 9
        assert (report.fallback_rate, report.failure_rate) == (0.3333, 0.3333)
        assert [(one.matched_spokes, one.count) for one in report.clusters] == [
            (("fallback",), 2),
            (("delegate_task",), 1),
            (("calendar",), 5),
            (("direct",), 1),
        ]
        assert [one.fallback_rate for one in report.clusters] == [1.0, 1.0, 0.0, 0.0]
        assert [one.label for one in report.clusters][0] == "Requests handed to fallback"
        # What no real spoke had taken is no failure of one.
        assert [(one.matched_spokes, one.missed_count) for one in report.top_failures] == [(("calendar",), 2)]
        assert list(report.coverage_by_spoke) == ["calendar", "fallback", "delegate_task", "direct"]
        calendar = report.coverage_by_spoke["calendar"]
        assert (calendar.count, calendar.failure_count, calendar.failure_rate, calendar.share) == (5, 2, 0.4, 0.5556)
        assert (calendar.is_fallback, report.coverage_by_spoke["fallback"].is_fallback) == (False, True)
        assert (report.degraded, report.pending, report.pending_requests) == ("embedder.none", False, 9)
        assert [(bar.label, bar.fallback_count, bar.cumulative) for bar in report.pareto] == [
            ("Requests handed to fallback", 2, 0.6667),
            ("Requests handed to delegate_task", 1, 1.0),
        ]
        assert report.next_spoke is None

    @pytest.mark.usefixtures("letters")
    def test_clusters_by_what_was_asked(self, alice: Actor) -> None:
        told(alice, [*TAXES, TAXES[0]], spoke="fallback")
        told(alice, [TAXES[0]], spoke="money", outcome="failed")
        told(alice, [*FLIGHTS, *FLIGHTS], spoke="travel")
        report = report_of(alice)
        assert [(one.count, one.fallback_count, one.by_vector) for one in report.clusters] == [
            (5, 4, True),
            (4, 0, True),
        ]
        taxes, flights = report.clusters
        assert taxes.label == taxes.sample_requests[0] == TAXES[0]
        assert taxes.sample_request == TAXES[1]
        assert set(taxes.sample_requests) == set(TAXES)
        assert taxes.matched_spokes == ("fallback", "money")
        assert (taxes.fallback_rate, taxes.failure_rate) == (0.8, 0.2)
        assert flights.sample_request == FLIGHTS[1]
        assert [one.key for one in report.top_failures] == [taxes.key]
        assert report.next_spoke is not None
        assert (report.next_spoke.key, report.next_spoke.covers) == (taxes.key, 4)
        assert report.next_spoke.fallback_rate_after == 0.0
        assert (report.cluster_count, report.fallback_clusters) == (2, 1)

    @pytest.mark.usefixtures("letters")
    def test_the_list_is_cut_at_top_n_and_the_bars_still_add_up(self, alice: Actor) -> None:
        told(alice, [TAXES[0]] * 3, spoke="fallback")
        told(alice, [FLIGHTS[0]] * 2, spoke="generic")
        report = report_of(alice, top_n=1)
        assert [one.count for one in report.clusters] == [3]
        assert report.cluster_count == report.fallback_clusters == 2
        assert [(bar.key == "", bar.label, bar.fallback_count, bar.cumulative) for bar in report.pareto] == [
            (False, TAXES[0], 3, 0.6),
            (True, "All others", 2, 1.0),
        ]

    @pytest.mark.usefixtures("letters")
    def test_the_hint_counts_clusters_of_fallbacks_and_not_all(self, alice: Actor) -> None:
        for length in (3, 7, 15, 31):
            told(alice, [f"{number:0{length}}" for number in range(13)], spoke="calendar")
        told(alice, ["0" * 64] * 5, spoke="fallback")
        report = report_of(alice)
        assert (report.cluster_count, report.fallback_clusters) == (5, 1)
        assert report.decision_hint.startswith("Add spokes")


class TestWindow:
    def test_days_and_end(self, alice: Actor) -> None:
        for days in (0, 3, 13.9, 14.1, 20):
            told(alice, [f"asked {days}"], days_ago=days)
        assert report_of(alice).total_turns == 3
        assert report_of(alice, days=30).total_turns == 5
        assert report_of(alice, days=1).total_turns == 1
        earlier = report_of(alice, days=5, until=NOON - timedelta(days=12))
        assert earlier.total_turns == 2
        assert earlier.window == (NOON - timedelta(days=17), NOON - timedelta(days=12))
        assert sum(day.turns for day in earlier.trend) == 2
        assert [(day.day.isoformat(), day.turns) for day in report_of(alice, days=3).trend] == [
            ("2026-05-17", 1),
            ("2026-05-18", 0),
            ("2026-05-19", 0),
            ("2026-05-20", 1),
        ]

    def test_an_end_that_lies_ahead_is_now(self, alice: Actor) -> None:
        assert report_of(alice, until=NOON + timedelta(days=90)).window[1] == NOON + timedelta(seconds=30)

    def test_one_agent(self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]) -> None:
        agent, _ = make_agent(alice)
        told(agent, ["by the agent"])
        told(alice, ["by hand", "by hand again"])
        assert report_of(alice).total_turns == 3
        assert report_of(alice, agent=agent.agent_id).total_turns == 1
        assert report_of(alice, agent=str(agent.agent_id)).total_turns == 1

    def test_streams(self, alice: Actor) -> None:
        told(alice, ["real"])
        set_test_mode(actor=alice, enabled=True)
        told(alice, ["a test", "another test"])
        report = report_of(alice)
        assert (report.stream, report.test_mode, report.total_turns) == ("test", True, 2)
        live = report_of(alice, stream="live")
        assert (live.stream, live.test_mode, live.total_turns) == ("live", True, 1)
        set_test_mode(actor=alice, enabled=False)
        assert (report_of(alice).stream, report_of(alice).total_turns) == ("live", 1)
        assert report_of(alice, stream="test").total_turns == 0

    @pytest.mark.parametrize(
        ("values", "code"),
        [
            ({"days": 0}, "days.out_of_range"),
            ({"days": 31}, "days.out_of_range"),
            ({"top_n": 0}, "top_n.out_of_range"),
            ({"top_n": 101}, "top_n.out_of_range"),
            ({"stream": "dead"}, "stream.invalid"),
            ({"agent": "nobody"}, "id.invalid"),
            ({"until": datetime(2026, 5, 1)}, "until.invalid"),  # noqa: DTZ001
        ],
    )
    def test_bad_input(self, alice: Actor, values: dict[str, object], code: str) -> None:
        with pytest.raises(InvalidInput) as raised:
            report_of(alice, **values)
        assert raised.value.machine_code == code

    def test_an_unknown_agent(self, alice: Actor, make_owner: Callable[..., Actor]) -> None:
        for values in ({"agent": uuid4()}, {"agent": str(uuid4())}):
            with pytest.raises(NotFound) as raised:
                report_of(alice, **values)
            assert raised.value.machine_code == "agent.unknown"


class TestClusterEvents:
    @pytest.mark.usefixtures("letters")
    def test_pages_of_one_cluster(self, alice: Actor) -> None:
        told(alice, [*TAXES, FLIGHTS[0]] * 3, spoke="fallback")
        taxes, flights = report_of(alice).clusters
        assert (taxes.count, flights.count) == (9, 3)
        request, seen, after = ReportRequest(), [], None
        while page := cluster_events(actor=alice, request=request, key=taxes.key, after=after, size=4):
            seen += [one.request for one in page]
            after = page[-1].occurred_at, page[-1].event_id
        assert seen == list(TAXES) * 3
        assert events_of(alice, flights.key) == [FLIGHTS[0]] * 3

    def test_turns_of_the_same_moment_are_not_lost_between_pages(self, alice: Actor) -> None:
        drafts = [TurnDraft(request=f"asked {number}", timestamp=NOON) for number in range(7)]
        record_events(actor=alice, events=drafts)
        (cluster,) = report_of(alice).clusters
        request, seen, after = ReportRequest(), [], None
        while page := cluster_events(actor=alice, request=request, key=cluster.key, after=after, size=2):
            seen += [one.request for one in page]
            after = page[-1].occurred_at, page[-1].event_id
        assert len(seen) == 7
        assert set(seen) == {draft.request for draft in drafts}

    @pytest.mark.usefixtures("letters")
    def test_keys_are_those_of_the_same_rows(self, alice: Actor, clock: Standing) -> None:
        told(alice, [*TAXES, *FLIGHTS])
        keys = [one.key for one in report_of(alice).clusters]
        reports.forget()
        assert [one.key for one in report_of(alice).clusters] == keys
        # A link still works when turns have come since.
        clock.at += timedelta(hours=1)
        told(alice, [TAXES[1], "aaaa taxes of this year"])
        assert report_of(alice).total_turns == 7
        for key, count in zip(keys, (5, 2), strict=True):
            assert len(events_of(alice, key)) == count
        assert len({one.key for one in report_of(alice).clusters}) == 2

    def test_a_cluster_by_spoke_goes_when_requests_are_compared(self, alice: Actor, settings: Any) -> None:
        told(alice, [*TAXES], spoke="fallback")
        (by_spoke,) = report_of(alice).clusters
        assert events_of(alice, by_spoke.key) == list(TAXES)
        settings.EMBEDDING_PROVIDER = "stub"
        (by_vector,) = report_of(alice).clusters
        assert by_vector.key != by_spoke.key
        with pytest.raises(NotFound) as raised:
            events_of(alice, by_spoke.key)
        assert raised.value.machine_code == "coverage.cluster_unknown"

    @pytest.mark.parametrize(
        "key",
        [
            *("", "r", "r-", "s-", "r-zz", "s-zz", "x-0000000000000001", "r-0000000000000001"),
            *("s-0190aaaa000070008000000000000000", "r-" + "f" * 40, "r--1", "\0", "r-é"),
        ],
    )
    def test_an_unknown_key(self, alice: Actor, key: str) -> None:
        told(alice, ["asked"])
        with pytest.raises(NotFound) as raised:
            events_of(alice, key)
        assert raised.value.machine_code == "coverage.cluster_unknown"

    def test_the_key_of_another_owner_is_unknown(self, alice: Actor, make_owner: Callable[..., Actor]) -> None:
        other = make_owner("mallory")
        told(alice, ["asked"])
        told(other, ["asked"])
        (cluster,) = report_of(alice).clusters
        with pytest.raises(NotFound):
            events_of(other, cluster.key)


class TestTexts:
    def test_personal_data_is_covered(self, alice: Actor) -> None:
        told(alice, ["Write to ann.smith@example.org about the invoice"], spoke="fallback")
        told(alice, ["short"], spoke="fallback")
        (cluster,) = report_of(alice).clusters
        assert cluster.sample_request == "Write to [EMAIL] about the invoice"
        assert "ann.smith" not in str(report_of(alice))
        assert set(events_of(alice, cluster.key)) == {"Write to [EMAIL] about the invoice", "short"}

    def test_long_requests_are_cut_after_they_were_covered(self, alice: Actor) -> None:
        told(alice, ["x" * 190 + " ann.smith@example.org and more " + "y" * 200], spoke="fallback")
        (cluster,) = report_of(alice).clusters
        assert len(cluster.sample_requests[0]) == 200
        assert "ann" not in cluster.sample_requests[0]
        assert len(cluster.sample_request) > 400

    def test_rows_that_do_not_open_spoil_nothing(self, alice: Actor) -> None:
        told(alice, ["readable", "also readable"], spoke="fallback")
        told(alice, ["of another part"], spoke="calendar")
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute(
                "UPDATE telemetry_turnevent SET request = 'enc:v1:' || repeat('A', 100) WHERE id = %s",
                [TurnEvent.objects.order_by("-occurred_at").first().pk],
            )
            cursor.execute(
                "UPDATE telemetry_spoke SET name = 'enc:v1:' || repeat('A', 60) WHERE id = %s",
                [next(one.pk for one in Spoke.objects.all() if one.name == "calendar")],
            )
        report = report_of(alice)
        assert report.total_turns == 3
        assert "name cannot be read" in report.coverage_by_spoke
        assert {text for one in report.clusters for text in one.sample_requests} < {
            "readable",
            "also readable",
            "of another part",
        }
        for one in report.clusters:
            assert len(events_of(alice, one.key)) == one.count


class TestAccess:
    def test_an_agent_needs_the_permission_and_its_read_is_recorded(
        self, alice: Actor, make_agent: Callable[..., tuple[Actor, str]]
    ) -> None:
        told(alice, ["asked"])
        plain, _ = make_agent(alice)
        for call in (lambda actor: report_of(actor), lambda actor: events_of(actor, "r-1")):
            with pytest.raises(PermissionRefused):
                call(plain)
        reader, secret = make_agent(alice, "reader", scopes=["telemetry:read"])
        reader = authenticate(secret)
        (cluster,) = report_of(reader).clusters
        assert events_of(reader, cluster.key) == ["asked"]
        with owner_scope(alice.owner_id):
            read = AuditEvent.objects.filter(verb=AuditEvent.READ, object_kind="coverage")
            assert read.count() == 2

    def test_a_person_of_another_owner_sees_nothing(self, alice: Actor, make_owner: Callable[..., Actor]) -> None:
        told(alice, ["asked"])
        assert report_of(make_owner("mallory")).total_turns == 0


class TestAtTheSameTime:
    def test_a_spoke_that_goes_between_the_statements_takes_its_turns_along(
        self, alice: Actor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        told(alice, ["stays"], spoke="calendar")
        told(alice, ["goes", "goes too"], spoke="mail")
        names = rows._spoke_names

        def after_a_removal(ids: list[UUID]) -> Any:
            gone = next(one.pk for one in Spoke.objects.all() if one.name == "mail")
            TurnEvent.objects.filter(spoke_id=gone).delete()
            Spoke.objects.filter(pk=gone).delete()
            return names(ids)

        monkeypatch.setattr(rows, "_spoke_names", after_a_removal)
        report = report_of(alice)
        assert (report.total_turns, list(report.coverage_by_spoke)) == (1, ["calendar"])

    def test_requests_are_grouped_outside_of_the_scope(self, alice: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        told(alice, ["asked"])
        analyse, grouped = analysis.analyse, []

        def outside(loaded: Any) -> Any:
            with pytest.raises(OwnerRequired):
                current_owner()
            grouped.append(len(loaded.turns))
            return analyse(loaded)

        monkeypatch.setattr(reporting, "analyse", outside)
        assert report_of(alice).total_turns == 1
        assert grouped == [1]

    def test_pages_get_a_large_report_of_a_moment_ago(
        self, alice: Actor, clock: Standing, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def live() -> CoverageReport:
            return coverage_report(actor=alice, request=ReportRequest(), live=True)

        told(alice, ["a", "b"], days_ago=1)
        assert live().total_turns == 2
        told(alice, ["c"], days_ago=1)
        assert (live().total_turns, live().outdated) == (3, False)
        monkeypatch.setattr(reporting, "MANY_TURNS", 2)
        told(alice, ["d"], days_ago=1)
        clock.at += timedelta(seconds=4)
        found = live()
        assert (found.total_turns, found.outdated, found.as_of) == (3, True, NOON)
        assert report_of(alice).total_turns == 4
        told(alice, ["e"], days_ago=1)
        clock.at += timedelta(seconds=5)
        found = live()
        assert (found.total_turns, found.outdated, found.as_of) == (5, False, clock.at)

    def test_switched_off_it_says_so(self, alice: Actor, settings: Any) -> None:
        told(alice, ["asked"])
        assert report_of(alice).enabled
        settings.TELEMETRY_ENABLED = False
        assert (report_of(alice).enabled, report_of(alice).total_turns) == (False, 1)


class TestCost:
    """Statements, however many turns there are."""

    def statements(self, actor: Actor, **values: object) -> int:
        with CaptureQueriesContext(
            connection,
        ) as caught:
            report_of(actor, **values)
        return len([one for one in caught if "SAVEPOINT" not in one["sql"]])

    @pytest.mark.usefixtures("letters")
    def test_statements_of_a_report(self, alice: Actor) -> None:
        told(alice, [*TAXES, *FLIGHTS], spoke="fallback")
        report_of(alice)
        reports.forget()
        few = self.statements(alice)
        told(alice, [f"{letter * 20} {number}" for letter in "0aA" for number in range(20)], spoke="calendar")
        report_of(alice)
        reports.forget()
        assert self.statements(alice) == few <= 12

    def test_a_report_of_the_same_rows_is_remembered_and_forgotten(self, alice: Actor) -> None:
        told(alice, ["asked"])
        first = report_of(alice)
        assert report_of(alice) is first
        again = self.statements(alice)
        assert again <= 3
        assert report_of(alice, top_n=3) is not first
        told(alice, ["asked again"])
        assert report_of(alice).total_turns == 2
        forget_owner(alice.owner_id)
        assert self.statements(alice) > again

    def test_other_windows_are_other_reports(self, alice: Actor, clock: Standing) -> None:
        told(alice, ["asked"])
        first = report_of(alice)
        clock.at += timedelta(seconds=20)
        assert report_of(alice) is first
        clock.at += timedelta(seconds=20)
        assert report_of(alice) is not first
