from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.text.dates import MAX_CHARACTERS, find_spans, finder, may_hold_dates, scanner
from tests.unit.text import scaling
from tests.unit.text.dates.phrases import CASES

NOW = datetime(2023, 5, 17, 12, tzinfo=UTC)

NO_DATES = [
    "They marched for hours.", "May Company is closing", "at May Company", "may I ask something", "March on!",
    "I may go", "You may 5", "march 5 miles", "this may help", "May the force be with you", "Mai Nguyen called",
    "June Carter sang", "August Müller", "April is my sister", "Will Smith may join", "March for our lives",
    "the sun is shining", "They sat in the sun", "the second attempt", "Sat down and ate", "mar",
    "Sol is a star", "open on sundays", "on Mondays", "every Monday", "Black Friday", "the third Monday",
    "each spring", "a spring of water", "a fall from grace", "version 1.2.3", "version 10.11.12",
    "version 2023.5.1", "E-4012", "ERR_2023", "abc2023def", "v2023", "file_2023-05-07.txt",
    "order 2023-11-05-77", "https://example.org/2023/05/07/news", "192.168.12.12", "1.2.2023-beta",
    "call 030 1234567", "+1 415 555 2671", "555-12-2012", "030-2012-11", "it costs $19.99", "$2023", "€2,023",
    "2023%", "in 2000 cases", "by 2000 people", "room 2012", "page 2019", "1984 is a book", "open 24/7",
    "ratio 3:2", "a 16:9 screen", "he won 3-1", "3/4 of them", "7/5", "10:30", "1,234 items", "section 4.5",
    "10% off", "5 m high", "15 minutes", "3 days", "a day in the life", "one day", "in a minute", "next day",
    "these days", "the past", "half past three", "I read it in two weeks", "31/31/2023", "2023-13-45",
    "00/00/0000", "9999 years ago", "0 BC", "4th quarter", "second quarter", "last time",
    "the last networking event", "the last week of the course", "hier ist der Fehler", "Guten Morgen!",
    "Guten Morgen, Anna", "mon ami", "dem Jan geht es gut", "Die Sonne scheint", "Mars is a planet", "in Mars",
    "Mars 2020", "sept nains", "il a été malade", "dos años", "por la mañana", "los lunes", "cada verano",
    "mayo sandwich", "Marco went home", "an estate in Italy", "the set was out", "一年级学生", "我有三个苹果",
    "外币汇率换算", "24小时营业", "第3周", "每周三", "三个月亮", "五月天", "", " ", "?!", "2" * 50, "\u0000",
    "Q5 2023", "H3 2023",
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [pytest.param(text, found, id=f"{language}-{text}") for language, cases in CASES.items() for text, found in cases],
)
def test_phrases(text: str, expected: list[tuple[str, str, str]]) -> None:
    spans = find_spans(text, reference=NOW)
    assert [(one.phrase, str(one.starts_at.date()), str(one.ends_at.date())) for one in spans] == expected
    for span in spans:
        assert text[span.offset : span.offset + len(span.phrase)] == span.phrase
        assert span.starts_at < span.ends_at
        assert span.starts_at.tzinfo is span.ends_at.tzinfo is UTC


@pytest.mark.parametrize("text", NO_DATES)
def test_what_is_no_date(text: str) -> None:
    assert find_spans(text, reference=NOW) == []


@pytest.mark.parametrize(
    ("text", "relative"),
    [("7 May 2023", False), ("in 2022", False), ("2023年5月", False), ("the week before 9 June 2023", False),
     ("7 May", True), ("yesterday", True), ("since 2020", True), ("昨天", True), ("March of last year", True)],
)  # fmt: skip
def test_what_depends_on_the_moment(text: str, relative: bool) -> None:
    (span,) = find_spans(text, reference=NOW)
    assert span.relative is relative


@pytest.mark.parametrize("text", [text for cases in CASES.values() for text, _ in cases])
def test_absolute_phrases_mean_the_same_at_any_moment(text: str) -> None:
    later = NOW + timedelta(days=500)
    for span in find_spans(text, reference=NOW):
        if not span.relative:
            assert span in find_spans(text, reference=later)


class TestReference:
    @pytest.mark.parametrize(
        ("reference", "start"),
        [
            (datetime(2024, 3, 1, tzinfo=UTC), "2024-02-29"),
            (datetime(2023, 1, 1, tzinfo=UTC), "2022-12-31"),
            (datetime(2023, 5, 17, 23, 30, tzinfo=UTC), "2023-05-16"),
        ],
    )
    def test_yesterday(self, reference: datetime, start: str) -> None:
        (span,) = find_spans("yesterday", reference=reference)
        assert str(span.starts_at.date()) == start

    def test_days_begin_where_the_reference_is(self) -> None:
        tokyo = datetime(2023, 5, 17, 1, tzinfo=timezone(timedelta(hours=9)))
        (span,) = find_spans("yesterday", reference=tokyo)
        assert span.starts_at == datetime(2023, 5, 15, 15, tzinfo=UTC)
        assert span.ends_at == datetime(2023, 5, 16, 15, tzinfo=UTC)

    def test_a_day_of_23_hours(self) -> None:
        berlin = datetime(2023, 3, 27, 9, tzinfo=ZoneInfo("Europe/Berlin"))
        (span,) = find_spans("gestern", reference=berlin)
        assert span.ends_at - span.starts_at == timedelta(hours=23)

    def test_without_a_zone(self) -> None:
        with pytest.raises(ValueError, match="time zone"):
            find_spans("yesterday", reference=datetime(2023, 5, 17))

    @pytest.mark.parametrize("text", ["yesterday", "last year", "ten years ago", "前年", "1 January", "summer of 1"])
    @pytest.mark.parametrize("year", [1, 9999])
    @pytest.mark.parametrize("hours", [-12, 0, 12])
    def test_the_ends_of_the_calendar(self, text: str, year: int, hours: int) -> None:
        zone = timezone(timedelta(hours=hours))
        for month, day in ((1, 1), (12, 31)):
            for span in find_spans(text, reference=datetime(year, month, day, tzinfo=zone)):
                assert span.starts_at < span.ends_at

    @pytest.mark.parametrize(
        ("month", "last", "bare", "this", "coming"),
        [(1, 2022, 2022, 2023, 2023), (5, 2022, 2023, 2023, 2024), (8, 2023, 2023, 2023, 2024)],
    )
    def test_spring(self, month: int, last: int, bare: int, this: int, coming: int) -> None:
        reference = datetime(2023, month, 10, tzinfo=UTC)
        for text, year in (
            ("last spring", last), ("in spring", bare), ("this spring", this), ("next spring", coming),
        ):  # fmt: skip
            (span,) = find_spans(text, reference=reference)
            assert (span.starts_at.year, span.starts_at.month) == (year, 3), text

    def test_winter_goes_over_the_new_year(self) -> None:
        (span,) = find_spans("this winter", reference=datetime(2023, 2, 1, tzinfo=UTC))
        assert (span.starts_at, span.ends_at) == (datetime(2022, 12, 1, tzinfo=UTC), datetime(2023, 3, 1, tzinfo=UTC))

    @pytest.mark.parametrize("day", range(15, 22))
    def test_weekdays_from_each_day(self, day: int) -> None:
        reference = datetime(2023, 5, day, tzinfo=UTC)
        (last,) = find_spans("last Tuesday", reference=reference)
        (coming,) = find_spans("next Tuesday", reference=reference)
        (this,) = find_spans("this Tuesday", reference=reference)
        assert {last.starts_at.weekday(), coming.starts_at.weekday(), this.starts_at.weekday()} == {1}
        assert last.starts_at < reference < coming.starts_at
        assert reference - last.starts_at <= timedelta(7) >= coming.starts_at - reference
        assert this.starts_at.isocalendar()[:2] == reference.isocalendar()[:2]


class TestOrderOfFigures:
    """Between strokes English puts the month first; everything else begins with the day."""

    @pytest.mark.parametrize(
        ("text", "day"),
        [
            ("We met on 7/5/2023", "2023-07-05"), ("7/5/2023", "2023-07-05"),
            ("Wir waren am 7/5/2023 dort", "2023-05-07"),
            ("le 7/5/2023 nous étions", "2023-05-07"), ("25/12/2022", "2022-12-25"), ("12/25/2022", "2022-12-25"),
            ("7.5.2023", "2023-05-07"), ("07-05-2023", "2023-05-07"), ("on 7/5/23", "2023-07-05"),
        ],
    )  # fmt: skip
    def test_order(self, text: str, day: str) -> None:
        (span,) = find_spans(text, reference=NOW)
        assert str(span.starts_at.date()) == day


class TestLimits:
    def test_no_more_spans_than_asked_for(self) -> None:
        text = "7 May 2023, " * 20
        assert len(find_spans(text, reference=NOW)) == 8
        assert len(find_spans(text, reference=NOW, limit=3)) == 3
        assert find_spans(text, reference=NOW, limit=0) == []
        assert len(find_spans("昨天,yesterday," * 9, reference=NOW, limit=5)) == 5

    def test_only_the_beginning_is_looked_at(self) -> None:
        assert find_spans("x" * MAX_CHARACTERS + " yesterday", reference=NOW) == []
        assert find_spans(", " * scanner.MOST_TOKENS + " yesterday", reference=NOW) == []

    def test_the_first_look_misses_nothing(self) -> None:
        for cases in CASES.values():
            assert all(may_hold_dates(text) for text, _ in cases)
        for text in ("The cat is on the mat.", "Ich mag Tee.", "Version 3.4 of E-4012", "你好"):
            assert not may_hold_dates(text)

    @pytest.mark.parametrize(
        "unit",
        [
            "1", "1-", "1/", "2023 ", "May ", "between May and ", "the week before ", "三月", "il y a ", "Q1 ", "７/",
            "first half of ", "from 1 to ", "May to ", "yesterday ",
        ],
    )  # fmt: skip
    def test_hostile_texts_stay_linear_even_without_the_limits(
        self, unit: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(finder, "MAX_CHARACTERS", 1 << 20)
        monkeypatch.setattr(scanner, "MOST_TOKENS", 1 << 20)
        monkeypatch.setattr(scaling, "SMALL", 4 * 1024)
        monkeypatch.setattr(scaling, "FACTOR", 12)
        scaling.assert_linear(lambda text: find_spans(text, reference=NOW, limit=1 << 20), unit)

    @given(st.text(max_size=200), st.datetimes(timezones=st.just(UTC)))
    def test_any_text_at_any_moment(self, text: str, reference: datetime) -> None:
        for span in find_spans(text, reference=reference):
            assert text[span.offset :].startswith(span.phrase)

    @given(
        st.lists(
            st.sampled_from(
                """the last next first week month May march 7 2023 , . - of before after since between and from to ago a
                few yesterday Monday spring Q3 vor il y hace en mars dernier semana pasada 三 月 周 年 前 上 half end
                """.split()  # noqa: SIM905
            ),
            max_size=14,
        ),
        st.datetimes(timezones=st.just(UTC)),
    )
    def test_any_row_of_words_of_time(self, words: list[str], reference: datetime) -> None:
        text = " ".join(words)
        end = 0
        for span in find_spans(text, reference=reference):
            assert span.offset >= end
            assert span.starts_at < span.ends_at
            end = span.offset + len(span.phrase)
