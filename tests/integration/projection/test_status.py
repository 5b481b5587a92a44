"""`graph status`: what an operator reads there, and with what it ends."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from memory.providers.composition import neo4j_client
from memory.services.actors import Actor
from memory.services.projection.health import projection_finding
from memory.services.projection.standing import standing
from tests.bolt.server import BoltServer
from tests.integration.graph.conftest import entity
from tests.integration.projection import conftest as looks
from tests.integration.projection.conftest import catch_up, small_graph, waiting

pytestmark = pytest.mark.django_db(transaction=True)


def printed(*arguments: str, code: int = 0) -> str:
    """Give what an action of the command prints, and see with what it ends."""
    out, ended = StringIO(), 0
    try:
        call_command("graph", *arguments, stdout=out)
    except SystemExit as end:
        ended = int(str(end.code))
    assert ended == code
    return out.getvalue()


def status(*arguments: str, code: int = 0) -> dict[str, Any]:
    """Give the same of `graph status` in JSON."""
    told: dict[str, Any] = json.loads(printed("status", "--json", *arguments, code=code))
    return told


class TestNeo4j:
    def test_it_answers(self, alice: Actor, projected: BoltServer) -> None:
        catch_up(alice)
        told = status()
        assert (told["neo4j"], told["message"], told["remedy"]) == ("answers", "", "")
        assert "None failing." in printed("status")

    def test_it_refuses_the_login(self, alice: Actor, projected: BoltServer) -> None:
        catch_up(alice)
        with override_settings(NEO4J_PASSWORD="another one"):
            text = printed("status", code=3)
            told = status(code=3)
        assert "Neo4j: Neo4j refuses the login. Check NEO4J_USER and NEO4J_PASSWORD. (projection.refused)" in text
        assert "None failing" not in text
        assert (told["neo4j"], "NEO4J_PASSWORD" in told["remedy"]) == ("projection.refused", True)

    def test_it_is_gone(self, alice: Actor, projected: BoltServer) -> None:
        catch_up(alice)
        projected.kill()
        neo4j_client().close()
        text = printed("status", code=3)
        assert "(projection.unavailable)" in text
        assert "-> See whether Neo4j runs" in text


class TestWaiting:
    def test_what_waits_is_counted_now(self, alice: Actor, projected: BoltServer) -> None:
        catch_up(alice)
        small_graph(alice)
        assert looks.standing(alice).waiting == 0, "as it was when a worker looked last"
        told = status()
        assert told["waiting"] == told["projections"][0]["waiting"] == len(waiting(alice)) > 1
        assert standing().waiting == 1
        assert projection_finding().detail.endswith("; at least 1 change waits.")
        catch_up(alice)
        assert status()["waiting"] == 0
        assert projection_finding().detail.endswith("; 0 changes wait.")


class TestAnotherText:
    def test_that_the_former_one_still_stands_there_is_told(
        self, alice: Actor, mallory: Actor, projected: BoltServer
    ) -> None:
        for owner in (alice, mallory):
            small_graph(owner)
            catch_up(owner)
        with override_settings(NEO4J_TEXT="hashed"):
            told = status()
            assert (told["following"], told["building"], told["former_text"]) == (0, 2, 2)
            assert [one["state"] for one in told["projections"]] == ["building", "building"]
            assert "what it let out before still stands there, of 2 owners." in printed("status")
            found = projection_finding()
            assert (found.status, found.remedy) == ("degraded", "python3 manage.py graph project")
            assert found.detail.endswith("what it let out before still stands in Neo4j, of 2 owners.")
            catch_up(alice)
            assert projection_finding().detail.endswith("of 1 owner.")
            catch_up(mallory)
            assert status()["former_text"] == 0
            assert projection_finding().status == "ok"

    def test_of_what_was_never_projected_nothing_stands_there(self, alice: Actor, projected: BoltServer) -> None:
        with override_settings(NEO4J_PASSWORD="another one"):
            printed("project", code=1)
        with override_settings(NEO4J_TEXT="hashed"):
            assert (status()["building"], status()["former_text"]) == (1, 0)


class TestOwners:
    def test_they_are_named_by_login_and_taken_by_id_too(
        self, alice: Actor, mallory: Actor, projected: BoltServer
    ) -> None:
        entity(alice, "Ben")
        both = f"alice ({alice.owner_id}): 1 row."
        assert printed("project", "--owner", str(alice.owner_id)) == f"{both}\n"
        printed("project")
        assert f"mallory ({mallory.owner_id})  following" in printed("status")
        for name in ("mallory", str(mallory.owner_id)):
            assert [one["owner"] for one in status("--owner", name)["projections"]] == [str(mallory.owner_id)]
        with pytest.raises(CommandError, match="There is no such owner"):
            call_command("graph", "status", "--owner", "01900000-0000-7000-8000-000000000000")
