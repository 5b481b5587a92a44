"""Tells things over REST, lets a run draw from them, and looks at what came of it, as a client of the product would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from tests.integration.api.conftest import Client

Json = dict[str, Any]
MAY = datetime(2026, 5, 4, 9, tzinfo=UTC)


def tell(client: Client, session: str, *texts: str, at: datetime | None = None, role: str = "user") -> list[str]:
    """Store turns a minute apart, or without a time of their own, and give their ids."""
    turns: list[Json] = [{"text": text, "role": role} for text in texts]
    if at is not None:
        for place, turn in enumerate(turns):
            turn["occurred_at"] = (at + timedelta(minutes=place)).isoformat()
    answer = client.json("post", "/turns", {"session": session, "turns": turns})
    assert answer.status_code == 200, answer.content
    results = answer.json()["results"]
    assert all("error" not in result for result in results), results
    return [result["id"] for result in results]


def run(client: Client, *groups: str) -> Json:
    """Run groups of stages now, `knowledge` where none is named, and give the run, which must have gone well."""
    answer = client.json("post", "/consolidation/run", {"groups": list(groups) or ["knowledge"], "wait": True})
    assert answer.status_code == 200, answer.content
    body: Json = answer.json()
    assert (body["state"], body["error_code"]) == ("done", ""), body
    return body


def facts(client: Client, query: str = "") -> list[Json]:
    """List the facts that hold, or those that a query asks for."""
    items: list[Json] = client.json("get", f"/facts?limit=100{query}").json()["items"]
    return items


def fact_texts(client: Client, query: str = "") -> list[str]:
    """List the texts of facts in alphabetical order."""
    return sorted(one["memory"]["text"] for one in facts(client, query))


def as_of(at: datetime) -> str:
    """Give the part of a query that asks what held at a moment."""
    return f"&as_of={quote(at.isoformat())}"


def sources(client: Client, memory_id: str) -> list[str | None]:
    """List the turns from which a memory was drawn."""
    items = client.json("get", f"/memories/{memory_id}/sources").json()["items"]
    return [item["turn_id"] for item in items]


def entities(client: Client) -> dict[str, Json]:
    """Give the entities by name."""
    items = client.json("get", "/graph/entities?limit=100").json()["items"]
    return {item["name"]: item for item in items}


def relations(client: Client, entity_id: str, query: str = "") -> list[tuple[str, str, str | None]]:
    """List the relations of an entity: label, the name at the other end, and until when."""
    items = client.json("get", f"/graph/entities/{entity_id}/relations?limit=100{query}").json()["items"]
    return [
        (row["label"], row["target"]["name"] if row["source"]["id"] == entity_id else row["source"]["name"],
         row["valid_until"])
        for row in items
    ]  # fmt: skip
