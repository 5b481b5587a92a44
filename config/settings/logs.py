"""Logging: lines to standard error, never with content of memories."""

from __future__ import annotations

import json
import logging
import traceback
from types import TracebackType
from typing import Any, Final

from django.db import DatabaseError, InterfaceError

from memory.ports.request_id import current_agent_id, current_request_id

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]

REFUSALS: Final = "django.security."
CSRF_REASONS: Final = (
    "Origin checking failed",
    "Referer checking failed",
    "CSRF cookie not set",
    "CSRF token missing",
)
"""How Django's reasons for refusing a form begin; some go on with what the client sent."""


class DiscreetFormatter(logging.Formatter):
    """Write exceptions as class and places in the code, without messages, which can carry what somebody said.

    Each line names the request or job that it belongs to, and the agent that asked.
    """

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  (the name is the standard library's)
        """Render the line with what it belongs to, as ids."""
        belongs = " ".join(f"{name}={value}" for name, value in _belonging().items())
        record.belongs = f" [{belongs}]" if belongs else ""
        return super().formatMessage(record)

    def formatException(self, ei: ExcInfo) -> str:  # noqa: N802  (the name is the standard library's)
        """Render where an exception came from."""
        kind, error, trace = ei
        if kind is None:
            return ""
        lines = [f"{kind.__module__}.{kind.__qualname__}", *traceback.format_tb(trace)]
        cause = error.__cause__ or error.__context__ if error is not None else None
        if cause is not None:
            lines.append(f"after {type(cause).__module__}.{type(cause).__qualname__}")
        return "\n".join(line.rstrip("\n") for line in lines)


class RoutesOnly(logging.Filter):
    """Name the route of a request that failed and not its path, in which somebody may have typed anything."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Put the route in the place of the path, which is the last of the arguments of Django's own messages."""
        if getattr(record, "request", None) is not None and isinstance(record.args, tuple) and record.args:
            record.args = (*record.args[:-1], _route(record))
        return True


class RefusalsInOneLine(logging.Filter):
    """Make one short line of a request that was refused, by the sort of refusal and the route, and no client's word.

    It stands at the handler: Django names a logger after each sort, and what filters a logger does not see those below.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the message and the places in the code off, and call it a warning, which is written if those are."""
        if not record.name.startswith(REFUSALS):
            return True
        sort = record.name.removeprefix(REFUSALS)
        if sort == "csrf":
            record.msg, record.args = "%s, at %s", (_csrf_reason(record), _route(record))
        elif sort == "DisallowedHost":
            record.msg, record.args = "a request named a host that is not one of LOCI_ALLOWED_HOSTS", ()
        else:
            record.msg, record.args = "a request was refused, at %s", (_route(record),)
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return logging.getLogger().isEnabledFor(record.levelno)


def _csrf_reason(record: logging.LogRecord) -> str:
    """Give why a form was refused, without the address that such a reason may go on with."""
    reason = str(record.args[0]) if isinstance(record.args, tuple) and record.args else ""
    return next((known for known in CSRF_REASONS if reason.startswith(known)), "CSRF check failed")


def _route(record: logging.LogRecord) -> str:
    match = getattr(getattr(record, "request", None), "resolver_match", None)
    return f"/{match.route}" if match else "an unknown address"


class QueueWithoutDatabase(logging.Filter):
    """Make one line of what the queue says in fifty while the database is away, as during a restore."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the places in the code off an error of the database, and call it a warning; the queue tries again."""
        kind = record.exc_info[0] if record.exc_info else None
        if kind is not None and issubclass(kind, (DatabaseError, InterfaceError)):
            record.msg, record.args = "%s (%s)", (record.getMessage(), kind.__name__)
            record.exc_info = record.exc_text = None
            record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


class JsonFormatter(DiscreetFormatter):
    """Write one JSON object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Render a record with its time, level, logger, message, what it belongs to, and exception class."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
            **_belonging(),
            **getattr(record, "told", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def _belonging() -> dict[str, str]:
    """Name the request or job under way and the agent that asks, as far as there are any."""
    found = {"request_id": current_request_id(), "agent_id": current_agent_id()}
    return {name: str(value) for name, value in found.items() if value}


def logging_configuration(*, level: str, form: str) -> dict[str, Any]:
    """Build Django's LOGGING for a least level and a form, `text` or `json`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {
                "()": "config.settings.logs.DiscreetFormatter",
                "format": "{asctime} {levelname} {name}:{belongs} {message}",
                "style": "{",
            },
            "json": {"()": "config.settings.logs.JsonFormatter"},
        },
        "filters": {
            "routes_only": {"()": "config.settings.logs.RoutesOnly"},
            "refusals_in_one_line": {"()": "config.settings.logs.RefusalsInOneLine"},
            "queue_without_database": {"()": "config.settings.logs.QueueWithoutDatabase"},
        },
        "handlers": {
            "stderr": {"class": "logging.StreamHandler", "formatter": form, "filters": ["refusals_in_one_line"]}
        },
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # SQL parameters hold text before encryption has been checked by eyes; never log them.
            "django.db.backends": {"level": "INFO"},
            # Refused requests are the client's affair; what failed is named by its route.
            "django.request": {"level": "ERROR", "filters": ["routes_only"]},
            "httpx": {"level": "WARNING"},
            # The driver repeats what the server says, and what is sent to it; its errors are told by who uses it.
            "neo4j": {"level": "CRITICAL"},
            # Switched by a setting of its own.
            "loci.access": {"level": "INFO"},
            "django-q": {"filters": ["queue_without_database"]},
        },
    }
