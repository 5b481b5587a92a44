"""The time arm: what it finds, in which order, for whom, and what it looks at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from memory.models import Memory, owner_scope
from memory.recall import time_window
from memory.recall.filters import Filters
from memory.recall.query import Query
from memory.services import clock
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import recall
from memory.services.remember import remember_many
from memory.services.retirement import archive_memory
from memory.text.dates import TimeSpan

NOW = datetime(2023, 5, 17, 12, tzinfo=UTC)
HOUR = "'2022-01-01Z'::timestamptz + n * interval '1 hour'"


@pytest.fixture(autouse=True)
def fixed_time() -> Iterator[None]:
    clock.set_clock(type("Fixed", (), {"now": staticmethod(lambda: NOW)})())
    yield
    clock.set_clock(None)


def store(actor: Actor, *said: tuple[str, datetime], **draft: Any) -> list[UUID]:
    results = remember_many(
        actor=actor, drafts=[Draft(text=text, occurred_at=moment, **draft) for text, moment in said]
    )
    return [result.stored.memory_id for result in results if result.stored]


def ask(actor: Actor, text: str, *, reference: datetime = NOW, limit: int = 50, **changes: Any) -> dict[UUID, float]:
    query = replace(prepare_query(actor, text, RecallRequest(query=text)), **changes)
    with owner_scope(actor.owner_id):
        return time_window.search(query, time_window.windows(text, reference), limit)


def day(number: int, month: int = 5, year: int = 2023) -> datetime:
    return datetime(year, month, number, 9, tzinfo=UTC)


class TestWhatIsFound:
    def test_yesterday_with_and_without_a_reference(self, alice: Actor) -> None:
        failed, other, told = store(
            alice,
            ("Yesterday the sensor failed.", day(4)),
            ("The sensor works.", day(16)),
            ("The sensor failed on 16 May 2023.", day(1)),
        )
        assert list(ask(alice, "What happened yesterday?")) == [told, other]
        assert list(ask(alice, "What happened yesterday?", reference=day(4))) == [failed]
        assert ask(alice, "yesterday", reference=day(17, year=2020)) == {}

    def test_nothing_without_a_date_phrase(self, alice: Actor) -> None:
        store(alice, ("Yesterday the sensor failed.", day(4)))
        with CaptureQueriesContext(connection) as captured:
            assert time_window.windows("May I ask what failed?", NOW) == []
        assert len(captured) == 0
        assert ask(alice, "May I ask what failed?") == {}

    @pytest.mark.parametrize(
        ("text", "fits"),
        [
            ("It was on 3 March 2022.", 0.6), ("It was in March 2022.", 1.0), ("It was in spring 2022.", 0.3),
            ("It was in 2022.", 0.1), ("It was in April 2022.", None), ("It was on 1 January 2021.", None),
        ],
    )  # fmt: skip
    def test_how_well_a_mention_fits(self, alice: Actor, text: str, fits: float | None) -> None:
        (memory_id,) = store(alice, (text, day(1)))
        found = ask(alice, "What was in March 2022?")
        assert found == ({} if fits is None else {memory_id: pytest.approx(fits, abs=0.001)})

    def test_what_happened_then_counts_a_half(self, alice: Actor) -> None:
        (memory_id,) = store(alice, ("The sensor works.", day(3)))
        assert ask(alice, "in May 2023") == {memory_id: pytest.approx(0.5, abs=0.001)}

    @pytest.mark.parametrize(
        ("question", "expected"),
        [("before 2022", [0]), ("after 2021", [2, 1]), ("since May 2022", [2, 1]), ("until May 2022", [1, 0]),
         ("between 2021 and 2022", [1, 0]), ("in the 1990s", []), ("in 2021 or in May 2023", [0, 2])],
    )  # fmt: skip
    def test_open_and_several_windows(self, alice: Actor, question: str, expected: list[int]) -> None:
        ids = store(alice, *((f"Number {year}.", day(3, 5, year)) for year in (2021, 2022, 2023)))
        assert set(ask(alice, question)) == {ids[place] for place in expected}

    def test_an_empty_store(self, alice: Actor) -> None:
        assert ask(alice, "before 2022") == {}
        assert ask(alice, "yesterday") == {}


class TestWhoSeesWhat:
    def test_strangers_see_nothing(self, alice: Actor, mallory: Actor) -> None:
        (memory_id,) = store(alice, ("Yesterday the sensor failed.", day(17)))
        assert ask(mallory, "yesterday") == {}
        assert list(ask(alice, "yesterday")) == [memory_id]
        query = prepare_query(mallory, "yesterday", RecallRequest(query="yesterday"))
        with owner_scope(mallory.owner_id):
            assert time_window.complete(query, time_window.windows("yesterday", NOW), [memory_id]) == {}

    def test_archived_and_expired_rows_stay_out(self, alice: Actor) -> None:
        archived, expiring, kept = store(
            alice, ("One on 16 May 2023.", day(1)), ("Two on 16 May 2023.", day(1)), ("Three on 16 May 2023.", day(1))
        )
        archive_memory(actor=alice, memory_id=archived)
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk=expiring).update(expires_at=NOW)
        assert list(ask(alice, "yesterday")) == [kept]

    def test_scopes(self, alice: Actor, make_agent: Callable[..., Any]) -> None:
        one, _ = make_agent(alice, "one")
        two, _ = make_agent(alice, "two")
        said = [("Yesterday it failed.", day(17)), ("It works.", day(16))]
        drafts = [Draft(text=text, occurred_at=moment) for text, moment in said]
        remember_many(actor=one, drafts=drafts, scope="agent")
        assert len(ask(one, "yesterday")) == 2
        assert ask(two, "yesterday") == {}

    def test_filters_hold_for_both_ways(self, alice: Actor) -> None:
        (note,) = store(alice, ("It failed yesterday.", day(17)), kind="note")
        (fact,) = store(alice, ("It failed.", day(16)), kind="fact")
        assert list(ask(alice, "yesterday", filters=Filters(kinds=("note",)))) == [note]
        assert list(ask(alice, "yesterday", filters=Filters(kinds=("fact",)))) == [fact]


class TestOrder:
    def test_a_wide_window_is_not_answered_by_one_day(self, alice: Actor) -> None:
        busy = store(alice, *((f"Busy {number}.", day(20, 12, 2022)) for number in range(40)))
        quiet = store(alice, *((f"Quiet {month}.", day(10, month, 2022)) for month in range(1, 12)))
        found = list(ask(alice, "What happened in 2022?", limit=8, vector=None))
        assert len(found) == time_window.BUCKETS
        assert len(set(found) & set(busy)) == 1
        assert len(set(found) & set(quiet)) == time_window.BUCKETS - 1

    def test_within_a_bucket_the_closest_comes_first(self, alice: Actor) -> None:
        ids = store(
            alice,
            ("The pump in the cellar leaks.", day(10)),
            ("We ate pancakes.", day(12)),
            ("Anna sings.", day(14)),
        )
        question = "Which pump leaked in the cellar on 9-20 May 2023?"
        spans = [TimeSpan(day(10), day(10) + timedelta(hours=20), "", 0, False)]
        with owner_scope(alice.owner_id):
            Memory.objects.filter(pk__in=ids).update(occurred_at=day(10) + timedelta(hours=1))
            Memory.objects.filter(pk=ids[0]).update(occurred_at=day(10))
            query = prepare_query(alice, question, RecallRequest(query=question))
            assert next(iter(time_window.search(query, spans, 3))) == ids[0]
            newest = time_window.search(replace(query, vector=None), spans, 3)
        assert list(newest)[-1] == ids[0]

    def test_scores_fall_in_the_order_given(self, alice: Actor) -> None:
        store(alice, *((f"Number {number} on {number} May 2023.", day(number)) for number in range(1, 16)))
        for question in ("in May 2023", "on 7 May 2023", "in 2023", "since 2020"):
            scores = list(ask(alice, question).values())
            assert scores
            assert scores == sorted(scores, reverse=True)
            assert len(set(scores)) == len(scores)

    def test_the_ends_of_the_calendar(self, alice: Actor) -> None:
        store(alice, ("On 0001-01-01 it began.", day(1)), ("Number 2.", day(2)))
        assert len(ask(alice, "on 0001-01-01")) == 1
        assert ask(alice, "on 9999-12-31") == {}

    def test_limit(self, alice: Actor) -> None:
        store(alice, *((f"Number {number}.", day(number)) for number in range(1, 16)))
        assert len(ask(alice, "in May 2023", limit=5)) == 5
        assert ask(alice, "in May 2023", limit=0) == {}


class TestCompletion:
    def test_it_agrees_with_the_search(self, alice: Actor) -> None:
        texts = [
            ("On 3 March 2022.", day(1)), ("In March 2022.", day(3, 3, 2022)),
            ("Spring 2022 and 5 March 2022.", day(1)),
            ("Last year.", day(1)), ("Nothing.", day(5, 3, 2022)), ("Nothing at all.", day(5, 3, 2021)),
        ]  # fmt: skip
        ids = store(alice, *texts)
        for question in ("in March 2022", "in 2022", "on 5 March 2022", "between March and May 2022", "before 2023"):
            found = ask(alice, question)
            query = prepare_query(alice, question, RecallRequest(query=question))
            with owner_scope(alice.owner_id):
                completed = time_window.complete(query, time_window.windows(question, NOW), ids)
            assert completed == pytest.approx(found, abs=0.0011)
            assert all(completed[one] < found[one] for one in found)

    def test_without_windows_nothing_is_asked(self, alice: Actor) -> None:
        ids = store(alice, ("Yesterday.", day(1)))
        query = prepare_query(alice, "tea", RecallRequest(query="tea"))
        with owner_scope(alice.owner_id), CaptureQueriesContext(connection) as captured:
            assert time_window.complete(query, [], ids) == {}
            assert time_window.search(query, [], 5) == {}
        assert len(captured) == 0


@pytest.mark.django_db(transaction=True, databases=["default", "schema"])
class TestWhatIsLookedAt:
    """The plans at some thousand rows, and how many rows they touch whatever the store holds."""

    ROWS = 12_000

    @pytest.fixture
    def full(self, alice: Actor) -> UUID:
        """Give an owner with a row and a mention for every hour of a year and a half."""
        store(alice, ("The first.", day(1)))
        fresh = {"id": "gen_random_uuid()", "content_hash": "sha256(n::text::bytea)", "occurred_at": HOUR}
        columns = [field.column for field in Memory._meta.concrete_fields]
        values = [fresh.get(column or "", f'"{column}"') for column in columns]
        with owner_scope(alice.owner_id), connection.cursor() as cursor:
            cursor.execute(
                f"""INSERT INTO memory_memory ({", ".join(f'"{column}"' for column in columns)})
                SELECT {", ".join(values)} FROM memory_memory, generate_series(1, %s) n WHERE owner_id = %s""",
                [self.ROWS, alice.owner_id],
            )
            cursor.execute(
                """INSERT INTO memory_mentionedtime (owner_id, memory_id, starts_at, ends_at)
                SELECT owner_id, id, date_trunc('day', occurred_at), date_trunc('day', occurred_at) + interval '1 day'
                FROM memory_memory WHERE owner_id = %s""",
                [alice.owner_id],
            )
        with connections["schema"].cursor() as cursor:
            cursor.execute("ANALYZE memory_memory, memory_mentionedtime")
        connections["schema"].close()
        return alice.owner_id

    def plan(self, actor: Actor, question: str, **changes: Any) -> list[dict[str, Any]]:
        query: Query = replace(prepare_query(actor, question, RecallRequest(query=question)), **changes)
        with owner_scope(actor.owner_id):
            with CaptureQueriesContext(connection) as captured:
                time_window.search(query, time_window.windows(question, NOW), 50)
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {captured[-1]['sql']}")
                plan = cursor.fetchone()[0][0]["Plan"]
        nodes: list[dict[str, Any]] = []
        waiting = [plan]
        while waiting:
            node = waiting.pop()
            nodes.append(node)
            waiting += node.get("Plans", [])
        return nodes

    @pytest.mark.parametrize("question", ["yesterday", "in March 2022", "in 2022", "before 2023", "since 2020"])
    def test_the_indexes_are_used_and_rows_bounded(self, alice: Actor, full: UUID, question: str) -> None:
        nodes = self.plan(alice, question)
        used = {node.get("Index Name") for node in nodes}
        assert {"memory_by_occurrence", "mentioned_time_by_span"} <= used
        assert not any(
            node["Node Type"] == "Seq Scan" and node["Relation Name"] in ("memory_memory", "memory_mentionedtime")
            for node in nodes
        )

    def test_a_crowded_window_is_answered_from_end_to_end(self, alice: Actor, full: UUID) -> None:
        found = list(ask(alice, "What happened in 2022?", limit=2 * time_window.BUCKETS))
        with owner_scope(full):
            months = {row.occurred_at.month for row in Memory.objects.filter(pk__in=found)}
        assert len(months) >= time_window.BUCKETS

    @pytest.mark.parametrize("filtered", [False, True])
    def test_no_more_rows_than_the_limit(
        self, alice: Actor, full: UUID, filtered: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(time_window, "SCANNED", 800)
        monkeypatch.setattr(time_window, "KEPT", 400)
        filters = Filters(kinds=("reflection",)) if filtered else Filters()
        nodes = self.plan(alice, "in 2022", filters=filters)
        for name in ("memory_by_occurrence", "mentioned_time_by_span"):
            touched = sum(
                node["Actual Rows"] * node["Actual Loops"] for node in nodes if node.get("Index Name") == name
            )
            assert 0 < touched <= time_window.SCANNED + 8 * time_window.BUCKETS


def test_a_question_of_nothing_but_a_time_gives_what_was_then(alice: Actor) -> None:
    store(
        alice,
        ("Last week I passed my driving test.", day(20, 2, 2023)),
        ("I took Bruno to the vet.", day(9)),
        ("Tuesday is laundry day, as every Tuesday.", day(20, 2, 2023)),
        *((f"Filler number {number}.", day(1, 1, 2023)) for number in range(40)),
    )
    request = RecallRequest(query="What happened last Tuesday?", reference_time=day(15), threshold=0.3, reinforce=False)
    assert [hit.memory.text for hit in recall(actor=alice, request=request).hits] == ["I took Bruno to the vet."]


def test_words_of_a_time_do_not_count_as_words(alice: Actor) -> None:
    request = RecallRequest(query="What did Mara buy last Tuesday?", reference_time=day(15))
    named = prepare_query(alice, request.query, request, wants_vector=False)
    assert sorted(named.words.values()) == ["buy", "mara"]
    alone = prepare_query(alice, "last Tuesday", request, wants_vector=False)
    assert not alone.terms
    assert prepare_query(alice, "what is it", request, wants_vector=False).terms
