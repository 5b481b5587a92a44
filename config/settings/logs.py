"""Logging: lines to standard error, never with content of memories."""

from __future__ import annotations

import json
import logging
import traceback
from types import TracebackType
from typing import Any

from django.db import DatabaseError, InterfaceError

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class DiscreetFormatter(logging.Formatter):
    """Write exceptions as class and places in the code, without messages, which can carry what somebody said."""

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
        """Render a record with its time, level, logger, message and exception class."""
        line: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def logging_configuration(*, level: str, form: str) -> dict[str, Any]:
    """Build Django's LOGGING for a least level and a form, `text` or `json`."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {
                "()": "config.settings.logs.DiscreetFormatter",
                "format": "{asctime} {levelname} {name}: {message}",
                "style": "{",
            },
            "json": {"()": "config.settings.logs.JsonFormatter"},
        },
        "filters": {
            "routes_only": {"()": "config.settings.logs.RoutesOnly"},
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
            "httpx": {"level": "WARNING"},
            "django-q": {"filters": ["queue_without_database"]},
        },
    }
