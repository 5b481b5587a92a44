"""A language model behind any server that speaks OpenAI's `/v1/chat/completions`."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memory.errors import InvalidInput, LanguageModelUnavailable
from memory.ports import ChatMessage, Clock, Completion
from memory.ports.outbound import LLM
from memory.providers.circuit import Circuits
from memory.providers.endpoints import checked_key, is_loopback, joined, origin
from memory.providers.json_over_http import Answer, JsonOverHttp, Limits, Unreachable
from memory.providers.last_uses import LastUses
from memory.providers.llm_routes import Route, Routes
from memory.providers.metering import Asked, allowed, metered, note_answered, note_sent, token_count
from memory.providers.misconfigured import ProviderMisconfigured
from memory.providers.outbound.policy import OutboundPolicy
from memory.providers.wellformed import well_formed

PROVIDER = "openai"
"""What the dialect is called in counts and in prices."""
PATH = "/v1/chat/completions"
ADDRESS = "The address of the language model's server"
ROLES = frozenset({"system", "user", "assistant"})
MOST_MESSAGES = 1_000
# About a quarter of a million tokens: more than any prompt of ours, less than an accident.
MOST_CHARACTERS = 1_000_000
LARGEST_ANSWER_BYTES = 4 * 1024 * 1024
# A schema's name may hold letters, digits, `_` and `-`, at most 64 of them.
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
LONGEST_NAME = 64
FORMATS = ("json_schema", "json_object", "none")
TOKEN_FIELDS = ("max_tokens", "max_completion_tokens")
BAD_REQUEST, UNAUTHORISED, FORBIDDEN, NOT_FOUND = 400, 401, 403, 404
# Statuses by which servers refuse the prompt itself: malformed, too large, not processable.
PROMPT_REFUSED = frozenset({400, 413, 422})


@dataclass(frozen=True, slots=True)
class _Dialect:
    """What a server has turned out to understand, as positions in FORMATS and TOKEN_FIELDS."""

    format: int = 0
    tokens: int = 0


class ChatLanguageModel:
    """Answers prompts through chat completions; may be used by several threads at once."""

    def __init__(
        self,
        routes: Routes,
        *,
        base_url: str = "",
        api_key: str = "",
        component_keys: Mapping[str, str] | None = None,
        connect_seconds: float = 3.0,
        most_answer_bytes: int = LARGEST_ANSWER_BYTES,
        policy: OutboundPolicy | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Prepare without connecting.

        Args:
            routes: how each component asks.
            base_url: the server that `api_key` belongs to; it is sent to no other.
            api_key: sent in the Authorization header only.
            component_keys: keys of components whose routes name another server.
            connect_seconds: bound of connecting; the route's time-out bounds the whole answer.
            most_answer_bytes: bound of an answer's size.
            policy: where requests may go; the hosts of the routes when left out.
            clock: tells the time for pauses; the machine's when left out.

        Raises:
            ProviderMisconfigured: a key that a header cannot carry, a limit that is not above zero, or a route to a
                host that is not allowed.
        """
        self._policy = policy or OutboundPolicy()
        for where, address in routes.addresses().items():
            self._policy.admit(address, setting=where)
        if api_key and not base_url:
            raise ProviderMisconfigured("LLM_API_KEY needs LLM_BASE_URL, the server that it belongs to.")
        self._routes = routes
        self._owner_of_key = origin(base_url.strip())
        self._key = checked_key(api_key, setting="LLM_API_KEY")
        self._component_keys = {
            component: checked_key(key, setting=f"The key of {component}")
            for component, key in (component_keys or {}).items()
        }
        self._limits = Limits(connect_seconds=connect_seconds, response_bytes=most_answer_bytes)
        self._uses = LastUses()
        self._circuits = Circuits(_paused, clock=clock)
        self._lock = threading.Lock()
        self._connections: dict[tuple[str, str], JsonOverHttp] = {}
        self._dialects: dict[tuple[str, str, str], _Dialect] = {}

    def __repr__(self) -> str:
        return "ChatLanguageModel()"

    def loopback(self, component: str) -> bool:
        """Tell whether a component's prompts stay on this machine."""
        return is_loopback(self._routes.route(component).base_url)

    def close(self) -> None:
        """Close kept connections."""
        with self._lock:
            connections = list(self._connections.values())
        for connection in connections:
            connection.close()

    def complete(
        self,
        messages: Sequence[ChatMessage],
        *,
        component: str,
        json_schema: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
    ) -> Completion:
        """Answer a prompt.

        A server that refuses `response_format` is asked again with a weaker one, and remembered. The text is handed
        over as it came: thoughts, fences and broken JSON included.

        Args:
            messages: 1 to 1,000 messages of at most a million characters together.
            component: the part of Loci that asks; its route picks model and limits.
            json_schema: ask for JSON of this shape; strict where it says `"additionalProperties": false`.
            max_tokens: upper bound of the answer, at least 1; the route's own when that is lower.

        Returns:
            the answer, never empty, with the tokens that the server counted.

        Raises:
            InvalidInput: no message, an unknown role, too much text or a bound below 1. Nothing was sent.
            LanguageModelUnavailable: nothing configured, time-out, error status, an answer without text, so many
                failures in a row that it is not asked now (code `llm.paused`), or the owner's budget is used up
                (BudgetExceeded).
        """
        prompt = _prompt(messages, max_tokens)
        route = self._routes.route(component)
        if not route.base_url or not route.model:
            raise LanguageModelUnavailable(
                "No language model is configured for this part. Set LLM_BASE_URL and LLM_MODEL, or its route.",
                code="llm.none",
            )
        asked = Asked(
            kind=LLM,
            provider=PROVIDER,
            model=route.model,
            local=is_loopback(route.base_url),
            component=component,
        )
        allowed(asked)

        def call() -> Completion:
            return metered(
                asked,
                lambda: self._completion(route, component, prompt, json_schema, max_tokens),
                texts=[message["content"] for message in prompt],
            )

        # One circuit for each component: one with little patience must not pause those that wait longer.
        circuit = self._circuits.of((route.base_url, route.model, component))
        return circuit.run(lambda: self._uses.noted((route.base_url, route.model), call))

    def failure(self) -> str | None:
        """Say why the last use of a model in this process failed; None unless one has, and has not answered since."""
        return self._uses.failure()

    def _completion(
        self,
        route: Route,
        component: str,
        prompt: list[dict[str, str]],
        schema: Mapping[str, Any] | None,
        max_tokens: int | None,
    ) -> Completion:
        payload: dict[str, Any] = {"model": route.model, "messages": prompt, "stream": False}
        if route.temperature is not None:
            payload["temperature"] = route.temperature
        bound = min(route.max_tokens, max_tokens or route.max_tokens)
        try:
            answer = self._ask(route, component, payload, schema, bound)
            return _read(answer, route.model, prompt)
        except Unreachable as failure:
            raise LanguageModelUnavailable(f"The language model's server {failure}.") from None

    def _ask(
        self, route: Route, component: str, payload: Mapping[str, Any], schema: Mapping[str, Any] | None, bound: int
    ) -> Answer:
        """Ask in the dialect that worked last; step down once per refusal that names what it does not know."""
        place = (route.base_url, route.model, component)
        with self._lock:
            dialect = self._dialects.get(place, _Dialect())
        connection = self._connection(route, component)
        while True:
            body = {**payload, TOKEN_FIELDS[dialect.tokens]: bound, **_format(dialect, component, schema)}
            answer = connection.post(joined(route.base_url, PATH), body, seconds=route.timeout, component=component)
            simpler = _simpler(dialect, answer, asked_for_json=schema is not None)
            if simpler is None:
                return answer
            dialect = simpler
            with self._lock:
                self._dialects[place] = dialect

    def _connection(self, route: Route, component: str) -> JsonOverHttp:
        key = self._component_keys.get(component, "")
        if not key and origin(route.base_url) == self._owner_of_key:
            key = self._key
        with self._lock:
            if (route.base_url, key) not in self._connections:
                self._connections[route.base_url, key] = JsonOverHttp(
                    route.base_url, kind=LLM, setting=ADDRESS, key=key, limits=self._limits, policy=self._policy
                )
            return self._connections[route.base_url, key]


def _prompt(messages: Sequence[ChatMessage], max_tokens: int | None) -> list[dict[str, str]]:
    if not 1 <= len(messages) <= MOST_MESSAGES:
        raise InvalidInput(f"A prompt has 1 to {MOST_MESSAGES} messages.", code="llm.prompt_invalid")
    if any(message.role not in ROLES for message in messages):
        raise InvalidInput("A message's role is system, user or assistant.", code="llm.prompt_invalid")
    if sum(len(message.content) for message in messages) > MOST_CHARACTERS:
        raise InvalidInput(f"A prompt has at most {MOST_CHARACTERS} characters.", code="llm.prompt_too_large")
    if max_tokens is not None and max_tokens < 1:
        raise InvalidInput("An answer's bound is at least 1 token.", code="llm.prompt_invalid")
    return [{"role": m.role, "content": well_formed(m.content, MOST_CHARACTERS)} for m in messages]


def _format(dialect: _Dialect, component: str, schema: Mapping[str, Any] | None) -> dict[str, Any]:
    kind = FORMATS[dialect.format]
    if schema is None or kind == "none":
        return {}
    if kind == "json_object":
        return {"response_format": {"type": kind}}
    name = NOT_IN_NAMES.sub("_", component)[:LONGEST_NAME] or "answer"
    strict = schema.get("additionalProperties") is False
    return {"response_format": {"type": kind, kind: {"name": name, "schema": dict(schema), "strict": strict}}}


def _simpler(dialect: _Dialect, answer: Answer, *, asked_for_json: bool) -> _Dialect | None:
    """Give the next dialect to try after a refusal that names a field, or None when the answer stands."""
    if answer.status != BAD_REQUEST:
        return None
    if dialect.tokens + 1 < len(TOKEN_FIELDS) and answer.says(TOKEN_FIELDS[dialect.tokens + 1]):
        return replace(dialect, tokens=dialect.tokens + 1)
    names_format = answer.says("response_format", "json_schema", "json_object")
    if asked_for_json and dialect.format + 1 < len(FORMATS) and names_format:
        return replace(dialect, format=dialect.format + 1)
    return None


def _read(answer: Answer, model: str, prompt: Sequence[Mapping[str, str]]) -> Completion:
    if answer.status in (UNAUTHORISED, FORBIDDEN):
        raise LanguageModelUnavailable(f"The language model's server refuses the key (status {answer.status}).")
    if answer.status == NOT_FOUND:
        raise LanguageModelUnavailable(
            "The language model's server knows no such address or model (status 404). Check LLM_BASE_URL and the model."
        )
    if not answer.ok:
        raise LanguageModelUnavailable(
            f"The language model's server refuses the request (status {answer.status}).",
            input_refused=answer.status in PROMPT_REFUSED or answer.too_large,
        )
    value = answer.value()
    try:
        choice = value["choices"][0]
        text = choice["message"]["content"]
        used = value.get("usage") or {}
        read, written = token_count(used.get("prompt_tokens")), token_count(used.get("completion_tokens"))
        # Also an answer that cannot be used has been paid for.
        note_sent([message["content"] for message in prompt], counted=read)
        note_answered(text if isinstance(text, str) else "", counted=written)
        if not isinstance(text, str) or not text.strip():
            raise LanguageModelUnavailable("The language model answered without text.", input_refused=True)
        return Completion(
            text=text,
            model=str(value.get("model") or model),
            prompt_tokens=read,
            completion_tokens=written,
            finish_reason=str(choice.get("finish_reason") or "stop"),
        )
    except (KeyError, TypeError, IndexError, AttributeError):
        raise LanguageModelUnavailable("The language model answered in another form than agreed.") from None


def _paused(failures: int, reason: str) -> LanguageModelUnavailable:
    return LanguageModelUnavailable(
        f"The language model failed {failures} times in a row and is not asked for a while. {reason}".strip(),
        code="llm.paused",
    )
