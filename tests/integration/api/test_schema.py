"""The schema is sound, and the server keeps to it whatever is sent."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from io import StringIO
from typing import Any

import pytest
import schemathesis
from django.core.management import call_command
from django.core.signals import request_finished, request_started
from django.core.wsgi import get_wsgi_application
from django.db import close_old_connections
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django.plugin import DjangoDbBlocker
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memory.api.actions import CAPABILITY_HEADER
from memory.api.views import documentation
from memory.models import AgentKey, ExtractionFailure, owner_scope
from memory.services.actors import Actor, Permission
from memory.services.bus.capabilities import issue_capability
from memory.services.clock import now
from memory.services.settings import change_settings
from telemetry.models import TunerChange
from tests.apps import API as API_ROUTES
from tests.integration.api.conftest import API, Client, bearing, client_of, remember
from tests.integration.api.endpoints import COMPARED
from tests.integration.api.planted import Planted, Rows, planted, undone
from tests.integration.consolidation.reviewing import opened
from tests.integration.telemetry.telling import cluster_of

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    allow_header_conformance,
]
OPERATIONS = sorted(
    action.id
    for pattern in API_ROUTES
    for action in getattr(getattr(pattern.callback, "cls", None), "actions", {}).values()
)
EXAMPLES = 15
# What answers for each item, and where it names those that it refused: a good one is stored beside a bad one.
BY_ITEM = {"remember_batch": "refused", "import_memories": "errors"}


@pytest.fixture(scope="module")
def described() -> Any:
    """The schema as the server gives it, bound to the server in this process."""
    config = SchemathesisConfig.from_dict({"generation": {"with-security-parameters": False}})
    document = json.loads(OpenApiJsonRenderer().render(documentation.described()))
    schema = schemathesis.openapi.from_dict(document, config=config)
    schema.app = get_wsgi_application()
    schema.location = f"{API}/schema"
    return schema


def plant(agent: Client, colleague: Client, woman: Client) -> Rows:
    """Store rows that half of the requests ask for; the other half ask for ids that are drawn."""
    alice = woman.actor
    memory = remember(agent, "Alice drinks tea.")
    entity = agent.json("post", "/graph/entities", {"name": "Alice", "type": "person"}).json()["id"]
    agent.json("post", "/graph/entities", {"name": "Tea"})
    relation = agent.json("post", "/graph/relations", {"source": "Alice", "label": "drinks", "target": "Tea"}).json()
    other = remember(agent, "Alice drinks no coffee.")
    edge = agent.json("post", f"/memories/{memory}/edges", {"target": other}).json()["id"]
    session = agent.json("post", "/turns", {"session": "trip", "turns": [{"text": "hello there"}]}).json()["session_id"]
    woman.json("post", "/graph/communities")
    skills = [
        agent.json("post", "/skills", {"name": name, "steps": [f"{name}."]}).json()["id"]
        for name in ("Pour the tea", "Light the stove")
    ]
    for text in ("Alice drank tea in Faro.", "Alice drank tea in Porto."):
        remember(agent, text, category="goal", occurred_at="2020-05-01T10:00:00Z")
    compressed = agent.json("post", "/memories/compress", {"category": "goal", "least": 2}).json()["made"]
    with owner_scope(colleague.actor.owner_id):
        key = AgentKey.objects.get(agent_id=colleague.actor.agent_id)
        ExtractionFailure.objects.create(
            owner_id=colleague.actor.owner_id, memory_id=memory, code="llm.unusable", failed_at=now()
        )
    for path in ("/telemetry/budgets/day", f"/telemetry/budgets/day/agents/{colleague.actor.agent_id}"):
        assert woman.json("put", path, {"hard": "900"}).status_code == 200
    experiment = woman.json("post", "/telemetry/experiments", COMPARED).json()["id"]
    assert woman.json("post", f"/telemetry/experiments/{experiment}/end").status_code == 200
    change_settings(actor=alice, changes={"recall_threshold": 0.29})
    with owner_scope(alice.owner_id):
        change = TunerChange.objects.create(
            setting="recall_threshold", before=0.3, after=0.29, ndcg=0.2, recalls=5, reason="quality.low",
            created_at=now(),
        )  # fmt: skip
    return {
        "search_id": woman.json("post", "/saved-searches", {"name": "Tea", "question": "tea"}).json()["id"],
        "item_id": str(opened(alice).pk),
        "merge_id": woman.json(
            "post",
            f"/graph/entities/{entity}/merge",
            {"other": agent.json("post", "/graph/entities", {"name": "Alicia", "type": "person"}).json()["id"]},
        ).json()["id"],
        "purge_id": agent.json("post", "/purges", {"source": "user:somebody"}).json()["id"],
        "run_id": agent.json("post", "/consolidation/run", {}).json()["id"],
        "file_id": agent.json("post", "/files", {"path": "SOUL.md", "content": "I am kind."}).json()["id"],
        "memory_id": memory,
        "message_id": bearing(colleague)
        .json("post", "/bus/messages", {"text": "The kettle sings.", "target": "owner"})
        .json()["id"],
        "entity_id": entity,
        "relation_id": relation["id"],
        "skill_id": skills[0],
        "needs_id": skills[1],
        "summary_id": compressed[0]["summary_id"],
        "edge_id": edge,
        "session_id": session,
        "recall_id": agent.json("post", "/recall", {"query": "tea"}).json()["recall_id"],
        "agent_id": str(colleague.actor.agent_id),
        "key_id": str(key.pk),
        "group_id": woman.json("post", "/groups", {"kind": "project", "name": "moon"}).json()["id"],
        "name": "default",
        "number": "1",
        "period": "day",
        "cluster_key": cluster_of(woman.actor),
        "experiment_id": experiment,
        "change_id": str(change.pk),
    }


@pytest.fixture(scope="module")
def of_module(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Planted]:
    """Alice, her agents and their rows, for all tests."""
    with planted(django_db_blocker, plant) as found:
        yield found


@pytest.fixture
def db(of_module: Planted) -> Iterator[None]:
    """Undo what a test does."""
    with undone():
        yield


@pytest.fixture
def alice(db: None, of_module: Planted) -> Actor:
    """The owner of the rows."""
    return of_module.alice


@pytest.fixture
def rows(db: None, of_module: Planted) -> Rows:
    """What has been planted."""
    return of_module.rows


@pytest.fixture
def one_connection(rows: Rows) -> Iterator[None]:
    """Keep the test's transaction open although the server ends its requests, as Django's own test client does.

    It stands after the rows, since that client connects the signals again.
    """
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    yield
    for signal in (request_started, request_finished):
        signal.connect(close_old_connections)


def test_the_schema_is_valid_and_draws_no_warning() -> None:
    out = StringIO()
    call_command("spectacular", validate=True, fail_on_warn=True, stdout=out)
    assert "openapi: 3" in out.getvalue()


def test_the_schema_names_every_operation_once(described: Any) -> None:
    named = [result.ok().definition.raw["operationId"] for result in described.get_all_operations()]
    assert sorted(named) == OPERATIONS


def test_the_schema_is_served_to_anyone(anonymous: Client) -> None:
    response = anonymous.json("get", "/schema")
    assert response.status_code == 200
    assert response["Content-Type"] == "application/vnd.oai.openapi+json"
    assert response["Cache-Control"] == "no-store"
    document = response.json()
    assert set(document["components"]["securitySchemes"]) == {"agentKey", "agentKeyHeader", "session"}
    yaml = anonymous.json("get", "/schema", Accept="application/vnd.oai.openapi")
    assert yaml.content.startswith(b"openapi: 3")


@pytest.mark.parametrize("accepted", ["application/vnd.oai.openapi+json", "application/yaml"])
def test_the_schema_is_drawn_and_written_once_for_many_at_once(
    anonymous: Client, monkeypatch: pytest.MonkeyPatch, accepted: str
) -> None:
    drawn: list[None] = []
    written: list[None] = []
    draw, write = (
        SchemaGenerator.get_schema,
        {one: one.render for one in documentation.SchemaView.renderer_classes},
    )

    def drawing(*arguments: Any, **options: Any) -> Any:
        drawn.append(None)
        return draw(*arguments, **options)  # type: ignore[no-untyped-call]

    def writing(self: Any, *arguments: Any, **options: Any) -> Any:
        written.append(None)
        return write[type(self)](self, *arguments, **options)

    monkeypatch.setattr(SchemaGenerator, "get_schema", drawing)
    for one in documentation.SchemaView.renderer_classes:
        monkeypatch.setattr(one, "render", writing)
    documentation._described.cache_clear()
    documentation._written.clear()

    def asked(_: int) -> Any:
        return client_of("").json("get", "/schema", Accept=accepted)

    with ThreadPoolExecutor(6) as threads:
        answers = list(threads.map(asked, range(6)))
    assert [answer.status_code for answer in answers] == [200] * 6
    assert len({answer.content for answer in answers}) == 1
    assert (len(drawn), len(written)) == (1, 1)


def refuses_bad_data(ctx: Any, response: Any, case: Any) -> bool | None:
    """Check that what the schema forbids is refused: as a whole, or by its item where each item has its own outcome.

    An import that names no format is one of Engram's, which has memories alone: what else stands in it is passed over.
    """
    operation_id = case.operation.definition.raw["operationId"]
    if operation_id in BY_ITEM and response.json().get(BY_ITEM[operation_id]):
        return None
    is_engram = operation_id == "import_memories" and isinstance(case.body, dict) and "format" not in case.body
    if is_engram and isinstance(case.body.get("memories"), list):
        return None
    return negative_data_rejection(ctx, response, case)


def can_be_broken(operation: dict[str, Any]) -> bool:
    """Tell whether anything can be sent that the schema forbids; any text is a good name."""
    constrained = [one for one in operation.get("parameters", ()) if one["schema"] != {"type": "string"}]
    return bool(constrained) or "requestBody" in operation


@pytest.mark.slow
@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_an_operation_keeps_to_the_schema(
    described: Any,
    one_connection: None,
    alice: Actor,
    make_agent: Callable[..., tuple[Actor, str]],
    rows: Rows,
    operation_id: str,
) -> None:
    tester, secret = make_agent(alice, "tester", scopes=list(Permission))
    assert tester.agent_id is not None
    operation = described.find_operation_by_id(operation_id)
    headers = {"Authorization": f"Bearer {secret}"}
    if any(one["name"] == CAPABILITY_HEADER for one in operation.definition.raw.get("parameters", ())):
        headers[CAPABILITY_HEADER] = issue_capability(actor=alice, agent_id=tester.agent_id).token

    def check(case: Any, real: bool, checks: list[Any]) -> None:
        if real:
            case.path_parameters = {name: rows[name] for name in case.path_parameters or {}}
        # A token that is drawn is refused, so that nothing behind it would be looked at.
        response = case.call(headers=headers if real else {"Authorization": headers["Authorization"]})
        case.validate_response(response, checks=checks)

    once = settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    good = operation.as_strategy(generation_mode=schemathesis.GenerationMode.POSITIVE)
    once(given(case=good, real=st.booleans())(lambda case, real: check(case, real, CHECKS)))()
    if not can_be_broken(operation.definition.raw):
        return
    bad = operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE)
    once(given(case=bad)(lambda case: check(case, False, [*CHECKS, refuses_bad_data])))()
