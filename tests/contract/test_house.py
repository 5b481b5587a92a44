"""House rules that no linter knows: sizes of files, no notes for later, nothing of the machine it was written on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.environment import PROJECT

LONGEST_FILE = 500
TEXTS = frozenset({".py", ".md", ".toml", ".html", ".css", ".js", ".yaml", ".yml", ".sh", ".cfg", ".ini", ""})
SKIPPED = frozenset({"vendor", "node_modules", "__pycache__", "htmlcov", "test-results", "staticfiles"})
# Put together, so that this file does not hold what it looks for.
LATER = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MACHINE = re.compile(r"(?<![\w.])/(?:wo" + r"rk|ho" + r"me|Us" + r"ers)/(?!\$|\{|<)[\w.-]+/")
REGISTRIES = re.compile(r"\b(?:py" + r"pi\.org|pythonho" + r"sted\.org|registry\.npm" + r"js|gh" + r"cr\.io)\b")
TOOLS = re.compile(r"\b(?:chat" + r"gpt|clau" + r"de|anth" + r"ropic|copi" + r"lot)\b", re.IGNORECASE)


def ours(*suffixes: str) -> Iterator[Path]:
    """List the files that are ours, with one of the suffixes when any is given."""
    for path in sorted(PROJECT.rglob("*")):
        parts = path.relative_to(PROJECT).parts
        hidden = any(part.startswith(".") and part not in (".ci",) for part in parts[:-1])
        if hidden or SKIPPED & set(parts) or not path.is_file():
            continue
        if path.suffix in (suffixes or TEXTS):
            yield path


def name(path: Path) -> str:
    return path.relative_to(PROJECT).as_posix()


def test_files_are_short() -> None:
    long = {
        name(path): lines
        for path in ours(".py")
        if "migrations" not in path.parts
        for lines in [len(path.read_text(encoding="utf-8").splitlines())]
        if lines > LONGEST_FILE
    }
    assert long == {}


@pytest.mark.parametrize("package", ["config", "memory", "telemetry", "runtime", "bench"])
def test_every_file_says_what_is_in_it(package: str) -> None:
    silent = [
        name(path)
        for path in ours(".py")
        if path.relative_to(PROJECT).parts[0] == package
        and path.name != "__init__.py"
        and "migrations" not in path.parts
        and not path.read_text(encoding="utf-8").startswith('"""')
    ]
    assert silent == []


@pytest.mark.parametrize(
    ("rule", "pattern"),
    [
        ("notes for later", LATER),
        ("paths of a machine", MACHINE),
        ("package registries", REGISTRIES),
        ("tools it was written with", TOOLS),
    ],
)
def test_nothing_of_this_kind(rule: str, pattern: re.Pattern[str]) -> None:
    found = [
        f"{name(path)}:{number}: {line.strip()[:100]}"
        for path in ours()
        for number, line in enumerate(_lines(path), start=1)
        if pattern.search(line)
    ]
    assert found == [], rule


def test_the_patterns_find_what_they_look_for() -> None:
    assert LATER.search("# TO" + "DO: later")
    assert MACHINE.search("see /ho" + "me/somebody/file")
    assert not MACHINE.search("see /var/lib/loci/data")
    assert REGISTRIES.search("https://py" + "pi.org/simple")
    assert TOOLS.search("written by Chat" + "GPT")


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError:
        return []
