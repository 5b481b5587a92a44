"""Every part of a recall has its own limit and time-out, and all together have one: proved with locked tables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

import pytest
from django.db import connection, connections, transaction
from django.db.utils import ConnectionHandler

from config.settings import database
from memory.models import owner_scope
from memory.recall import arms, budgets, statistics
from memory.recall.arms import Found, guarded
from memory.recall.budgets import BUDGETS, OTHERS, TOTAL_MS, Budget, TotalBudget, budget_of
from memory.recall.dense import ScanChoices, breadth, choose_exact
from memory.recall.profiles import ARMS, shipped
from memory.recall.statistics import OwnerStatistics, owner_statistics
from memory.services.actors import Actor
from memory.services.drafts import Draft
from memory.services.questions import RecallRequest, prepare_query
from memory.services.recall import Recalled, recall
from memory.services.remember import remember

# Long enough for a statement that waits for nobody on a busy machine.
SHORT_MS: Final = 400
SLOW_TABLES: Final = {
    "dense": "memory_memoryvector",
    "lexical": "memory_lexposting",
    "time": "memory_mentionedtime",
    "late_interaction": "memory_tokenvectors",
}
REAL: Final = pytest.mark.django_db(transaction=True, databases=["default", "schema"])
QUESTION: Final = "Which kettle whistled yesterday?"


def partition_of(owner_id: UUID, table: str) -> str:
    """Give the partition that holds an owner's rows, by asking the rows; the table itself where it has none."""
    with owner_scope(owner_id), connection.cursor() as cursor:
        cursor.execute(f"SELECT DISTINCT tableoid::regclass::text FROM {table} WHERE owner_id = %s", [owner_id])
        found = cursor.fetchall()
    return str(found[0][0]) if found else table


@contextmanager
def locked(*tables: str) -> Iterator[None]:
    """Lock tables on another connection, as the rebuilding of an index does; whoever reads them waits."""
    with transaction.atomic(using="schema"), connections["schema"].cursor() as cursor:
        for table in tables:
            cursor.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield
    connections["schema"].close()


@pytest.fixture
def kettle(alice: Actor) -> Actor:
    """Give an owner with a memory that every arm finds."""
    remember(actor=alice, draft=Draft(text="The kettle whistled yesterday."))
    return alice


def asked(actor: Actor) -> Recalled:
    return recall(actor=actor, request=RecallRequest(query=QUESTION))


@REAL
class TestSlowStatements:
    @pytest.mark.parametrize("part", ["dense", "lexical", "time"])
    def test_an_arm_that_takes_too_long_is_left_out(
        self, kettle: Actor, monkeypatch: pytest.MonkeyPatch, part: str
    ) -> None:
        monkeypatch.setattr(budgets, "BUDGETS", {**BUDGETS, part: replace(BUDGETS[part], timeout_ms=SHORT_MS)})
        profile = replace(shipped("default"), arms=("dense", "lexical", "time"))
        query = prepare_query(kettle, QUESTION, RecallRequest(query=QUESTION))
        with locked(partition_of(kettle.owner_id, SLOW_TABLES[part])), owner_scope(kettle.owner_id):
            found = arms.ask(query, profile, limit=10)
        assert found.failed == {part: "arm.timeout"}
        assert set(found.asked) == {"dense", "lexical", "time"} - {part}
        assert all(found.asked.values())

    @pytest.mark.parametrize("part", ["dense", "lexical"])
    def test_the_answer_says_so(self, kettle: Actor, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
        monkeypatch.setattr(budgets, "BUDGETS", {**BUDGETS, part: replace(BUDGETS[part], timeout_ms=SHORT_MS)})
        with locked(partition_of(kettle.owner_id, SLOW_TABLES[part])):
            answer = asked(kettle)
        assert answer.degraded == [f"arm.timeout:{part}"]
        assert [hit.memory.text for hit in answer.hits] == ["The kettle whistled yesterday."]
        assert asked(kettle).degraded == []

    def test_what_begins_too_late_is_skipped(self, kettle: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(budgets, "TOTAL_MS", SHORT_MS)
        with locked(partition_of(kettle.owner_id, SLOW_TABLES["dense"])):
            answer = asked(kettle)
        assert {"arm.timeout:dense", "arm.skipped:lexical", "arm.skipped:neighbours"} <= set(answer.degraded)
        assert not [code for code in answer.degraded if code.startswith("arm.failed")]

    def test_the_numbers_of_an_owner_wait_for_nobody(self, kettle: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(statistics, "FEW", 0)
        names = [partition_of(kettle.owner_id, SLOW_TABLES[part]) for part in ("dense", "lexical")]
        with locked(*names), owner_scope(kettle.owner_id), connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL statement_timeout = {SHORT_MS}")
            assert owner_statistics(kettle.owner_id).rows == 1


class TestSettings:
    def setting(self, name: str) -> str:
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting(%s)", [name])
            return str(cursor.fetchone()[0])

    @pytest.mark.parametrize("fails", [False, True])
    def test_they_hold_inside_and_are_restored(self, alice: Actor, fails: bool) -> None:
        inside: list[str] = []

        def run() -> int:
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL hnsw.ef_search = 777")
                inside.extend([self.setting("statement_timeout"), self.setting("hnsw.ef_search")])
                cursor.execute("SELECT 1 / %s", [0 if fails else 1])
            return 1

        with owner_scope(alice.owner_id):
            with connection.cursor() as cursor:
                cursor.execute("SELECT '[1]'::vector")
                cursor.execute("SET LOCAL statement_timeout = 9000")
            before = self.setting("hnsw.ef_search")
            found = Found()
            assert guarded("dense", found, run) == (None if fails else 1)
            assert inside == ["1500ms", "777"]
            assert self.setting("statement_timeout") == "9s"
            assert self.setting("hnsw.ef_search") == before
        assert found.failed == ({"dense": "arm.failed"} if fails else {})

    def test_a_broken_part_leaves_the_transaction_whole(self, alice: Actor) -> None:
        def broken() -> None:
            with connection.cursor() as cursor:
                cursor.execute("SELECT * FROM there_is_no_such_table")

        found = Found()
        with owner_scope(alice.owner_id):
            assert guarded("dense", found, broken) is None
            assert guarded("lexical", found, lambda: self.setting("loci.owner")) == str(alice.owner_id)
        assert found.failed == {"dense": "arm.failed"}

    def test_errors_of_ours_are_not_swallowed(self, alice: Actor) -> None:
        def wrong() -> None:
            raise ValueError("a mistake")

        with owner_scope(alice.owner_id):
            with pytest.raises(ValueError, match="a mistake"):
                guarded("dense", Found(), wrong)
            assert self.setting("loci.owner") == str(alice.owner_id)

    def test_plans_are_made_for_each_statement(self, alice: Actor) -> None:
        assert self.setting("plan_cache_mode") == "force_custom_plan"
        assert self.setting("jit") == "off"

    def test_also_on_the_connections_of_a_pool(self, db: None) -> None:
        pooled = database.connection(connections["default"].settings_dict, pool={"min_size": 2, "max_size": 2})
        wrapper: Any = ConnectionHandler({"default": {}, "pooled": pooled})["pooled"]
        try:
            wrapper.pool.open()
            with wrapper.pool.connection() as one, wrapper.pool.connection() as two:
                assert one is not two
                for made in (one, two):
                    for setting, value in (("plan_cache_mode", "force_custom_plan"), ("jit", "off")):
                        assert made.execute(f"SHOW {setting}").fetchone() == (value,)
        finally:
            wrapper.close_pool()


class TestTable:
    def test_every_arm_has_a_limit_and_a_time_out(self) -> None:
        for arm in ARMS:
            assert budget_of(arm).rows > 0
        for part in BUDGETS:
            assert 0 < budget_of(part).timeout_ms < TOTAL_MS
        assert budget_of("another") == OTHERS

    def test_what_is_left_bounds_the_time_out(self) -> None:
        seconds = [0.0]
        total = TotalBudget(monotonic=lambda: seconds[0])
        assert total.timeout_ms("dense") == BUDGETS["dense"].timeout_ms
        seconds[0] = (TOTAL_MS - 250) / 1000
        assert total.timeout_ms("dense") == 250
        seconds[0] = TOTAL_MS / 1000 + 1
        assert total.timeout_ms("dense") == 0

    def test_no_arm_is_asked_for_more_than_its_limit(self, kettle: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
        for number in range(5):
            remember(actor=kettle, draft=Draft(text=f"A kettle of {number} litres, bought yesterday."))
        few = {arm: Budget(1_000, rows=number) for number, arm in enumerate(("dense", "lexical", "time"), start=2)}
        monkeypatch.setattr(budgets, "BUDGETS", {**BUDGETS, **few})
        profile = replace(shipped("default"), arms=("dense", "lexical", "time"))
        query = prepare_query(kettle, "kettle yesterday or today", RecallRequest(query="kettle"))
        with owner_scope(kettle.owner_id):
            found = arms.ask(query, profile, limit=10)
        assert {arm: len(rows) for arm, rows in found.asked.items()} == {"dense": 2, "lexical": 3, "time": 4}


class TestHysteresis:
    def walk(self, *rows: int, limit: int = 100, partition: float | None = None) -> list[bool]:
        choices = ScanChoices()
        owner = UUID(int=1)
        return [
            choices.exact(owner, OwnerStatistics(one, one, one if partition is None else partition), limit=limit)
            for one in rows
        ]

    def test_an_owner_near_the_bound_does_not_alternate(self) -> None:
        assert self.walk(9_990, 10_010, 9_990, 10_999, 11_000) == [True] * 5
        assert self.walk(10_999, 11_001, 10_001, 9_999, 9_001) == [False] * 5
        assert self.walk(10_000, 11_001, 9_001, 9_000, 10_999, 11_001) == [True, False, False, True, True, False]

    def test_nor_does_one_near_the_share(self) -> None:
        owner, choices = UUID(int=1), ScanChoices()
        seen = [
            choices.exact(owner, OwnerStatistics(20_000, 20_000, 20_000 / share), limit=100)
            for share in (0.0499, 0.0501, 0.0549, 0.0551, 0.0499, 0.0451, 0.0449)
        ]
        assert seen == [True, True, True, False, False, False, True]

    def test_owners_and_limits_are_told_apart(self) -> None:
        choices = ScanChoices()
        one, two = UUID(int=1), UUID(int=2)
        near = OwnerStatistics(10_500, 10_500, 10_500)
        assert choices.exact(one, OwnerStatistics(9_000, 9_000, 9_000), limit=100)
        assert choices.exact(one, near, limit=100)
        assert not choices.exact(two, near, limit=100)
        assert not choices.exact(one, near, limit=50)

    def test_only_so_much_is_remembered(self) -> None:
        choices = ScanChoices(most=1)
        near = OwnerStatistics(10_500, 10_500, 10_500)
        assert choices.exact(UUID(int=1), OwnerStatistics(9_000, 9_000, 9_000), limit=100)
        assert choices.exact(UUID(int=1), near, limit=100)
        choices.exact(UUID(int=2), near, limit=100)
        assert not choices.exact(UUID(int=1), near, limit=100)

    def test_a_high_limit_scans_more(self) -> None:
        owner = OwnerStatistics(20_000, 20_000, 20_000)
        assert not choose_exact(owner, limit=100)
        assert choose_exact(owner, limit=1_000)
        assert not choose_exact(OwnerStatistics(40_000, 40_000, 40_000), limit=1_000)

    def test_and_looks_at_more_of_the_index(self) -> None:
        owner = OwnerStatistics(100_000, 100_000, 100_000)
        assert [breadth(owner, limit=limit) for limit in (10, 100, 250, 1_000)] == [600, 600, 750, 1_000]
