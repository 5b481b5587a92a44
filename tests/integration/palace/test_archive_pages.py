"""The archive, many at once, and how memories have grown."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import translation
from pytest_django.fixtures import DjangoAssertNumQueries

from memory.models import Memory, Status, owner_scope
from memory.palace.growth_view import growth_view
from memory.services.actors import Actor
from memory.services.growth import TIERS, Week, growth
from memory.services.memories import get_memory
from memory.services.retirement import archive_memory


@pytest.fixture
def archived(alice: Actor, store: Callable[..., UUID]) -> list[UUID]:
    ids = [
        store("I like green tea.", category="preference"),
        store("We met in Lisbon.", kind="fact"),
        store("Old news."),
    ]
    for memory_id in ids:
        archive_memory(actor=alice, memory_id=memory_id)
    return ids


def statuses(alice: Actor, ids: list[UUID]) -> list[str]:
    return [get_memory(actor=alice, memory_id=one).status for one in ids]


def test_the_filter_is_in_the_address(palace: Client, archived: list[UUID]) -> None:
    html = palace.get("/archive/", {"category": "preference"}).content.decode()
    assert "green tea" in html.split("<aside")[0]
    assert "Lisbon" not in html.split("<aside")[0]
    assert '<option value="preference" selected>' in html
    assert "We met in Lisbon." in palace.get("/archive/", {"kind": "fact"}).content.decode().split("<aside")[0]
    nothing = palace.get("/archive/", {"category": "goal"}).content.decode()
    assert "Nothing in the archive is of this sort" in nothing
    assert "Show all" in nothing


def test_many_come_back_and_go_again(palace: Client, alice: Actor, archived: list[UUID]) -> None:
    answer = palace.post("/archive/many/", {"do": "restore", "id": [str(one) for one in archived[:2]]})
    assert statuses(alice, archived) == [Status.LIVE, Status.LIVE, Status.ARCHIVED]
    html = palace.get(answer["Location"]).content.decode()
    assert "2 memories are back" in html
    assert html.count('<input type="hidden" name="id"') == 2
    assert 'name="do" value="archive"' in html
    answer = palace.post("/archive/many/", {"do": "archive", "id": [str(one) for one in archived[:2]]})
    assert statuses(alice, archived) == [Status.ARCHIVED] * 3
    assert "2 memories are archived again." in palace.get(answer["Location"]).content.decode()


def test_many_are_erased_with_time_to_undo(palace: Client, alice: Actor, archived: list[UUID]) -> None:
    fields = {"do": "erase", "id": [str(archived[0])], "category": "preference"}
    location = palace.post("/archive/many/", fields)["Location"]
    assert "category=preference" in location
    assert statuses(alice, archived)[0] == Status.ERASING
    html = palace.get(location).content.decode()
    assert "1 memory is erased for good in ten seconds." in html
    palace.post("/archive/many/", {"do": "restore", "id": [str(archived[0])]})
    assert statuses(alice, archived)[0] == Status.LIVE


def test_what_cannot_come_back_is_said_and_the_others_do(
    palace: Client, alice: Actor, archived: list[UUID], store: Callable[..., UUID]
) -> None:
    store("We met in Lisbon.")
    answer = palace.post("/archive/many/", {"do": "restore", "id": [str(one) for one in archived]})
    assert statuses(alice, archived) == [Status.LIVE, Status.ARCHIVED, Status.LIVE]
    html = palace.get(answer["Location"]).content.decode()
    assert "2 memories are back" in html
    assert 'class="notice warning"' in html


def test_a_stranger_touches_nothing(stranger: Client, alice: Actor, archived: list[UUID]) -> None:
    for wanted in ("restore", "erase", "archive"):
        stranger.post("/archive/many/", {"do": wanted, "id": [str(one) for one in archived]})
    assert statuses(alice, archived) == [Status.ARCHIVED] * 3


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"do": "restore"}, 302),
        ({"do": "sell", "id": str(uuid4())}, 422),
        ({"do": "restore", "id": "no-id"}, 422),
        ({"do": "restore", "id": [str(uuid4()) for _ in range(51)]}, 422),
    ],
)
def test_what_is_no_choice_is_refused(
    palace: Client, archived: list[UUID], fields: dict[str, Any], status: int
) -> None:
    assert palace.post("/archive/many/", fields).status_code == status


def test_an_address_undoes_nothing_by_itself(palace: Client, alice: Actor, archived: list[UUID]) -> None:
    assert palace.get("/archive/", {"back": str(archived[0])}).status_code == 200
    assert palace.get("/archive/", {"gone": "nonsense"}).status_code == 422
    assert statuses(alice, archived) == [Status.ARCHIVED] * 3


def test_the_list_does_not_ask_more_for_more(
    palace: Client, alice: Actor, store: Callable[..., UUID], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    def fill(count: int) -> None:
        for _ in range(count):
            archive_memory(actor=alice, memory_id=store(f"Number {uuid4()}"))

    fill(1)
    palace.get("/archive/")
    with django_assert_max_num_queries(200) as few:
        palace.get("/archive/")
    fill(8)
    with django_assert_max_num_queries(len(few.captured_queries)):
        palace.get("/archive/")


def stored_at(alice: Actor, memory_id: UUID, moment: datetime) -> None:
    with owner_scope(alice.owner_id):
        Memory.objects.filter(pk=memory_id).update(created_at=moment)


def test_growth_adds_up_week_by_week(alice: Actor, mallory: Actor, store: Callable[..., UUID]) -> None:
    start = datetime(2026, 10, 5, 8, tzinfo=UTC)
    assert growth(actor=alice) == []
    for text, days in (("One.", 0), ("Two.", 1), ("Three.", 15)):
        stored_at(alice, store(text), start + timedelta(days=days))
    weeks = growth(actor=alice)
    assert [week.monday.isoformat() for week in weeks[:3]] == ["2026-10-05", "2026-10-12", "2026-10-19"]
    assert [week.new for week in weeks[:3]] == [2, 0, 1]
    assert [week.total["semantic"] for week in weeks[:3]] == [2, 2, 3]
    assert weeks[-1].total["semantic"] == 3
    assert growth(actor=mallory) == []


def test_growth_is_one_statement(alice: Actor, store: Callable[..., UUID]) -> None:
    for number in range(4):
        stored_at(alice, store(f"Number {number}."), datetime(2026, 1 + number, 5, tzinfo=UTC))
    with CaptureQueriesContext(connection) as asked:
        growth(actor=alice)
    assert len([query for query in asked.captured_queries if "memory_memory" in query["sql"]]) == 1


def test_the_picture_has_a_table_that_says_the_same(palace: Client, store: Callable[..., UUID]) -> None:
    assert "Nothing has grown yet" in palace.get("/archive/growth/").content.decode()
    for number in range(3):
        store(f"Number {number}.")
    html = palace.get("/archive/growth/").content.decode()
    assert "3 memories are kept; 3 of them came in the last four weeks." in html
    assert 'role="img" aria-labelledby="growth-told"' in html
    assert '<polygon class="layer semantic"' in html
    assert "what is so" in html
    assert '<td class="number">3</td>' in html
    assert "style=" not in html


def test_areas_lie_on_one_another() -> None:
    tiers = {"episodic": 0, "semantic": 0, "procedural": 0, "reflection": 0}
    monday = datetime(2026, 10, 5, tzinfo=UTC).date()
    weeks = [
        Week(monday, {**tiers, "episodic": 2, "semantic": 2}, 4),
        Week(monday + timedelta(days=7), {**tiers, "episodic": 4, "semantic": 6}, 6),
    ]
    view = growth_view(weeks)
    assert view is not None
    lower, upper = view.layers
    assert lower.outline == "0.0,160.0 1000.0,120.0 1000.0,200.0 0.0,200.0"
    assert upper.outline == "0.0,120.0 1000.0,0.0 1000.0,120.0 0.0,160.0"
    assert [(line.top, line.number) for line in view.lines] == [("200", "0"), ("100", "5"), ("0", "10")]


def test_the_scale_of_the_picture_is_in_the_language_of_the_page() -> None:
    week = Week(datetime(2026, 10, 5, tzinfo=UTC).date(), {**dict.fromkeys(TIERS, 0), "semantic": 2_000}, 2_000)
    with translation.override("de"):
        view = growth_view([week])
    assert view is not None
    assert [line.number for line in view.lines] == ["0", "1.000", "2.000"]
