"""The language of filters: what is refused and where, and that nothing that came in stands in the SQL."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.crypto.keyring import OwnerRing
from memory.errors import InvalidInput
from memory.ports import OwnerKeys
from memory.recall.filter_language import MAX_VALUES, MEMBERS, Condition, compile_filter
from memory.recall.metadata import entries, entry

NOW = datetime(2026, 5, 1, tzinfo=UTC)
RING = OwnerRing(UUID(int=1), OwnerKeys(root=b"r" * 32, text_seeds={1: b"s" * 32}), 0.0)


def compiled(expression: Any) -> Condition:
    return compile_filter(expression, ring=RING, at=NOW)


def nested(depth: int) -> Any:
    expression: Any = {"tag": "x"}
    for _ in range(depth - 1):
        expression = {"not": expression}
    return expression


BAD: list[tuple[Any, str]] = [
    (None, "filter"),
    ([], "filter"),
    ("tag", "filter"),
    (7, "filter"),
    ({}, "filter"),
    ({"colour": "red"}, "filter.colour"),
    ({"; DROP TABLE": 1}, "filter.?"),
    ({"Tag": "x"}, "filter.Tag"),
    ({"and": []}, "filter.and"),
    ({"and": {"tag": "x"}}, "filter.and"),
    ({"or": [{"tag": "x"}, {}]}, "filter.or[1]"),
    ({"or": [{"tag": "x"}, "y"]}, "filter.or[1]"),
    ({"and": [{"or": [{"kind": "rumour"}]}]}, "filter.and[0].or[0].kind"),
    ({"not": [{"tag": "x"}]}, "filter.not"),
    ({"not": None}, "filter.not"),
    ({"not": {"not": {"colour": 1}}}, "filter.not.not.colour"),
    (nested(6), "filter.not.not.not.not.not"),
    ({"tag": ""}, "filter.tag"),
    ({"tag": 7}, "filter.tag"),
    ({"tag": None}, "filter.tag"),
    ({"tag": []}, "filter.tag"),
    ({"tag": ["x", "\x00"]}, "filter.tag[1]"),
    ({"tag": "\ud800"}, "filter.tag"),
    ({"tag": "x" * 801}, "filter.tag"),
    ({"tag": ["x"] * 51}, "filter.tag"),
    ({"topic": {"x": 1}}, "filter.topic"),
    ({"speaker": True}, "filter.speaker"),
    ({"source": " "}, "filter.source"),
    ({"kind": ["fact", "FACT"]}, "filter.kind[1]"),
    ({"tier": "working"}, "filter.tier"),
    ({"tier": 1}, "filter.tier"),
    ({"category": "colours"}, "filter.category"),
    ({"category": "x" * 65}, "filter.category"),
    ({"community": 0}, "filter.community"),
    ({"community": True}, "filter.community"),
    ({"community": [3, "4"]}, "filter.community[1]"),
    ({"community": 2**31}, "filter.community"),
    ({"agent": "me"}, "filter.agent"),
    ({"agent": 7}, "filter.agent"),
    ({"session": "01980000000070008000000000000000"}, "filter.session"),
    ({"metadata": {}}, "filter.metadata"),
    ({"metadata": "team"}, "filter.metadata"),
    ({"metadata": {"team": None}}, "filter.metadata"),
    ({"metadata": {"team": {"x": 1}}}, "filter.metadata"),
    ({"metadata": {"team": ["x", []]}}, "filter.metadata[1]"),
    ({"metadata": {"": 1}}, "filter.metadata"),
    ({"metadata": {"n" * 201: 1}}, "filter.metadata"),
    ({"metadata": {"team": "x" * 201}}, "filter.metadata"),
    ({"metadata": {"team": "\ud800"}}, "filter.metadata"),
    ({"metadata": {"te\x00am": "x"}}, "filter.metadata"),
    ({"metadata": {"n": 10**400}}, "filter.metadata"),
    ({"metadata": {"n": float("nan")}}, "filter.metadata"),
    ({"metadata": {str(n): n for n in range(51)}}, "filter.metadata"),
    ({"occurred": "2026"}, "filter.occurred"),
    ({"occurred": {}}, "filter.occurred"),
    ({"occurred": {"from": "soon"}}, "filter.occurred.from"),
    ({"occurred": {"since": "2026-01-01"}}, "filter.occurred"),
    ({"created": {"until": None}}, "filter.created.until"),
    ({"created": {"until": "1066-10-14"}}, "filter.created.until"),
    ({"created": {"from": "2026-01-01", "until": "2026-01-01"}}, "filter.created"),
    ({"importance": 0.5}, "filter.importance"),
    ({"importance": {"least": 2}}, "filter.importance.least"),
    ({"importance": {"least": True}}, "filter.importance.least"),
    ({"importance": {"least": "0.5"}}, "filter.importance.least"),
    ({"confidence": {"most": float("nan")}}, "filter.confidence.most"),
    ({"salience": {"least": 0.6, "most": 0.5}}, "filter.salience"),
    ({"pii_tier": {"most": 3}}, "filter.pii_tier.most"),
    ({"pii_tier": {"most": 0.5}}, "filter.pii_tier.most"),
    ({"pii_tier": 0}, "filter.pii_tier"),
    ({"valid": "yes"}, "filter.valid"),
    ({"valid": 1}, "filter.valid"),
    ({"or": [{"tag": "x"}] * 51}, "filter.or[50].tag"),
]


@pytest.mark.parametrize(("expression", "path"), BAD, ids=[f"{n}-{path[:30]}" for n, (_, path) in enumerate(BAD)])
def test_what_cannot_be_meant_is_refused_with_its_place(expression: Any, path: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        compiled(expression)
    assert caught.value.machine_code == "filter.invalid"
    assert (caught.value.details["field"], caught.value.details["path"]) == ("filter", path)
    assert caught.value.message.startswith(f"{path}: ")


def test_the_bounds_are_allowed() -> None:
    assert compiled(nested(5)).parameters
    assert len(compiled({"or": [{"tag": str(n)} for n in range(MAX_VALUES)]}).parameters) == MAX_VALUES
    assert compiled(
        {
            "tag": ["x"] * MAX_VALUES,
        }
    ).parameters
    assert compiled({"metadata": {"n" * 200: "\N{SNOWMAN}" * 200}}).parameters


HARMLESS = {
    "tag": "work", "topic": ["tea"], "source": "user:al", "speaker": "Al", "kind": "fact", "tier": ["semantic"],
    "category": "Error Log", "agent": str(uuid4()), "session": uuid4(), "metadata": {"a.b": [1, "x", True]},
    "occurred": {"from": "2026-01-01"}, "created": {"from": "2026-01-01", "until": "2027-01-01"},
    "importance": {"least": 0.5}, "salience": {"most": 1}, "confidence": {"least": 0, "most": 1},
    "pii_tier": {"most": 0}, "valid": True, "and": [{"tag": "x"}], "or": [{"tag": "x"}, {"tag": "y"}],
    "not": {"tag": "z"}, "community": [1, 2],
}  # fmt: skip


def test_every_member_is_understood() -> None:
    assert set(HARMLESS) == set(MEMBERS)
    condition = compiled(HARMLESS)
    for name in condition.parameters:
        assert f"%({name})s" in condition.sql
    assert condition.sql.count("%(") == len(condition.parameters) + 1  # `valid` names its moment twice


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=3, max_size=60))
def test_nothing_that_came_in_stands_in_the_sql(text: str) -> None:
    marked = f"'{text}%("
    expression = {"and": [{"tag": marked, "source": [marked]}, {"metadata": {marked: marked}}]}
    plain = {"and": [{"tag": "a", "source": ["b"]}, {"metadata": {"c": "d"}}]}
    condition = compiled(expression)
    assert condition.sql == compiled(plain).sql
    assert all(isinstance(one, int) for hashes in condition.parameters.values() for one in hashes)


@pytest.mark.parametrize(
    ("name", "value", "written"),
    [
        ("a", 7, "a=7"),
        ("a", 7.0, "a=7"),
        ("a", 7.5, "a=7.5"),
        ("a", -0.0, "a=0"),
        ("a", True, "a=true"),
        ("a", "7", 'a="7"'),
        ("a", "", 'a=""'),
        ("a.b", "ü", 'a.b="ü"'),
        ("a", None, None),
        ("a", [1], None),
        ("a", "x" * 201, None),
        ("", 1, None),
        ("n" * 201, 1, None),
        ("a", float("inf"), None),
        ("a", -(10**400), None),
    ],
)
def test_a_value_has_one_written_form(name: str, value: Any, written: str | None) -> None:
    assert entry(name, value) == written


def test_metadata_is_entered_to_a_depth_of_three_and_fifty_values() -> None:
    metadata = {"a": 1, "b": {"c": "x", "d": {"e": False, "f": {"g": 1}}}, "list": [1], "none": None, "b.c": "x"}
    assert entries(metadata) == (["a=1", 'b.c="x"', "b.d.e=false"], False)
    many, more = entries({str(n): n for n in range(60)})
    assert (len(many), many[0], more) == (50, "0=0", True)
    assert entries({str(n): n for n in range(50)})[1] is False
    assert entries(None) == ([], False)
