"""Nothing that keeps data of owners is beyond the reach of a purge."""

from __future__ import annotations

import re

import pytest
from django.apps import apps
from django.db import connection

from memory.services.purge import caches
from memory.services.purge.registry import EXEMPT, Phase, load_announced, register, targets
from memory.services.purge.standing import KeysTarget
from memory.services.purge.targets import TABLES
from memory.services.purge.verification import TABLES as CATALOGUE
from tests.environment import PROJECT
from tests.integration.purge.everything import owned_models

# Kept in processes for speed, and nothing of an owner in them: the configuration, the models, the schema.
OF_NOBODY = {
    "memory/api/views/documentation.py",
    "memory/palace/sentences.py",
    "memory/privacy/injection/disguises.py",
    "memory/providers/composition.py",
    "memory/providers/outbound/tls.py",
    "memory/services/consolidation/choices.py",
    "memory/services/keys/sealed_tables.py",
    "memory/services/schema.py",
}
CLEARED = {"memory/text/tokens.py", "memory/consolidation/resolution/names.py"}


def covered_tables() -> frozenset[str]:
    return frozenset(table for target in targets() for table in target.tables)


def test_every_model_of_all_apps_has_a_target_or_a_reason() -> None:
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    assert len(tables) > 60
    assert tables - covered_tables() - EXEMPT.keys() == set()


@pytest.mark.django_db
def test_every_table_of_the_database_has_a_target_or_a_reason() -> None:
    with connection.cursor() as cursor:
        cursor.execute(CATALOGUE)
        tables = {name for name, *_ in cursor.fetchall()}
        assert "memory_memory" in tables
        assert tables - covered_tables() - EXEMPT.keys() == set()
        cursor.execute("SELECT count(*) FROM pg_class WHERE relkind IN ('m', 'f')")
        assert cursor.fetchone() == (0,), "materialised views and foreign tables need targets, too"


def test_no_table_with_an_owner_is_exempt() -> None:
    assert {model._meta.db_table for model in owned_models()} <= covered_tables()
    assert not covered_tables() & EXEMPT.keys()
    assert all(reason for reason in EXEMPT.values())


def test_children_come_before_parents() -> None:
    order = {target.table: at for at, target in enumerate(TABLES)}
    for model in owned_models():
        for field in model._meta.local_fields:
            child, parent = model._meta.db_table, getattr(field.related_model, "_meta", None)
            if parent is None or child not in order or parent.db_table not in order or parent.db_table == child:
                continue
            assert order[child] < order[parent.db_table], f"{child} refers to {parent.db_table}"


def test_phases_follow_each_other_and_keys_come_last() -> None:
    names = [target.name for target in targets()]
    assert names[:5] == ["browser_sessions", "login", "queue", "neo4j", "caches"]
    assert names[-2:] == ["audit_moved", "keys"]
    assert len(set(names)) == len(names)
    assert [target.name for target in targets(Phase.KEYS)] == ["keys"]


def test_a_name_is_given_once() -> None:
    with pytest.raises(ValueError, match="memories"):
        register(_Another(), phase=Phase.APPS)
    assert [target.name for target in targets()].count("memories") == 1


class _Another(KeysTarget):
    name = "memories"  # type: ignore[misc]


def test_every_cache_of_the_process_is_forgotten_or_of_nobody() -> None:
    load_announced()
    assert len(caches._caches) >= 9
    kept = re.compile(r"^@(?:functools\.)?(?:lru_)?cache\b", re.MULTILINE)
    found = {
        str(path.relative_to(PROJECT))
        for path in (PROJECT / "memory").rglob("*.py")
        if kept.search(path.read_text(encoding="utf-8"))
    }
    assert found - OF_NOBODY == CLEARED
