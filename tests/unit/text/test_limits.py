from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import InvalidInput, LociError, TooLarge
from memory.text.limits import (
    CATEGORIES,
    MAX_CONTENT_BYTES,
    checked_moment,
    checked_query,
    checked_text,
    is_blank,
    normalise_category,
)
from memory.text.stopwords import word_set


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "text.empty"),
        (" \t\r\n\u00a0\u3000", "text.empty"),
        ("\u200b\u200d\ufeff\u2060\ufe0f\u3164\u2800", "text.empty"),
        ("a\x00b", "text.nul"),
        ("\x00", "text.nul"),
        ("a\ud800b", "text.surrogate"),
        ("\udfff", "text.surrogate"),
        ("bell\x07", "text.control"),
        ("esc\x1b[31m", "text.control"),
        ("del\x7f", "text.control"),
        ("next\x85line", "text.control"),
        (None, "field.type"),
        (b"bytes", "field.type"),
        (7, "field.type"),
    ],
)
def test_unusable_texts_are_refused_for_memories_and_queries(text: object, code: str) -> None:
    for check in (checked_text, checked_query):
        with pytest.raises(InvalidInput) as caught:
            check(text, field="body")
        assert caught.value.machine_code == code
        assert caught.value.status == 422
        assert caught.value.details["field"] == "body"


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "tab\tand\r\nlines\n",
        "مرحبا بالعالم",
        "\u200fעברית\u200e",
        "👩‍👩‍👧 😀",
        "外币汇率换算",
        " padded ",
        "e\u0301",
        "ｆｕｌｌ",
        "a\u200bb",
        ".",
    ],
)
def test_usable_texts_come_back_unchanged(text: str) -> None:
    assert checked_text(text) == text
    assert checked_query(text) == text


def test_size_is_counted_in_bytes() -> None:
    assert checked_text("x" * MAX_CONTENT_BYTES)
    for text in (
        "x" * (MAX_CONTENT_BYTES + 1),
        "é" * (MAX_CONTENT_BYTES // 2 + 1),
        "spam " * 100_000,
        "\x00" * 300_000,
    ):
        with pytest.raises(TooLarge) as caught:
            checked_text(text)
        assert caught.value.machine_code == "text.too_large"
        assert caught.value.status == 413
    assert checked_text("éé", max_bytes=4)
    with pytest.raises(TooLarge):
        checked_text("ééa", max_bytes=4)


@pytest.mark.parametrize(
    "query", ["word " * 60_000, "spam" * 125_000, "w " * 501, "x" * 40_000, "你" * 503, "\ud800" * 40_000]
)
def test_long_queries_are_refused(query: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_query(query)
    assert caught.value.machine_code == "query.too_long"
    assert 400 <= caught.value.status < 500


def test_a_query_of_500_words_is_searched() -> None:
    query = " ".join(f"word{n}" for n in range(500))
    assert checked_query(query) == query


def test_errors_do_not_repeat_the_text() -> None:
    with pytest.raises(LociError) as caught:
        checked_text("my secret\x07")
    assert "secret" not in str(caught.value) + repr(caught.value.details)


@pytest.mark.parametrize(
    ("value", "moment"),
    [
        (datetime.fromisoformat("2026-01-02T03:04"), datetime(2026, 1, 2, 3, 4, tzinfo=UTC)),
        (datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=2))), datetime(2026, 1, 2, 1, 4, tzinfo=UTC)),
        ("2026-01-02T03:04:05Z", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05+02:00", datetime(2026, 1, 2, 1, 4, 5, tzinfo=UTC)),
        ("2026-01-02T03:04:05", datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        ("2026-01-02", datetime(2026, 1, 2, tzinfo=UTC)),
        ("1900-01-01", datetime(1900, 1, 1, tzinfo=UTC)),
    ],
)
def test_moments_are_brought_to_utc(value: object, moment: datetime) -> None:
    checked = checked_moment(value)
    assert checked == moment
    assert checked.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (datetime.fromisoformat("1899-12-31T23:59"), "date.out_of_range"),
        (datetime(2200, 1, 1, tzinfo=UTC), "date.out_of_range"),
        (datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))), "date.out_of_range"),
        (datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-12))), "date.out_of_range"),
        ("0001-01-01", "date.out_of_range"),
        ("9999-12-31", "date.out_of_range"),
        ("12026-01-01", "date.invalid"),
        ("0000-01-01", "date.invalid"),
        ("2026-02-30", "date.invalid"),
        ("yesterday", "date.invalid"),
        ("", "date.invalid"),
        (None, "date.invalid"),
        (1767312000, "date.invalid"),
    ],
)
def test_absurd_moments_are_refused(value: object, code: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        checked_moment(value, field="valid_from")
    assert caught.value.machine_code == code
    assert caught.value.details["field"] == "valid_from"


ONE_LIST = word_set(
    "general preference instruction context fact project person technical task_result session observation goal skill "
    "relationship temporal emotional creative system"
)
OTHER_LIST = word_set(
    "general preference fact skill context instruction correction feedback project person technical session "
    "task_result summary conversation insight error_log procedure"
)


def test_both_published_lists_of_categories_are_accepted() -> None:
    assert len(ONE_LIST) == len(OTHER_LIST) == 18
    assert ONE_LIST | OTHER_LIST == CATEGORIES
    for name in CATEGORIES:
        assert normalise_category(name) == (name, True)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Task Result", ("task_result", True)),
        ("task-result", ("task_result", True)),
        (" FACT ", ("fact", True)),
        (None, ("general", True)),
        ("  ", ("general", True)),
        ("bogus", ("general", False)),
        ("日本", ("general", False)),
    ],
)
def test_categories_are_normalised(name: str | None, expected: tuple[str, bool]) -> None:
    assert normalise_category(name) == expected


def test_an_overlong_category_is_refused() -> None:
    assert normalise_category("x" * 64) == ("general", False)
    with pytest.raises(InvalidInput) as caught:
        normalise_category("x" * 65)
    assert caught.value.machine_code == "category.too_long"


@given(st.text(max_size=200))
def test_a_text_is_kept_or_refused_never_altered(text: str) -> None:
    usable = all(char in "\t\n\r" or unicodedata.category(char) not in {"Cc", "Cs"} for char in text)
    if usable and not is_blank(text):
        assert checked_text(text) == text
    else:
        with pytest.raises(InvalidInput) as caught:
            checked_text(text)
        assert caught.value.machine_code.startswith("text.")
