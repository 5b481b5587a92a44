"""Operations of migrations against the models as they are: what breaks processes of the last release is told."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from django.contrib.postgres import operations as postgres
from django.contrib.postgres.functions import RandomUUID
from django.db import migrations, models
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.state import ProjectState

from memory.management.upgrades.checking import UnknownLine, Verdict, check_migrations, judge_migration
from memory.management.upgrades.line import RELEASED
from memory.management.upgrades.operations import widens
from memory.models.tenancy import TenantForeignKey
from memory.models.tenant_tables import TenantTable

M = migrations
BY_TIME = models.Index(fields=["created_at"], name="by_time")
CALM = models.CheckConstraint(condition=models.Q(importance__gte=0), name="calm")
SPACE = models.ForeignKey("memory.EmbeddingSpace", models.PROTECT, null=True, db_index=False)
NEW = M.CreateModel(
    "Mood", [("id", models.UUIDField(primary_key=True)), ("text", models.TextField()), ("rank", models.IntegerField())]
)


@cache
def released() -> ProjectState:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    return loader.project_state(list(RELEASED.items()))


def judged(*operations: Any, overlap: dict[str, str] | None = None) -> Verdict:
    made = type("Migration", (M.Migration,), {"operations": list(operations), "overlap": overlap or {}})
    return judge_migration(made("0099_mood", "memory"), released(), set())


def backfill(apps: Any, editor: Any) -> None:
    """Do nothing."""


HARMLESS: list[list[Any]] = [
    [NEW, M.AddIndex("Mood", models.Index(fields=["text"], name="mood_text")), M.RemoveField("Mood", "rank"),
     M.AlterField("Mood", "text", models.CharField(max_length=3)), M.RunSQL("DROP TABLE memory_mood")],
    [NEW, M.RenameModel("Mood", "Humour"), M.DeleteModel("Humour")],
    [M.AddField("Memory", "mood", models.TextField(null=True))],
    [M.AddField("Memory", "mood", models.TextField(default="calm", db_default="calm"))],
    [M.AddField("Memory", "insight", TenantForeignKey("memory.Memory", null=True))],
    [M.AlterField("Purge", "error_code", models.CharField(max_length=128, blank=True, default=""))],
    [M.AlterField("Purge", "error_code", models.TextField(blank=True, default="", help_text="A code."))],
    [postgres.AddIndexConcurrently("Memory", BY_TIME)],
    [M.RemoveIndex("Purge", "purge_open")],
    [postgres.AddConstraintNotValid("Memory", CALM)],
    [postgres.ValidateConstraint("Memory", "calm")],
    [M.AlterModelOptions("Memory", {"verbose_name": "memory"})],
    [M.SeparateDatabaseAndState(state_operations=[M.RemoveField("Purge", "stage")])],
    [M.RunSQL(["CREATE TABLE memory_x (id int)", ("ALTER TABLE memory_x ADD y int NOT NULL", None)])],
]  # fmt: skip
TOLD: list[tuple[list[Any], list[str]]] = [
    ([M.DeleteModel("Purge")], ["DeleteModel Purge"]),
    ([M.RenameModel("Purge", "Erasure")], ["RenameModel Purge"]),
    ([M.AlterModelTable("Purge", "erasures")], ["AlterModelTable Purge"]),
    ([M.RemoveField("Purge", "stage")], ["RemoveField Purge.stage"]),
    ([M.RenameField("Purge", "stage", "step")], ["RenameField Purge.stage"]),
    ([M.AddField("Memory", "mood", models.TextField(default="calm"))], ["AddField Memory.mood"]),
    ([M.AddField("Memory", "mood", models.TextField(null=True, unique=True))], ["AddField Memory.mood"]),
    ([M.AddField("Memory", "mood", models.TextField(null=True, db_index=True))], ["AddField Memory.mood"]),
    ([M.AddField("Memory", "u", models.UUIDField(db_default=RandomUUID()))], ["AddField Memory.u"]),
    ([M.AddField("Memory", "space", SPACE)], ["AddField Memory.space"]),
    ([M.AlterField("Purge", "error_code", models.CharField(max_length=8))], ["AlterField Purge.error_code"]),
    ([M.AlterField("Purge", "attempts", models.PositiveBigIntegerField())], ["AlterField Purge.attempts"]),
    ([M.AlterField("Purge", "began_at", models.DateTimeField())], ["AlterField Purge.began_at"]),
    ([M.AlterField("Purge", "stage", models.CharField(max_length=64, null=True))], ["AlterField Purge.stage"]),
    ([M.AlterField("Purge", "stage", models.CharField(max_length=64, db_column="step"))], ["AlterField Purge.stage"]),
    ([M.AlterField("Purge", "stage", models.CharField(max_length=64, db_index=True))], ["AlterField Purge.stage"]),
    ([M.AlterField("Owner", "pseudonym", models.UUIDField(unique=True))], ["AlterField Owner.pseudonym"]),
    ([M.AddIndex("Memory", BY_TIME)], ["AddIndex Memory.by_time"]),
    ([M.AddConstraint("Memory", CALM)], ["AddConstraint Memory.calm"]),
    ([M.RemoveConstraint("Purge", "purge_token_once")], ["RemoveConstraint Purge.purge_token_once"]),
    (
        [postgres.AddConstraintNotValid("Memory", CALM), postgres.ValidateConstraint("Memory", "calm")],
        ["ValidateConstraint Memory.calm"],
    ),
    ([M.AlterUniqueTogether("Purge", {("stage", "state")})], ["AlterUniqueTogether Purge"]),
    ([TenantTable("Purge")], ["TenantTable Purge"]),
    ([M.RunPython(backfill)], ["RunPython backfill"]),
    ([M.SeparateDatabaseAndState([M.RemoveField("Purge", "stage")])], ["RemoveField Purge.stage"]),
    ([M.RunSQL(["CREATE TABLE memory_x (id int)", "DROP TABLE memory_purge"])], ["RunSQL DROP TABLE memory_purge"]),
    ([postgres.TrigramExtension()], ["TrigramExtension"]),
]


@pytest.mark.parametrize("operations", HARMLESS)
def test_what_is_not_noticed_passes(operations: list[Any]) -> None:
    found = judged(*operations)
    assert [one.key for one in found.findings] == []
    assert found.passes


@pytest.mark.parametrize(("operations", "keys"), TOLD)
def test_what_breaks_is_told(operations: list[Any], keys: list[str]) -> None:
    found = judged(*operations)
    assert [one.key for one in found.findings] == keys
    assert not found.passes
    assert all(line.startswith("memory.0099_mood: ") for line in found.lines())


def test_a_declared_exception_passes_by_its_key_or_its_beginning() -> None:
    trigger = M.RunSQL("CREATE TRIGGER t AFTER INSERT ON memory_memory FOR EACH ROW EXECUTE FUNCTION f()")
    for name in ("RunSQL CREATE TRIGGER", "RunSQL CREATE TRIGGER memory_memory"):
        found = judged(trigger, overlap={name: "It only notes what was written."})
        assert found.passes
        assert found.accepted == (name,)
    assert not judged(trigger, overlap={"RunSQL CREATE TRIGGER memory": "Another table."}).passes


def test_a_declared_exception_may_leave_the_model_out() -> None:
    for name in ("AddConstraint Memory.calm", "AddConstraint calm", "AddConstraint"):
        assert judged(M.AddConstraint("Memory", CALM), overlap={name: "No row is read: the table is empty."}).passes
    assert not judged(M.AddConstraint("Memory", CALM), overlap={"AddConstraint Memory": "Another."}).passes


def test_an_exception_without_need_or_reason_is_told() -> None:
    spare = judged(overlap={"RunSQL DROP": "Not there."})
    assert spare.unneeded == ("RunSQL DROP",)
    assert not spare.passes
    bare = judged(M.RemoveField("Purge", "stage"), overlap={"RemoveField Purge.stage": " "})
    assert bare.without_reason == ("RemoveField Purge.stage",)
    assert not bare.passes


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("varchar(8)", "varchar(9)", True), ("varchar(8)", "text", True), ("varchar(8)", "varchar", True),
        ("text", "text", True), ("varchar(8)", "varchar(7)", False), ("text", "varchar(900)", False),
        ("varchar", "varchar(8)", False), ("integer", "bigint", False), ("bigint", "integer", False),
    ],
)  # fmt: skip
def test_types_that_widen_without_rewriting(before: str, after: str, expected: bool) -> None:
    assert widens(before, after) is expected


def test_the_line_names_migrations_that_exist() -> None:
    assert {one.migration for one in check_migrations(RELEASED)}.isdisjoint({"memory.0007_palace"})
    with pytest.raises(UnknownLine, match="memory.0000_nothing"):
        check_migrations({"memory": "0000_nothing"})


def test_migrations_after_an_earlier_line_are_judged() -> None:
    """The rule has teeth: what was made before it would not pass."""
    verdicts = {one.migration: one for one in check_migrations({"memory": "0003_evidence"})}
    assert set(verdicts) >= {"memory.0004_graph", "memory.0006_privacy"}
    told = {one.key for one in verdicts["memory.0006_privacy"].findings}
    assert "RunSQL DROP TRIGGER audit_is_append_only" in told
    assert not any("memory_busmessage" in key for key in told), "a table of its own may be changed"


def test_all_migrations_since_the_last_release_pass() -> None:
    assert [line for one in check_migrations(RELEASED) for line in one.lines()] == []
