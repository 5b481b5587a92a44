"""The page about recall is a contract: every field, reason, signal, code and value that exists stands there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any

import pytest

from memory.api.serializers.choices import ChangeProfileSerializer
from memory.errors import BudgetExceeded, InvalidInput
from memory.models import Tier
from memory.recall.budgets import TOTAL_MS, budget_of
from memory.recall.evidence import WEIGHTS
from memory.recall.gate import LONGEST
from memory.recall.gathering import WITH_NEIGHBOURS
from memory.recall.profiles import RERANKERS, SHIPPED, RecallProfile, with_changes
from memory.recall.query import MAX_TERMS
from memory.recall.reranking import HEAD
from memory.recall.scoring import Adjustment
from memory.recall.weighing import WITH_TOKENS
from tests.environment import PROJECT

PAGE = (PROJECT / "docs" / "how-to" / "recall.md").read_text(encoding="utf-8")
PLAIN = RecallProfile(name="plain")
FIELDS = [field.name for field in fields(RecallProfile)]
TIERS = [tier.value for tier in Tier if tier is not Tier.WORKING]
CODE = re.compile(r'"((?:arm|embedder|reranker|expansion)\.[a-z_]+)')
PART = re.compile(r'guarded\(\s*"(\w+)"')
NAMES = re.compile(r"`([^`]+)`")
BOUNDS = re.compile(r"([\d.]+) to ([\d.]+)")
NOT_TAKEN = re.compile(r"^Not yet taken by `PATCH`: (.+)\.$", re.MULTILINE)


def table(heading: str) -> dict[str, list[str]]:
    """Give the rows of the first table below a heading: the first cell without its marks, and the others."""
    section = re.split(rf"^#+ {heading}$", PAGE, flags=re.MULTILINE)[1].split("\n#", 1)[0]
    first = re.search(r"^\|.+?(?=\n(?!\|)|\Z)", section, re.MULTILINE | re.DOTALL)
    assert first is not None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in first.group().splitlines()]
    return {row[0].strip("`"): row[1:] for row in rows if not row[0].startswith("---")}


def written(value: Any) -> str:
    """Write a field's value as the page does."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Mapping):
        if set(value) == set(TIERS) and len(set(value.values())) == 1:
            return f"all tiers {next(iter(value.values())):g}"
        return ", ".join(f"`{name}` {number:g}" for name, number in value.items()) or "none"
    if isinstance(value, list | tuple):
        return ", ".join(f"`{name}`" for name in value)
    if value is None:
        return "null"
    return f"{value:g}" if isinstance(value, int | float) else f"`{value}`"


def accepted(name: str, value: Any) -> bool:
    """Tell whether the service takes a value of a field."""
    try:
        with_changes(PLAIN, {name: value})
    except InvalidInput:
        return False
    return True


def not_taken() -> list[str]:
    """List the fields that the page says cannot be changed over REST yet."""
    line = NOT_TAKEN.search(PAGE)
    return NAMES.findall(line.group(1)) if line else []


def test_every_field_of_a_profile_is_documented_and_no_other() -> None:
    assert [name for name in table("Fields") if name != "Field"] == FIELDS


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "name"])
def test_the_plain_value_of_each_field_is_documented(name: str) -> None:
    assert table("Fields")[name][1] == written(asdict(PLAIN)[name])


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "name"])
def test_the_bounds_of_each_field_are_documented(name: str) -> None:
    if name in not_taken() and not accepted(name, asdict(PLAIN)[name]):
        pytest.skip("the page says that it cannot be changed yet")
    takes = table("Fields")[name][0]
    numbers, choices = BOUNDS.search(takes), NAMES.findall(takes)

    def value(number: float) -> Any:
        if name == "weights":
            return {"dense": number}
        return {choices[0]: number} if name == "half_life_days" else number

    if numbers:
        least, most = float(numbers[1]), float(numbers[2])
        assert [accepted(name, value(one)) for one in (least, most)] == [True, True]
        assert [accepted(name, value(one)) for one in (least - 0.01, most + 1)] == [False, False]
        assert ("null" in takes) == accepted(name, None)
        whole = isinstance(asdict(PLAIN)[name], int) and name != "importance_base"
        assert ("whole" in takes) == whole == (not accepted(name, value(most - 0.5)))
    elif choices:
        given: list[Any] = [[one] for one in choices] if name == "arms" else list(choices)
        assert [one for one in given if not accepted(name, one)] == []
        assert not accepted(name, ["smell"] if name == "arms" else "other")
    else:
        assert takes == "true, false"
        assert [accepted(name, one) for one in (True, False, 1, None)] == [True, True, False, False]


def test_what_cannot_be_changed_over_rest_is_said() -> None:
    over_rest = set(ChangeProfileSerializer().fields)
    closed = [
        name for name in FIELDS if name != "name" and not (name in over_rest and accepted(name, asdict(PLAIN)[name]))
    ]
    assert not_taken() == closed


def test_the_values_of_each_shipped_profile_are_documented() -> None:
    values = table("Values")
    profiles = [NAMES.findall(heading)[0] for heading in values.pop("Field")]
    assert profiles == list(SHIPPED)
    said = {
        (profile, name): cell
        for name, cells in values.items()
        for profile, cell in zip(profiles, cells, strict=True)
        if cell
    }
    plain = asdict(PLAIN)
    expected = {
        (profile.name, name): written(value)
        for profile in SHIPPED.values()
        for name, value in asdict(profile).items()
        if name != "name" and value != plain[name]
    }
    assert said == expected


def test_every_profile_and_reranker_is_described() -> None:
    assert list(table("Profiles"))[1:] == list(SHIPPED)
    assert list(table("Rerankers"))[1:] == list(RERANKERS)


def test_every_reason_is_documented() -> None:
    reasons = table("Read the reasons")
    keys = ["arms", "fused", "evidence", *asdict(Adjustment()), "rerank", "asked", "fallback"]
    assert [key for key in keys if key not in reasons] == []


def test_every_signal_is_documented_and_no_other() -> None:
    assert list(table("Evidence"))[1:] == [weight.signal for weight in WEIGHTS]


def test_the_numbers_of_the_steps_are_current() -> None:
    rows = ", ".join(f"{budget_of(arm).rows:,} of `{arm}`" for arm in ("dense", "lexical", "time"))
    for words in (
        f"the best {WITH_NEIGHBOURS} rows of each arm",
        f"for the {WITH_TOKENS} likeliest candidates",
        f"the order of the first {HEAD}:",
        f"at most {rows} and {budget_of('graph').rows} of `graph`",
        f"no time left ({TOTAL_MS // 1000} seconds)",
        f"at most {LONGEST} characters",
        f"At most {MAX_TERMS} words count",
    ):
        assert words in " ".join(PAGE.split()), words


def test_every_degraded_code_is_documented() -> None:
    sources = [
        *(PROJECT / "memory" / "recall").glob("*.py"),
        *(PROJECT / "memory" / "services" / f"{name}.py" for name in ("recall", "questions", "expansion")),
    ]
    code = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    found = set(CODE.findall(code))
    assert len(found) >= 7
    documented = {name.partition(":")[0] for name in table("What could not be done")}
    # The code of an error that is handed on, since the budget is not recall's own.
    assert found | {BudgetExceeded.code} == documented - {"Code"}
    parts = set(PART.findall(code))
    assert len(parts) >= 6
    assert [part for part in sorted(parts) if f"`{part}`" not in PAGE] == []
