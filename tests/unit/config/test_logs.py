"""Log lines tell where something failed and never what somebody said."""

from __future__ import annotations

import json
import logging
import sys

import pytest
from django.conf import settings
from django.db import InterfaceError, OperationalError

from config.settings.logs import DiscreetFormatter, JsonFormatter, QueueWithoutDatabase

SAID = ("my password is hunter42", "al@example.org")


def record() -> logging.LogRecord:
    try:
        try:
            raise KeyError(SAID[1])
        except KeyError as error:
            raise ValueError(SAID[0]) from error
    except ValueError:
        return logging.LogRecord("loci", logging.ERROR, __file__, 1, "it failed: %s", ("code",), sys.exc_info())


@pytest.mark.parametrize("formatter", [DiscreetFormatter("%(message)s"), JsonFormatter()])
def test_exceptions_keep_their_messages_to_themselves(formatter: logging.Formatter) -> None:
    line = formatter.format(record())
    for told in ("it failed: code", "ValueError", "KeyError", "test_logs.py"):
        assert told in line
    for said in SAID:
        assert said not in line


def test_json_lines_are_json() -> None:
    assert json.loads(JsonFormatter().format(record()))["level"] == "ERROR"


@pytest.mark.parametrize("kind", [OperationalError, InterfaceError])
def test_the_queue_says_in_one_line_that_the_database_is_away(kind: type[Exception]) -> None:
    try:
        raise kind(SAID[0])
    except kind:
        away = logging.LogRecord("django-q", logging.ERROR, __file__, 1, "Failed to pull", (), sys.exc_info())
    assert QueueWithoutDatabase().filter(away)
    assert DiscreetFormatter("%(levelname)s %(message)s").format(away) == f"WARNING Failed to pull ({kind.__name__})"
    assert settings.LOGGING["loggers"]["django-q"]["filters"] == ["queue_without_database"]


def test_the_queue_tells_other_errors_whole() -> None:
    other = record()
    assert QueueWithoutDatabase().filter(other)
    assert "ValueError" in DiscreetFormatter("%(message)s").format(other)
