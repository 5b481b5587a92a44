"""The second layer's pure part: reading verdicts, windows over long texts, and phrases in texts."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

from memory.privacy import meaning, pii
from memory.privacy.meaning import KINDS, Place, Verdict, places_of, read, windows, without
from memory.privacy.meaning.windows import MOST_WINDOWS, WINDOW_CHARACTERS
from memory.privacy.pii import PiiTier
from memory.privacy.placeholders import Placeholders
from memory.services import hidden_places


def answer(**changes: Any) -> dict[str, Any]:
    return {"has_pii": True, "types": ["health"], "confidence": 0.9, "phrases": ["a cold"]} | changes


class TestKinds:
    def test_four_are_confidential_and_all_others_sensitive(self) -> None:
        confidential = {kind for kind, tier in KINDS.items() if tier is PiiTier.CONFIDENTIAL}
        assert confidential == {"health", "biometric", "genetic", "financial"}
        assert {tier for kind, tier in KINDS.items() if kind not in confidential} == {PiiTier.SENSITIVE}

    def test_no_kind_has_the_name_of_one_of_the_patterns(self) -> None:
        assert set(KINDS).isdisjoint(pii.KINDS)

    def test_each_has_a_number_of_its_own_for_storing(self) -> None:
        assert set(hidden_places._NUMBERS) == set(KINDS)
        assert len(set(hidden_places._NUMBERS.values())) == len(KINDS)

    @pytest.mark.parametrize(
        ("kinds", "leading", "tier"),
        [
            (["name", "health"], "health", PiiTier.CONFIDENTIAL),
            (["belief", "union", "email"], "belief", PiiTier.SENSITIVE),
            (["email", "ssn"], "", PiiTier.CLEAR),
        ],
        ids=["confidential first", "sensitive", "patterns do not count"],
    )
    def test_the_first_of_the_highest_tier_leads(self, kinds: list[str], leading: str, tier: PiiTier) -> None:
        assert (meaning.leading(kinds), meaning.tier_of(kinds)) == (leading, tier)


class TestReading:
    def test_an_answer(self) -> None:
        assert read(answer()) == Verdict(("health",), 0.9, ("a cold",))

    @pytest.mark.parametrize(("confidence", "counts"), [(0.69, False), (0.7, True), (1, True), (0, False)])
    def test_it_counts_from_a_confidence_on(self, confidence: float, counts: bool) -> None:
        assert read(answer(confidence=confidence)).counts is counts

    def test_a_no_never_counts(self) -> None:
        assert not read(answer(has_pii=False)).counts

    @pytest.mark.parametrize(
        ("word", "kind"),
        [
            ("Health", "health"), ("medical", "health"), ("Sexual Orientation", "sexual_life"), ("religion", "belief"),
            ("trade-union", "union"), ("address", "residence"), ("shoe size", "other"), ("x" * 10_000, "other"),
        ],
        ids=["capital", "other word", "two words", "religion", "hyphen", "address", "unknown", "long"],
    )  # fmt: skip
    def test_words_for_kinds(self, word: str, kind: str) -> None:
        assert read(answer(types=[word])).kinds == (kind,)

    @pytest.mark.parametrize(
        "wrong",
        [
            None, [], "yes", {}, answer(has_pii="yes"), answer(has_pii=1), answer(confidence="0.9"),
            answer(confidence=True), answer(confidence=90), answer(confidence=-0.1), answer(confidence=math.nan),
            answer(confidence=None), answer(types="health"), answer(types=[1]), answer(types=None), answer(types=[]),
        ],
        ids=[
            "null", "list", "word", "empty", "word for a truth", "number for a truth", "word for a number",
            "truth for a number", "percent", "negative", "not a number", "no confidence", "word for a list",
            "numbers", "no list", "yes without a kind",
        ],
    )  # fmt: skip
    def test_anything_else_is_refused(self, wrong: Any) -> None:
        with pytest.raises(ValueError, match=r"has_pii|confidence|types"):
            read(wrong)

    @pytest.mark.parametrize("phrases", [None, "a cold", 7, {}, [1, None, "", " ", "x", "y" * 301]])
    def test_phrases_that_cannot_be_used_leave_the_kinds(self, phrases: Any) -> None:
        assert read(answer(phrases=phrases)) == Verdict(("health",), 0.9, ())

    def test_phrases_are_bounded(self) -> None:
        assert len(read(answer(phrases=[f"phrase {n}" for n in range(500)])).phrases) == 20


class TestPlaces:
    TEXT = "I take insulin every day. Insulin is dear; insulin, insulins."

    def test_every_occurrence_letter_by_letter_and_as_a_whole_word(self) -> None:
        found = places_of(self.TEXT, ["insulin"], kind="health")
        assert [(one.start, self.TEXT[one.start : one.end]) for one in found] == [(7, "insulin"), (43, "insulin")]

    def test_what_does_not_occur_is_passed_over(self) -> None:
        assert places_of(self.TEXT, ["aspirin", "", "  "], kind="health") == ()

    def test_a_long_text_cannot_be_taken_away_by_naming_all_of_it(self) -> None:
        text = " ".join(f"word{number:03}" for number in range(200))
        named = [text[start : start + 200].strip() for start in range(0, len(text), 200)]
        left = without(text, places_of(text, named, kind="health"))
        assert len(re.findall(r"word\d{3}", left)) > 95
        assert without("Ann has HIV.", places_of("Ann has HIV.", ["Ann has HIV."], kind="health")) == "[HEALTH]"

    def test_long_phrases_come_before_many_short_ones(self) -> None:
        text = "the " * 300 + "and Ann has HIV."
        assert "has HIV" not in without(text, places_of(text, ["the", "has HIV"], kind="health"))

    def test_what_overlaps_is_one(self) -> None:
        assert places_of(self.TEXT, ["take insulin", "insulin every"], kind="health")[0] == Place(2, 20, "health")

    def test_scripts_without_blanks(self) -> None:
        assert places_of("我有糖尿病。", ["糖尿病"], kind="health") == (Place(2, 5, "health"),)

    def test_they_go_and_what_the_patterns_know_goes_too(self) -> None:
        text = "Write to ann@example.org, I have asthma."
        found = places_of(text, ["have asthma"], kind="health")
        assert without(text, found) == "Write to [EMAIL], I [HEALTH]."

    def test_no_half_of_a_value_stays(self) -> None:
        text = "Write to ann.moor@example.org about it."
        place = Place(text.index("moor"), text.index("moor") + 4, "name")
        assert without(text, [place]) == "Write to [NAME] about it."

    def test_places_of_another_text_do_no_harm(self) -> None:
        assert without("short", [Place(2, 90, "health"), Place(3, 3, "health")]) == "short"

    def test_the_number_that_is_stored_gives_the_place_back(self) -> None:
        for place in (Place(0, 1, "health"), Place(262_143, 262_144, "other"), Place(7, 14, "sexual_life")):
            written = hidden_places._written(place)
            assert 0 < written < 2**63
            assert hidden_places._read(written) == place


class TestWindows:
    def test_a_short_text_is_shown_whole(self) -> None:
        assert windows("x" * WINDOW_CHARACTERS) == ["x" * WINDOW_CHARACTERS]

    @pytest.mark.parametrize("length", [1_001, 1_500, 3_000, 7_300])
    def test_a_longer_one_leaves_nothing_out(self, length: int) -> None:
        text = " ".join(f"w{n}" for n in range(length))[:length]
        words = {word for one in windows(text) for word in one.split()}
        assert words == set(text.split())

    def test_a_very_long_one_gives_its_beginning_its_end_and_some_between(self) -> None:
        text = " ".join(f"w{n}" for n in range(40_000))
        found = windows(text)
        assert len(found) == MOST_WINDOWS
        assert text.startswith(found[0])
        assert text.endswith(found[-1])
        assert max(map(len, found)) <= WINDOW_CHARACTERS + 120

    def test_neither_words_nor_placeholders_are_cut(self) -> None:
        text = "日" * 970 + "[CREDENTIAL_1][CREDENTIAL_2][CREDENTIAL_3]" * 30 + "日" * 970
        for one in windows(text):
            assert one.count("[") == one.count("]")
            assert one.strip("日").startswith("[") or not one.strip("日")

    def test_a_value_that_a_cut_would_halve_is_a_placeholder_by_then(self) -> None:
        text = "a " * 490 + "my password is hunter2hunter2 and " + "b " * 600
        assert "hunter2" not in "".join(windows(Placeholders().conceal(text)))
