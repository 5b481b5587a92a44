"""What has to be chosen before the graph is projected."""

from __future__ import annotations

import pytest

from config.settings.env import SettingError
from config.settings.projection import projection_address, reads_from


@pytest.mark.parametrize(
    "uri", ["bolt://localhost:7687", "neo4j+s://graph.example.org", "bolt+ssc://127.0.0.1:17687", "neo4j://[::1]"]
)
def test_addresses_of_bolt_are_taken(uri: str) -> None:
    assert projection_address(uri, text="names", password="secret") == uri


def test_nothing_is_projected_without_an_address() -> None:
    assert projection_address("", text="", password="") == ""


@pytest.mark.parametrize(
    "uri", ["http://localhost:7474", "localhost:7687", "bolt://", "bolt://localhost:port", "bolt+x://h"]
)
def test_others_are_refused(uri: str) -> None:
    with pytest.raises(SettingError, match="NEO4J_URI cannot be used"):
        projection_address(uri, text="names", password="secret")


def test_what_leaves_in_clear_has_to_be_chosen() -> None:
    with pytest.raises(SettingError, match="NEO4J_TEXT") as refused:
        projection_address("bolt://localhost", text="", password="secret")
    assert all(word in str(refused.value) for word in ("names", "all", "hashed"))


def test_what_is_spread_is_not_projected() -> None:
    with pytest.raises(SettingError, match="DATABASE_DISTRIBUTED"):
        projection_address("bolt://localhost", text="names", password="secret", distributed=True)
    assert projection_address("", text="", password="", distributed=True) == ""


def test_a_login_stands_in_settings_of_its_own() -> None:
    with pytest.raises(SettingError, match="NEO4J_USER"):
        projection_address("bolt://neo4j:secret@localhost", text="names", password="secret")
    with pytest.raises(SettingError, match="NEO4J_PASSWORD"):
        projection_address("bolt://localhost", text="names", password="")


def test_reads_need_a_neo4j() -> None:
    assert reads_from("postgres", uri="") == "postgres"
    assert reads_from("neo4j", uri="bolt://localhost") == "neo4j"
    with pytest.raises(SettingError, match="GRAPH_READS"):
        reads_from("neo4j", uri="")
