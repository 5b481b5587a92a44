"""Skills over REST: written, listed, changed with versions, moved, used, needed, deleted; and walls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from memory.services.actors import Actor, Permission
from tests.integration.api.conftest import Client, problem

STEPS = ["Build the site.", "Copy it to the server."]


def skill(client: Client, name: str = "Deploy the site", **fields: Any) -> str:
    response = client.json("post", "/skills", {"name": name, "steps": STEPS, **fields})
    assert response.status_code == 201, response.content
    found = str(response.json()["id"])
    assert response["Location"] == f"/api/v1/skills/{found}"
    return found


def test_a_skill_s_life(agent: Client, woman: Client) -> None:
    made = skill(agent, description="When it changed.", risk=0.5, tags=["web"])
    shown = agent.json("get", f"/skills/{made}")
    body = shown.json()
    assert shown["ETag"] == '"1"'
    assert (body["name"], body["steps"], body["description"], body["scope"], body["state"], body["origin"]) == (
        "Deploy the site", STEPS, "When it changed.", "owner", "candidate", "llm",
    )  # fmt: skip
    numbers = [body[name] for name in ("health", "utility", "redundancy", "freshness", "risk")]
    assert numbers == [pytest.approx(0.725), 0.5, 0, pytest.approx(1), 0.5]
    memory = agent.json("get", f"/memories/{body['memory_id']}").json()
    assert (memory["kind"], memory["tier"], memory["tags"]) == ("skill", "procedural", ["web"])
    for path, state in (
        ("promote", "verified"), ("promote", "released"), ("demote", "degraded"), ("deprecate", "deprecated"),
        ("archive", "archived"), ("restore", "degraded"),
    ):  # fmt: skip
        moved = woman.json("post", f"/skills/{made}/{path}")
        assert (moved.status_code, moved.json()["state"]) == (200, state), path
    used = agent.json("post", f"/skills/{made}/uses", {"success": True}).json()
    assert (used["uses"], used["success_rate"]) == (1, 1.0)
    problem(agent.json("post", f"/skills/{made}/uses", {"success": "yes"}), 422, "field.type")
    problem(agent.json("post", f"/skills/{made}/uses", {}), 422, "field.required")


def test_changes_heed_versions(agent: Client) -> None:
    made = skill(agent)
    same = agent.json("patch", f"/skills/{made}", {"steps": STEPS})
    assert (same.status_code, same["ETag"]) == (200, '"1"')
    changed = agent.json("patch", f"/skills/{made}", {"name": "Ship the site"}, **{"If-Match": '"1"'})
    assert (changed.status_code, changed["ETag"]) == (200, '"2"')
    problem(agent.json("patch", f"/skills/{made}", {"name": "Send the site"}, **{"If-Match": '"1"'}), 412,
            "precondition.failed")  # fmt: skip
    problem(agent.json("patch", f"/skills/{made}", {}), 422, "change.empty")
    problem(agent.json("patch", f"/skills/{made}", {"state": "released"}), 422, "field.unknown")
    problem(agent.json("delete", f"/skills/{made}", **{"If-Match": '"1"'}), 412, "precondition.failed")


def test_lists_pages_and_searches(agent: Client) -> None:
    for number in range(3):
        skill(agent, f"Deploy site number {number}", steps=[f"Build site {number}."])
    skill(agent, "Water the garden", steps=["Open the tap."])
    first = agent.json("get", "/skills?limit=3").json()
    second = agent.json("get", f"/skills?limit=3&cursor={first['next']}").json()
    assert [len(first["items"]), len(second["items"]), second["next"]] == [3, 1, None]
    found = agent.json("get", "/skills?q=garden").json()
    assert ([one["name"] for one in found["items"]], found["next"]) == (["Water the garden"], None)
    assert agent.json("get", "/skills?q=xyzzy").json()["items"] == []
    assert agent.json("get", "/skills?reliable=true").json()["items"] == []
    assert len(agent.json("get", "/skills?state=candidate&state=verified").json()["items"]) == 4
    problem(agent.json("get", "/skills?state=happy"), 422, "state.invalid")
    problem(agent.json("get", f"/skills?q=garden&cursor={first['next']}"), 422, "query.unknown")
    problem(agent.json("get", "/skills?q="), 422, "text.empty")
    stats = agent.json("get", "/skills/stats").json()
    assert (stats["total"], stats["candidate"], stats["by_llm"]) == (4, 4, 4)


def test_dependencies(agent: Client) -> None:
    deploy, build = skill(agent), skill(agent, "Build the site", steps=["Run make."])
    path = f"/skills/{deploy}/dependencies"
    assert agent.json("post", path, {"needs": build}).status_code == 201
    assert agent.json("post", path, {"needs": build}).status_code == 200
    problem(agent.json("post", f"/skills/{build}/dependencies", {"needs": deploy}), 422, "skill.cycle")
    shown = agent.json("get", f"/skills/{build}/dependencies").json()
    assert ([one["id"] for one in shown["needed_by"]], shown["needs"]) == ([deploy], [])
    needed = problem(agent.json("delete", f"/skills/{build}"), 409, "skill.needed")
    assert needed["skills"] == [deploy]
    assert agent.json("delete", f"{path}/{build}").status_code == 204
    assert agent.json("delete", f"/skills/{build}").json()["status"] == "archived"


def test_a_person_s_delete_can_be_undone(woman: Client) -> None:
    made = skill(woman)
    deleted = woman.json("delete", f"/skills/{made}")
    assert (deleted.status_code, deleted.json()["status"]) == (202, "erasing")
    assert deleted.json()["erase_at"] is not None
    assert woman.json("get", "/skills").json()["items"] == []
    assert woman.json("post", f"/skills/{made}/restore").json()["state"] == "released"


def test_idempotency(agent: Client) -> None:
    headers = {"Idempotency-Key": "one"}
    body = {"name": "Deploy the site", "steps": STEPS}
    first = agent.json("post", "/skills", body, **headers)
    again = agent.json("post", "/skills", body, **headers)
    assert (again.status_code, again.json(), again["Location"]) == (201, first.json(), first["Location"])
    problem(agent.json("post", "/skills", body), 409, "skill.taken")


def test_walls_and_permissions(
    agent: Client,
    colleague: Client,
    stranger: Client,
    anonymous: Client,
    alice: Actor,
    make_client: Callable[..., Client],
) -> None:
    made = skill(agent, scope="agent")
    paths = [("get", ""), ("patch", ""), ("delete", ""), ("get", "/dependencies"), ("post", "/uses")]
    paths += [("post", f"/{name}") for name in ("promote", "demote", "deprecate", "archive", "restore")]
    bodies: dict[str, Any] = {"patch": {"risk": 1}, "post": None}
    for other in (colleague, stranger):
        assert other.json("get", "/skills").json()["items"] == []
        for method, path in paths:
            body = {"success": True} if path == "/uses" else bodies.get(method)
            problem(other.json(method, f"/skills/{made}{path}", body), 404, "not_found")
    problem(anonymous.json("get", "/skills"), 401, "auth.required")
    reader = make_client(alice, "reader", scopes=[Permission.READ])
    for method, path, sent in (
        ("post", "/skills", {"name": "Deploy it", "steps": STEPS}),
        ("post", f"/skills/{made}/promote", None),
        ("post", f"/skills/{made}/archive", None),
        ("delete", f"/skills/{made}", None),
    ):
        problem(reader.json(method, path, sent), 403, "auth.forbidden")
    problem(agent.json("get", "/skills/nonsense"), 404, "not_found")
    problem(agent.json("post", "/skills", {"name": "tmp_thing", "steps": STEPS}), 422, "name.invalid")
    problem(agent.json("post", "/skills", {"name": "Deploy it"}), 422, "field.required")
