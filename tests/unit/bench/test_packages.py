"""The bench of an installation that has the packages of Loci itself and none for development."""

from __future__ import annotations

import json
import sys

import pytest
from django.core.management import CommandError, call_command, load_command_class

ONLY_FOR_DEVELOPMENT = ("networkx", "sqlglot", "schemathesis")


@pytest.fixture(autouse=True)
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Import the command and all measurements anew, where those packages cannot be imported."""
    for name in [*sys.modules]:
        if name == "bench" or name.startswith("bench.") or name == "memory.management.commands.bench":
            monkeypatch.delitem(sys.modules, name)
    for name in ONLY_FOR_DEVELOPMENT:
        monkeypatch.setitem(sys.modules, name, None)


def test_what_needs_none_of_them_runs(capsys: pytest.CaptureFixture[str]) -> None:
    call_command(load_command_class("memory", "bench"), "injection", "--json")
    assert json.loads(capsys.readouterr().out)


def test_what_needs_one_names_it_before_anything_is_made() -> None:
    with pytest.raises(CommandError, match=r"networkx is not installed. .* requirements/develop\.txt"):
        call_command(load_command_class("memory", "bench"), "communities", "--json")
