"""What doctor sees of a database server beyond that it answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import connections
from pytest_django import Settings

from memory.services import server_checks
from memory.services.findings import Finding
from memory.services.server_checks import SCHEMA, Server, server_findings, server_of, unfit

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "schema"])


def found(name: str) -> Finding:
    return next(one for one in server_findings() if one.name == name)


def altered(statement: str) -> None:
    with connections[SCHEMA].cursor() as cursor:
        cursor.execute(statement)
    connections[SCHEMA].close()


@pytest.fixture
def without_a_wall(db: None) -> Iterator[None]:
    altered("ALTER TABLE memory_session NO FORCE ROW LEVEL SECURITY")
    yield
    altered("ALTER TABLE memory_session FORCE ROW LEVEL SECURITY")


@pytest.fixture
def without_a_right(db: None) -> Iterator[None]:
    altered("REVOKE SELECT ON memory_session FROM loci_app")
    yield
    altered("GRANT SELECT ON memory_session TO loci_app")


def test_the_tests_own_server_is_fit(db: None) -> None:
    assert [one.detail for one in server_findings() if one.status != "ok"] == []
    assert list(unfit(migrating=True)) == []


def test_a_wall_that_does_not_stand_is_seen(without_a_wall: None) -> None:
    assert found("walls").status == "failing"
    assert "memory_session" in found("walls").detail


def test_a_right_that_is_missing_is_seen(without_a_right: None) -> None:
    assert "may not read memory_session" in found("walls").detail


def test_too_few_connections_are_seen(settings: Settings) -> None:
    settings.LOCI_DB_POOL_MAX = 10_000
    assert found("connections").status == "degraded"


def test_a_role_with_few_connections_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(alias: str) -> Server:
        return replace(server_of(alias), limit=3)

    monkeypatch.setattr(server_checks, "server_of", limited)
    assert "gives 3 connections" in found("connections").detail


def test_another_time_zone_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    name = connections["default"].settings_dict["NAME"]
    connections["default"].close()
    altered(f"ALTER DATABASE \"{name}\" SET timezone = 'Asia/Tokyo'")
    monkeypatch.setattr(server_checks, "server_of", lambda alias: replace(server_of(alias), time_zone="Asia/Tokyo"))
    try:
        # The role's own setting stands above the database's.
        assert server_of("default").time_zone == "UTC"
        assert "Asia/Tokyo" in found("database settings").detail
    finally:
        altered(f'ALTER DATABASE "{name}" RESET timezone')
