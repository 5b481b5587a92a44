"""Logging: lines to standard error, never with content of memories."""

from __future__ import annotations

import json
import logging
import traceback
from types import TracebackType
from typing import Any

from django.db import DatabaseError, InterfaceError

from memory.ports.request_id import current_agent_id, current_request_id

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


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
        request = getattr(record, "request", None)
        if request is not None and isinstance(record.args, tuple) and record.args:
            match = getattr(request, "resolver_match", None)
            record.args = (*record.args[:-1], f"/{match.route}" if match else "an unknown address")
        return True


class HostsInOneLine(logging.Filter):
    """Make one short line of a request for a host that is not ours, whoever sends it; it says nothing of that name."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Take the name and the places in the code off, and call it a warning, which is written if those are."""
        record.msg, record.args = "a request named a host that is not one of LOCI_ALLOWED_HOSTS", ()
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return logging.getLogger().isEnabledFor(record.levelno)


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
            "hosts_in_one_line": {"()": "config.settings.logs.HostsInOneLine"},
            "queue_without_database": {"()": "config.settings.logs.QueueWithoutDatabase"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # SQL parameters hold text before encryption has been checked by eyes; never log them.
            "django.db.backends": {"level": "INFO"},
            # Refused requests are the client's affair; what failed is named by its route.
            "django.request": {"level": "ERROR", "filters": ["routes_only"]},
            "django.security.csrf": {"filters": ["routes_only"]},
            "django.security.DisallowedHost": {"filters": ["hosts_in_one_line"]},
            "httpx": {"level": "WARNING"},
            # Switched by a setting of its own.
            "loci.access": {"level": "INFO"},
            "django-q": {"filters": ["queue_without_database"]},
        },
    }
