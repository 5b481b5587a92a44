"""`LLM_ROUTES`: own settings, published ones, defaults, and mistakes that show at start."""

from __future__ import annotations

from typing import Any

import pytest

from memory.providers.llm_routes import Route, Routes
from memory.providers.misconfigured import ProviderMisconfigured

BASE = "http://127.0.0.1:9"


def made(routes: dict[str, Any], **options: Any) -> Routes:
    return Routes(routes, **{"model": "base", "base_url": BASE, **options})


def test_a_component_without_a_route_gets_the_defaults() -> None:
    assert made({}).route("anything") == Route("base", BASE, 0.2, 1024, 60.0)


def test_a_route_replaces_key_by_key() -> None:
    routes = made({"a": {"max_tokens": 7, "base_url": "http://127.0.0.1:8/"}})
    assert routes.route("a") == Route("base", "http://127.0.0.1:8", 0.2, 7, 60.0)


def test_published_routes_hold_until_they_are_replaced() -> None:
    assert made({}).route("subagent_memory").temperature == 0.3
    assert made({"subagent_memory": {"temperature": 1}}).route("subagent_memory").temperature == 1.0


def test_a_tier_names_a_model_and_a_route_s_own_model_wins() -> None:
    routes = made({"a": {"tier": "high"}, "b": {"tier": "high", "model": "mine"}}, tiers={"low": "s", "high": "xl"})
    assert [routes.route(name).model for name in ("a", "b", "memory_compact", "none")] == ["xl", "mine", "s", "base"]


def test_without_tiers_a_tier_changes_nothing() -> None:
    assert made({"a": {"tier": "high"}}).route("a").model == "base"


@pytest.mark.parametrize(
    ("own", "reason"),
    [
        ({"modle": "x"}, r"a has unknown keys \(modle\)"),
        ("model", "a must be an object"),
        ({"model": 3}, "model must be a text"),
        ({"tier": "medium"}, "no model is set for this tier"),
        ({"tier": ["low"]}, "tier must be a text"),
        ({"temperature": 2.1}, "temperature must be between"),
        ({"temperature": "0.2"}, "temperature must be a number"),
        ({"temperature": True}, "temperature must be a number"),
        ({"temperature": float("nan")}, "temperature must be a number"),
        ({"max_tokens": 0}, "max_tokens must be a whole number"),
        ({"max_tokens": 1.5}, "max_tokens must be a whole number"),
        ({"timeout": 0}, "timeout must be between"),
        ({"timeout": None}, "timeout must be a number"),
        ({"base_url": "http://al:pw@x"}, "a: base_url must not contain a user name"),
    ],
)
def test_mistakes_name_the_component_and_the_key(own: Any, reason: str) -> None:
    with pytest.raises(ProviderMisconfigured, match=reason):
        made({"a": own}, tiers={"low": "s"})


def test_unusable_defaults_are_refused() -> None:
    with pytest.raises(ProviderMisconfigured, match="LLM defaults: timeout"):
        made({}, timeout=0)
