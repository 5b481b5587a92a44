"""Domain errors: the only exceptions that services raise on purpose.

Each class carries a machine code and the HTTP status that fits it. Interfaces map them in one place each
(problem+json, forms, exit codes). Messages say what happened, what was kept and what to do, without personal data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class LociError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500

    def __init__(self, message: str | None = None, *, code: str | None = None, **details: Any) -> None:
        """Build the error.

        Args:
            message: one or more sentences for a person; the docstring of the class when left out.
            code: a narrower machine code than the class's own.
            details: plain values for the caller's program, without personal data.
        """
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.machine_code = code or type(self).code
        self.details: Mapping[str, Any] = details
        super().__init__(self.message)


class InvalidInput(LociError):
    """The request cannot be used as it stands."""

    code = "input.invalid"
    status = 422

    def __init__(
        self,
        message: str | None = None,
        *,
        code: str | None = None,
        field: str | None = None,
        errors: Sequence[Mapping[str, Any]] | None = None,
        **details: Any,
    ) -> None:
        """Build the error; `field` names the offending input, `errors` lists several."""
        if field is not None:
            details["field"] = field
        if errors is not None:
            details["errors"] = list(errors)
        super().__init__(message, code=code, **details)


class UnknownHost(LociError):
    """The request names a host that is not one of LOCI_ALLOWED_HOSTS. Nothing was done."""

    code = "host.unknown"
    status = 400


class MalformedBodyError(LociError):
    """The body is not the JSON that was expected."""

    code = "json.malformed"
    status = 400


class InvalidScope(InvalidInput):
    """The scope is not one that can be used. Leave it out to use the key's default scope."""

    code = "scope.invalid"


class NotAuthenticated(LociError):
    """No valid agent key or session came with the request."""

    code = "auth.required"
    status = 401


class PermissionRefused(LociError):
    """The key or login lacks the permission for this."""

    code = "auth.forbidden"
    status = 403


class CapabilityRefused(PermissionRefused):
    """The capability token is not valid here. Nothing was read or stored; ask for another one."""

    code = "capability.refused"


class NotFound(LociError):
    """There is nothing with this id here."""

    code = "not_found"
    status = 404


class Conflict(LociError):
    """The request conflicts with what is stored. Nothing was changed."""

    code = "conflict"
    status = 409


class OwnerPurging(LociError):
    """Everything of this owner is being erased. Nothing is read or stored any more."""

    code = "owner.purging"
    status = 410


class MemoryErased(LociError):
    """What this request stored has been erased since. Use a new idempotency key to store it again."""

    code = "memory.erased"
    status = 410


class IdempotencyMismatch(InvalidInput):
    """This idempotency key was used before with another body. Use a new key for a new request."""

    code = "idempotency.mismatch"


class TooLarge(LociError):
    """The input is larger than the limit."""

    code = "input.too_large"
    status = 413


class RateLimited(LociError):
    """Too many requests in a short time. Wait and try again."""

    code = "rate.limited"
    status = 429


class PasswordsBusy(LociError):
    """Too many passwords are being checked at this moment. Nothing was done; try again in a few seconds."""

    code = "auth.busy"
    status = 503


class DatabaseUnavailable(LociError):
    """The database did not answer. Try again in a moment."""

    code = "database.unavailable"
    status = 503


class MemoryDisabled(LociError):
    """Memory is switched off on this server (MEMORY_ENABLED=false). Nothing was stored or read."""

    code = "memory.disabled"
    status = 503


class StatementTimeout(LociError):
    """A question to the database took too long and was cut off. It changed nothing; ask for less or try again later."""

    code = "database.timeout"
    status = 503


class ProviderUnavailable(LociError):
    """An outside provider did not answer usably."""

    code = "provider.unavailable"
    status = 503


class EmbedderUnavailable(ProviderUnavailable):
    """The embedder did not answer usably. Texts are stored, and recall works by words until it is back."""

    code = "embedder.unavailable"


class LanguageModelUnavailable(ProviderUnavailable):
    """The language model did not answer usably."""

    code = "llm.unavailable"


class RerankerUnavailable(ProviderUnavailable):
    """The reranker did not answer usably. Hits keep the order that they had."""

    code = "reranker.unavailable"


class ProjectionUnavailable(ProviderUnavailable):
    """Neo4j did not answer usably. The graph stands in PostgreSQL, and what has changed waits to be projected."""

    code = "projection.unavailable"


class ProjectionOff(Conflict):
    """The graph is not projected here. Set NEO4J_URI, NEO4J_PASSWORD and NEO4J_TEXT, and start again."""

    code = "projection.off"


class ProjectionElsewhere(ProjectionOff):
    """The graph was projected to another Neo4j or database than NEO4J_URI and NEO4J_DATABASE name now."""

    code = "projection.elsewhere"


class ProjectionFollowed(Conflict):
    """A worker has reported lately and would project again at once. Stop Loci, wait three minutes, and try again."""

    code = "projection.followed"


class ProjectionBusy(Conflict):
    """A worker is projecting this owner's graph at the moment. Nothing was changed; try again in a moment."""

    code = "projection.busy"


class OllamaUnavailable(ProviderUnavailable):
    """Ollama did not do what it was asked for."""

    code = "ollama.unavailable"


class BudgetExceeded(EmbedderUnavailable, LanguageModelUnavailable, RerankerUnavailable):
    """The budget for models is used up, so that none is asked that costs. What works without a model goes on."""

    code = "budget.exceeded"


class KeysUnavailable(LociError):
    """The keys that protect stored text cannot be used. No text can be read or written."""

    code = "keys.unavailable"
    status = 503


class OwnerRequired(LociError):
    """A query over owned data was made outside an owner's scope. This is a programming error."""

    code = "owner.required"


class RedisUnavailable(LociError):
    """Redis does not answer. Nothing that is stored is lost; what needs it is done when it is back."""

    code = "redis.unavailable"
    status = 503


class QueueUnavailable(LociError):
    """The queue of background work does not answer. Nothing was started; what is due is done when it is back."""

    code = "queue.unavailable"
    status = 503
