"""The documentation is a contract: what exists is documented, what is generated is current, what is linked is there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from django.core.management import get_commands
from django.urls import URLPattern, URLResolver, get_resolver, resolve

from config.settings.chosen import env
from memory.management.commands import bench, errors_reference, settings_reference
from memory.management.error_codes import error_codes
from memory.services.settings_table import OWNER_SETTINGS
from telemetry.management.commands import metrics_reference
from tests.apps import APPS
from tests.environment import PROJECT

DOCS = PROJECT / "docs"
PAGES = sorted([PROJECT / "README.md", PROJECT / "CHANGELOG.md", *DOCS.rglob("*.md")])
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
CODE_BLOCK = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
API = "api/v1/"
EXAMPLES = sorted([PROJECT / "README.md", *(DOCS / "how-to").glob("*.md")])
EXAMPLE = re.compile(r"\$(?:LOCI|API)/([^\s\"'?`)]*)")
VARIABLE = re.compile(r"\$\{?[A-Z_]+\}?")
DECISION_PARTS = ("## Context", "## Decision", "## Consequences", "## What would change our mind")


def text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "module", [settings_reference, errors_reference, metrics_reference], ids=["settings", "errors", "metrics"]
)
def test_generated_pages_are_current(module: object) -> None:
    command = module.Command()  # type: ignore[attr-defined]
    assert text(DOCS / command.page) == command.content(), f"write docs/{command.page} anew"


def test_every_setting_is_documented() -> None:
    page = text(DOCS / "reference" / "settings.md")
    missing = [name for name in (*env.declarations, *OWNER_SETTINGS) if f"| `{name}` |" not in page]
    assert missing == []


def test_every_setting_has_a_meaning() -> None:
    assert [found.name for found in env.declarations.values() if len(found.meaning.split()) < 2] == []


def test_every_error_code_is_documented() -> None:
    page = text(DOCS / "reference" / "errors.md")
    codes = [found.code for found in error_codes()]
    assert len(codes) > 50
    assert [code for code in codes if f"| `{code}` |" not in page] == []


def test_every_code_that_is_answered_over_http_has_its_status() -> None:
    without = {found.code.partition(".")[0] for found in error_codes() if found.status is None}
    assert without == {"database", "runtime"}


def test_every_command_is_documented_and_no_other() -> None:
    commands = {name for name, app in get_commands().items() if app in APPS}
    headings = set(re.findall(r"^## (.+)$", text(DOCS / "reference" / "commands.md"), re.MULTILINE))
    assert headings == commands


@pytest.mark.parametrize(
    "action",
    ["owner", "agent", "audit", "db", "memory", "purge", "consolidation", "graph", "spaces", "telemetry", "keys"],
)
def test_every_action_is_documented(action: str) -> None:
    app = get_commands()[action]
    parser = import_module(f"{app}.management.commands.{action}").Command().create_parser("manage.py", action)
    page = text(DOCS / "reference" / "commands.md")
    section = page.split(f"## {action}\n", 1)[1].split("\n## ", 1)[0]
    choices = next(found.choices for found in parser._actions if found.dest == "action")
    assert choices is not None
    assert [name for name in choices if not re.search(rf"\b{name}\b", section)] == []
    rows = re.findall(rf"^\| (`{action} .+?`) \|", section, re.MULTILINE)
    assert [row for row, times in Counter(rows).items() if times > 1] == []


def test_every_measurement_is_documented() -> None:
    parser = bench.Command().create_parser("manage.py", "bench")
    kinds = next(found.choices for found in parser._actions if found.dest == "kind")
    section = text(DOCS / "reference" / "commands.md").split("## bench\n", 1)[1].split("\n## ", 1)[0]
    named = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`bench ([^`]+)`", section))))
    assert kinds is not None
    assert named == set(kinds)


def endpoints() -> Iterator[str]:
    """Give every address of the API with its parameters left empty, for example `/api/v1/memories/{}`."""

    def walk(patterns: list[URLPattern | URLResolver], prefix: str) -> Iterator[str]:
        for pattern in patterns:
            if isinstance(pattern, URLResolver):
                yield from walk(pattern.url_patterns, prefix + str(pattern.pattern))
            elif prefix.startswith(API) and str(pattern.pattern):
                yield "/" + re.sub(r"<[^>]+>", "{}", prefix + str(pattern.pattern)).rstrip("/")

    yield from walk(get_resolver().url_patterns, "")


@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_addresses_of_examples_lead_somewhere(page: Path) -> None:
    for written in EXAMPLE.findall(text(page)):
        path = VARIABLE.sub("018f0000-0000-7000-8000-000000000000", written)
        # Whatever stands below the API is answered; what is no address of it, by this view.
        assert resolve(f"/{API}{path}").url_name != "unknown", f"{written} is no address"
    for base in re.findall(r"export (?:LOCI|API)=(\S+)", text(page)):
        assert base.endswith(f"/{API.rstrip('/')}")


def test_every_endpoint_is_documented() -> None:
    written = "\n".join(text(page) for page in PAGES)
    documented = {re.sub(r"\{[^}]*\}", "{}", found) for found in re.findall(r"/[\w/{}.-]+", written)}
    documented |= {f"/{API}{found.lstrip('/')}" for found in documented}
    known = sorted(endpoints())
    assert len(known) > 15
    assert [path for path in known if path not in documented] == []


def anchors(path: Path) -> set[str]:
    titles = HEADING.findall(CODE_BLOCK.sub("", text(path)))
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@pytest.mark.parametrize("document", PAGES, ids=lambda document: document.relative_to(PROJECT).as_posix())
def test_links_lead_somewhere(document: Path) -> None:
    dead = []
    for target in LINK.findall(CODE_BLOCK.sub("", text(document))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        found = (document.parent / file).resolve() if file else document
        if not found.exists() or (anchor and found.suffix == ".md" and anchor not in anchors(found)):
            dead.append(target)
    assert dead == []


@pytest.mark.parametrize("page", ["security.md", "status.md"])
def test_tests_that_are_named_as_proof_exist(page: str) -> None:
    named = re.findall(r"`(tests/[\w/*.]+)`", text(DOCS / page))
    assert len(named) > 15
    assert [path for path in named if not list(PROJECT.glob(path))] == []


def test_every_line_of_the_threat_model_names_its_tests() -> None:
    model = text(DOCS / "security.md").partition("## Threat model")[2].partition("\n## ")[0]
    lines = [line for line in model.splitlines() if line.startswith("| ")][1:]
    assert len(lines) > 12
    # What nothing protects against has nothing to test.
    assert [line[:60] for line in lines if "tests/" not in line and "is the operator" not in line] == []


def test_every_page_can_be_reached_from_the_first() -> None:
    reached, waiting = set(), [PROJECT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md" or not page.exists():
            continue
        reached.add(page)
        targets = [target.partition("#")[0] for target in LINK.findall(text(page)) if not target.startswith("http")]
        waiting += [(page.parent / target).resolve() for target in targets if target]
    assert [page.relative_to(PROJECT).as_posix() for page in PAGES if page not in reached] == []


DECISIONS = sorted((DOCS / "decisions").glob("[0-9]*.md"))


@pytest.mark.parametrize("document", DECISIONS, ids=lambda document: document.stem)
def test_decisions_have_their_form(document: Path) -> None:
    content = text(document)
    assert re.match(rf"# {int(document.name[:4])}\. ", content)
    assert [part for part in DECISION_PARTS if f"\n{part}\n" not in content] == []


def test_decisions_are_numbered_once() -> None:
    numbers = [page.name[:4] for page in DECISIONS]
    assert len(numbers) == len(set(numbers))
