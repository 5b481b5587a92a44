"""Which model, limits and server each part of Loci uses: `LLM_ROUTES`, read and checked once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from memory.providers.endpoints import checked_address
from memory.providers.misconfigured import ProviderMisconfigured

KEYS = ("model", "tier", "temperature", "max_tokens", "timeout", "base_url")
HIGHEST_TEMPERATURE = 2.0
MOST_TOKENS = 1_000_000
SHORTEST_TIMEOUT_SECONDS = 0.05
LONGEST_TIMEOUT_SECONDS = 3_600.0
LONGEST_TEXT = 2_048
LONGEST_NAME = 200

# The published routes of Prax's memory components; an installation's own routes win, key by key.
PUBLISHED: Mapping[str, Mapping[str, Any]] = {
    "subagent_memory": {"tier": "low", "temperature": 0.3},
    "memory_consolidation": {"tier": "low", "temperature": 0.2},
    "memory_compact": {"tier": "low", "temperature": 0.2},
}


@dataclass(frozen=True, slots=True)
class Route:
    """How one component asks: a temperature of None leaves it to the server, as some models demand."""

    model: str
    base_url: str
    temperature: float | None
    max_tokens: int
    timeout: float


class Routes:
    """Gives each component its route: its own settings, else the published ones, else the defaults."""

    def __init__(
        self,
        routes: Mapping[str, Any],
        *,
        model: str,
        base_url: str,
        timeout: float = 60.0,
        max_tokens: int = 1024,
        temperature: float | None = 0.2,
        tiers: Mapping[str, str] | None = None,
        components: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        """Check everything at once, so that a mistake shows at start and not at the first use.

        Args:
            routes: component name to an object with any of model, tier, temperature (0 to 2 or null), max_tokens,
                timeout (seconds), base_url.
            model: the model where neither a route nor its tier names one.
            base_url: the server where a route names none; may be empty when every used route names its own.
            timeout: seconds for a whole answer.
            max_tokens: upper bound of an answer.
            temperature: sampling temperature, 0 to 2; None leaves it to the server.
            tiers: tier name to model.
            components: what components of Loci ask for by themselves; an installation's own routes win, key by key.

        Raises:
            ProviderMisconfigured: an unknown key or an unusable value, with the component and key in the message.
        """
        self._tiers = dict(tiers or {})
        self._defaults: dict[str, Any] = {
            "model": model,
            "base_url": base_url,
            "temperature": temperature,
            "max_tokens": max_tokens,
            "timeout": timeout,
        }
        self._default = self._route("LLM defaults", {})
        self._routes: dict[str, Route] = {}
        given = {**PUBLISHED, **(components or {})}
        for component in {**given, **routes}:
            where = f"LLM_ROUTES: {component[:LONGEST_NAME]}"
            own = routes.get(component, {})
            _check_keys(where, own)
            self._routes[component] = self._route(where, {**given.get(component, {}), **own})

    def route(self, component: str) -> Route:
        """Give a component's route; one without settings of its own gets the defaults."""
        return self._routes.get(component, self._default)

    def addresses(self) -> Mapping[str, str]:
        """Give the address of each route that has one, by where it is set."""
        named = {f"LLM_ROUTES: {component[:LONGEST_NAME]}": route for component, route in self._routes.items()}
        return {where: one.base_url for where, one in {"LLM_BASE_URL": self._default, **named}.items() if one.base_url}

    def _route(self, where: str, own: Mapping[str, Any]) -> Route:
        values = {**self._defaults, **own}
        base_url = _text(where, "base_url", values["base_url"])
        temperature = values["temperature"]
        if temperature is not None:
            temperature = _number(where, "temperature", temperature, 0, HIGHEST_TEMPERATURE)
        return Route(
            model=self._model(where, own),
            base_url=checked_address(base_url, setting=f"{where}: base_url") if base_url else "",
            temperature=temperature,
            max_tokens=_whole(where, "max_tokens", values["max_tokens"], 1, MOST_TOKENS),
            timeout=_number(where, "timeout", values["timeout"], SHORTEST_TIMEOUT_SECONDS, LONGEST_TIMEOUT_SECONDS),
        )

    def _model(self, where: str, own: Mapping[str, Any]) -> str:
        """Choose the route's own model, else its tier's, else the default."""
        tier = _text(where, "tier", own.get("tier", ""))
        if "model" in own:
            return _text(where, "model", own["model"])
        if tier and self._tiers:
            if tier not in self._tiers:
                raise ProviderMisconfigured(f"{where}: no model is set for this tier.")
            return _text(where, "model", self._tiers[tier])
        return _text(where, "model", self._defaults["model"])


def _check_keys(where: str, own: Any) -> None:
    if not isinstance(own, Mapping):
        raise ProviderMisconfigured(f"{where} must be an object.")
    unknown = sorted(str(key)[:LONGEST_NAME] for key in own if key not in KEYS)
    if unknown:
        raise ProviderMisconfigured(f"{where} has unknown keys ({', '.join(unknown)}). Known are {', '.join(KEYS)}.")


def _text(where: str, key: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > LONGEST_TEXT:
        raise ProviderMisconfigured(f"{where}: {key} must be a text.")
    return value.strip()


def _number(where: str, key: str, value: Any, lowest: float, highest: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ProviderMisconfigured(f"{where}: {key} must be a number.")
    if not lowest <= value <= highest:
        raise ProviderMisconfigured(f"{where}: {key} must be between {lowest} and {highest}.")
    return float(value)


def _whole(where: str, key: str, value: Any, lowest: int, highest: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= highest:
        raise ProviderMisconfigured(f"{where}: {key} must be a whole number between {lowest} and {highest}.")
    return value
