"""Errors that only HTTP knows; what services raise stands in `memory.errors`."""

from __future__ import annotations

from memory.errors import LociError


class PreconditionFailedError(LociError):
    """The If-Match header names another version than the stored one. Nothing was changed; read it again."""

    code = "precondition.failed"
    status = 412


class PreconditionRequiredError(LociError):
    """Send If-Match with the version that the change was made from, or * for any. Nothing was changed."""

    code = "precondition.required"
    status = 428


class InProgressError(LociError):
    """A request with this idempotency key is still running. Ask again in a moment."""

    code = "idempotency.in_progress"
    status = 409
