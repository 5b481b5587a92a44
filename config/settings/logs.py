"""Logging: lines to standard error, never with content of memories."""

from __future__ import annotations

import json
import logging
from typing import Any


class JsonFormatter(logging.Formatter):
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
            "text": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"},
            "json": {"()": "config.settings.logs.JsonFormatter"},
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": form}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {
            # SQL parameters hold text before encryption has been checked by eyes; never log them.
            "django.db.backends": {"level": "INFO"},
            "httpx": {"level": "WARNING"},
        },
    }
