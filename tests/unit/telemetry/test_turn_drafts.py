"""What is taken as a turn, and what every check of it says."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from memory.errors import LociError
from telemetry.services.turns.drafts import MOST_EXTRA, Turn, TurnDraft, checked_turn

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


def checked(**given: Any) -> Turn:
    return checked_turn(TurnDraft(**{"request": "Make me a note", **given}), at=NOW)


def refused(**given: Any) -> str:
    with pytest.raises(LociError) as found:
        checked(**given)
    return found.value.machine_code


class TestTimestamp:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (None, NOW),
            (NOW.timestamp() - 90.5, NOW - timedelta(seconds=90.5)),
            (int(NOW.timestamp()), NOW),
            ("2026-11-30T10:00:00Z", NOW - timedelta(hours=2)),
            ("2026-11-30T11:00:00", NOW - timedelta(hours=1)),
            ("2026-11-30T12:00:00+05:00", NOW - timedelta(hours=5)),
            (datetime(2026, 11, 30, 11, tzinfo=timezone(timedelta(hours=1))), NOW - timedelta(hours=2)),
            (NOW - timedelta(days=30), NOW - timedelta(days=30)),
        ],
    )
    def test_forms(self, given: Any, expected: datetime) -> None:
        turn = checked(timestamp=given)
        assert (turn.occurred_at, turn.notes) == (expected, ())

    @pytest.mark.parametrize("ahead", [1, 299, 300])
    def test_a_clock_that_goes_a_little_ahead(self, ahead: int) -> None:
        turn = checked(timestamp=NOW + timedelta(seconds=ahead))
        assert (turn.occurred_at, [note["code"] for note in turn.notes]) == (NOW, ["timestamp.ahead"])

    @pytest.mark.parametrize(
        ("given", "code"),
        [
            (NOW + timedelta(seconds=301), "timestamp.future"),
            (NOW.timestamp() * 1000, "timestamp.invalid"),
            (NOW - timedelta(days=30, seconds=1), "timestamp.outdated"),
            (0, "timestamp.outdated"),
            (float("nan"), "timestamp.invalid"),
            (float("-inf"), "timestamp.invalid"),
            (10**400, "timestamp.invalid"),
            (False, "timestamp.invalid"),
            (-99_999_999_999, "timestamp.invalid"),
            (-62_135_596_801, "timestamp.invalid"),
            (-2_208_988_801, "timestamp.invalid"),
            (-2_208_988_800, "timestamp.outdated"),
            (-1e308, "timestamp.invalid"),
            ([], "timestamp.invalid"),
            ("", "date.invalid"),
            ("1743638400.0", "date.invalid"),
            ("9999-01-01", "date.out_of_range"),
        ],
    )
    def test_what_is_no_moment_of_a_turn(self, given: Any, code: str) -> None:
        assert refused(timestamp=given) == code


class TestRequest:
    def test_500_characters_are_kept(self) -> None:
        assert checked(request="é" * 500).notes == ()
        turn = checked(request="é" * 600)
        assert (turn.request, [note["code"] for note in turn.notes]) == ("é" * 500, ["request.cut"])

    def test_what_is_cut_off_is_not_looked_at(self) -> None:
        assert checked(request="x" * 500 + "\x00\ud800").request == "x" * 500

    @pytest.mark.parametrize("given", ["", "  \n", "\u200b"])
    def test_empty(self, given: str) -> None:
        assert refused(request=given) == "text.empty"


class TestNames:
    @pytest.mark.parametrize("given", [None, ""])
    def test_none_is_direct(self, given: Any) -> None:
        assert checked(matched_spoke=given).spoke == "direct"

    def test_lengths(self) -> None:
        assert checked(matched_spoke="s" * 64, delegations=["d" * 64] * 32).spoke == "s" * 64
        assert refused(matched_spoke="s" * 65) == "spoke.too_long"
        assert refused(delegations=["d"] * 33) == "delegations.too_many"
        assert refused(delegations=("d" * 65,)) == "spoke.too_long"

    @pytest.mark.parametrize(
        "given",
        ["fallback", "Fallback", "FALLBACK ", " fallback", "\uff26allback", "fall\u200bback", "\ufefffallback",
         "fall\u00adback", "\u202efallback", "fallback\n", "fallback\u00a0", "fallback\ufe0f"],
        ids=ascii,
    )  # fmt: skip
    def test_what_looks_like_a_fallback_is_one(self, given: str) -> None:
        assert checked(matched_spoke=given).spoke == "fallback"

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ("mail\n2026-11-30 12:00:00  completed  root", "mail 2026-11-30 12:00:00 completed root"),
            ("two\u2028lines\u2029more", "two lines more"),
            ("a \u200b b", "a b"),
            ("Mail", "Mail"),
            ("cafe\u0301", "café"),
            ("Other", "other"),
        ],
        ids=range(6),
    )
    def test_names_have_one_form(self, given: str, kept: str) -> None:
        assert checked(matched_spoke=given).spoke == kept
        assert json.loads(checked(delegations=[given]).details)["delegations"] == [kept]

    def test_one_character_can_stand_for_many(self) -> None:
        assert refused(matched_spoke="\ufdfa" * 4) == "spoke.too_long"

    @pytest.mark.parametrize("given", [7, ["direct"], True])
    def test_no_names(self, given: Any) -> None:
        assert refused(matched_spoke=given) == "field.type"
        assert refused(delegations=[given]) == "field.type"

    @pytest.mark.parametrize("given", ["direct", None, {"a"}, {"a": 1}])
    def test_no_lists(self, given: Any) -> None:
        assert refused(delegations=given) == "field.type"


class TestIds:
    def test_any_text(self) -> None:
        for given in ("7", " ", "ünïcode/", "x" * 128):
            assert json.loads(checked(id=given).details)["id"] == given

    @pytest.mark.parametrize(
        ("given", "code"),
        [("", "id.invalid"), ("x" * 129, "id.invalid"), (7, "id.invalid"), ("a\x00", "text.nul"),
         ("a\udfff", "text.surrogate"), ("a\nb", "text.control"), ("a\x1b[2J", "text.control"),
         ("a\u2028b", "text.control"), ("a\u202eb", "text.control"), ("a\x85b", "text.control")],
    )  # fmt: skip
    def test_what_is_none(self, given: Any, code: str) -> None:
        assert refused(id=given) == code


class TestOutcome:
    def test_either_name(self) -> None:
        assert checked().outcome == "completed"
        assert checked(outcome="failed").outcome == "failed"
        assert checked(outcome_status="timeout").outcome == "timeout"
        assert checked(outcome="failed", outcome_status="failed").outcome == "failed"

    @pytest.mark.parametrize(
        "given",
        [
            {"outcome": "lost"},
            {"outcome": ""},
            {"outcome": "Completed"},
            {"outcome_status": 1},
            {"outcome": ["failed"]},
            {"outcome": "failed", "outcome_status": "timeout"},
        ],
        ids=range(6),
    )
    def test_what_is_none(self, given: dict[str, Any]) -> None:
        assert refused(**given) == "outcome.invalid"


class TestNumbers:
    @pytest.mark.parametrize("field", ["tool_call_count", "duration_ms"])
    def test_bounds(self, field: str) -> None:
        assert getattr(checked(**{field: 0}), field) == 0
        assert refused(**{field: -1}) == f"{field}.out_of_range"
        assert refused(**{field: 10**12}) == f"{field}.out_of_range"
        for given in (True, "3", 3.0, None):
            assert refused(**{field: given}) == "field.type"


class TestExtra:
    def test_it_is_kept_as_it_came(self) -> None:
        given = {"b": [1, {"c": None}], "a": "é", "memory_id": "x"}
        details = json.loads(checked(extra=given, delegations=["d"]).details)
        assert details == {"delegations": ["d"], "extra": given, "id": None}

    def test_what_only_writes_of_nul_is_none(self) -> None:
        given = {"pattern": r"\u0000", r"\\u0000": ["\\"]}
        assert json.loads(checked(extra=given).details)["extra"] == given

    def test_four_kibibytes(self) -> None:
        room = MOST_EXTRA - len('{"a":""}')
        assert json.loads(checked(extra={"a": "x" * room}).details)["extra"]["a"] == "x" * room
        assert refused(extra={"a": "x" * (room + 1)}) == "extra.too_large"
        assert refused(extra={"a": "é" * (room // 2 + 1)}) == "extra.too_large"

    @pytest.mark.parametrize(
        ("given", "code"),
        [
            ([], "field.type"),
            ("{}", "field.type"),
            ({"a": object()}, "extra.invalid"),
            ({"a": float("nan")}, "extra.invalid"),
            ({"a": "\ud800"}, "extra.invalid"),
            ({(1, 2): 3}, "extra.invalid"),
            ({"a": "\x00"}, "text.nul"),
            ({"a": [{"\x00": 1}]}, "text.nul"),
            ({"a": "\\\x00"}, "text.nul"),
        ],
        ids=range(9),
    )
    def test_what_is_none(self, given: Any, code: str) -> None:
        assert refused(extra=given) == code

    def test_one_within_itself(self) -> None:
        given: dict[str, Any] = {}
        given["self"] = given
        assert refused(extra=given) == "extra.invalid"

    def test_one_that_is_too_deep(self) -> None:
        given: dict[str, Any] = {}
        for _ in range(100_000):
            given = {"a": given}
        assert refused(extra=given) in ("extra.invalid", "extra.too_large")


def test_whose_it_is_is_not_the_senders_to_say() -> None:
    assert [note["code"] for note in checked(user_id="mallory").notes] == ["user_id.ignored"]
