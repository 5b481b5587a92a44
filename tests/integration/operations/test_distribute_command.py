"""`manage.py distribute` shows, writes out and checks the plan, and refuses where there is no Citus."""

from __future__ import annotations

import json
from collections.abc import Iterator
from io import StringIO
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connections
from pytest_django import Settings
from pytest_django.plugin import DjangoDbBlocker

from memory.models import GraphProjection
from memory.services.actors import Actor
from memory.services.distribution.catalogue import Catalogue, read_catalogue
from memory.services.distribution.planning import make_plan


@pytest.fixture
def live(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Catalogue]:
    """Let the command ask the migrated database, and give its catalogue."""
    with django_db_blocker.unblock():
        yield read_catalogue("schema")
        connections["schema"].close()


def run(*arguments: str) -> str:
    said = StringIO()
    call_command("distribute", *arguments, stdout=said)
    return said.getvalue()


@pytest.mark.usefixtures("live")
class TestCommand:
    """`manage.py distribute`."""

    def test_the_plan_names_every_table(self, live: Catalogue) -> None:
        said = run("--plan")
        assert all(f"  {name}" in said for name in live.tables)
        assert "Citus in this database: no" in said
        assert "key memory_agentkey.agent_key_digest_once" in said

    def test_the_plan_as_json(self, live: Catalogue) -> None:
        found: dict[str, Any] = json.loads(run("--plan", "--json", "--shards", "32"))
        assert set(found["tables"]) == set(live.tables)
        assert (found["shards"], found["citus"], found["problems"]) == (32, False, [])

    def test_the_statements_are_those_that_were_tried(self, live: Catalogue) -> None:
        said = run("--sql")
        assert said.count("BEGIN;") == said.count("COMMIT;") == 2
        both = json.loads(run("--sql", "--json"))
        assert both["prepare"] == [text for step in make_plan(live).prepare for text in step.statements]
        assert "shard_count => 8" in run("--sql", "--shards", "8")

    def test_the_check_passes_and_changes_nothing(self, live: Catalogue) -> None:
        assert "Every table has a place" in run("--check")
        assert {n: t.columns for n, t in read_catalogue("schema").tables.items()} == {
            n: t.columns for n, t in live.tables.items()
        }

    def test_what_is_projected_to_neo4j_is_not_spread(self, settings: Settings) -> None:
        settings.NEO4J_URI = "bolt://localhost:7687"
        with pytest.raises(SystemExit) as ended:
            run("--check")
        assert ended.value.code == 1
        with pytest.raises(CommandError, match="NEO4J_URI"):
            run("--sql")

    @pytest.mark.django_db(transaction=True, databases=["default", "schema"])
    def test_leaving_neo4j_out_does_not_hide_what_stands_there(self, alice: Actor) -> None:
        projection = GraphProjection.objects.create(owner_id=alice.owner_id, generation=uuid4(), text="names")
        assert json.loads(run("--plan", "--json"))["problems"] == []
        projection.fence = 1
        projection.save()
        [problem] = json.loads(run("--plan", "--json"))["problems"]
        assert "graph forget --all" in problem
        with pytest.raises(SystemExit):
            run("--check")

    def test_without_citus_it_refuses_and_says_why(self) -> None:
        with pytest.raises(CommandError, match="no Citus.*--plan") as refused:
            run()
        assert refused.value.returncode == 3

    def test_shards_out_of_range_are_refused(self) -> None:
        with pytest.raises(CommandError, match="shards must be 1 to 4096"):
            run("--plan", "--shards", "0")
