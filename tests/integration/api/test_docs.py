"""The page about the interface is true: its endpoints and codes are those of the program, and its commands work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from memory.api.problems import FIELD_CODES
from memory.services.actors import Permission
from tests.apps import API as API_ROUTES
from tests.integration.api.conftest import API, Client

PROJECT = Path(__file__).resolve().parents[3]
PAGE = (PROJECT / "docs" / "how-to" / "rest-api.md").read_text(encoding="utf-8")
ENDPOINT = re.compile(r"\| `(GET|POST|PUT|PATCH|DELETE) (/\S+)`")
CODE = re.compile(r"`((?:<field>|[a-z_]+)\.[a-z_]+|[a-z_]+)`")
RAISED = re.compile(r"""code(?:: ClassVar\[str\])? ?= ?"([a-z_]+(?:\.[a-z_]+)?)\"""")


def test_every_endpoint_stands_on_the_page() -> None:
    listed = {(method, path.split("`")[0]) for method, path in ENDPOINT.findall(PAGE)}
    routed = {
        (method, "/" + re.sub(r"<str:(\w+)>", r"{\1}", str(pattern.pattern)))
        for pattern in API_ROUTES
        for method in getattr(getattr(pattern.callback, "cls", None), "actions", {})
    }
    assert listed - {("GET", "/schema")} == routed


def test_every_permission_stands_beside_its_endpoint() -> None:
    rows = {(method, path): line.split("|")[2] for line in PAGE.splitlines() for method, path in ENDPOINT.findall(line)}
    for pattern in API_ROUTES:
        path = "/" + re.sub(r"<str:(\w+)>", r"{\1}", str(pattern.pattern))
        for method, action in getattr(getattr(pattern.callback, "cls", None), "actions", {}).items():
            shown = rows[method, path]
            assert f"`{action.permission}`" in shown if action.permission else "none" in shown, (method, path)


def test_every_code_of_the_interface_stands_on_the_page() -> None:
    table = PAGE[PAGE.index("| Status | Codes |") :]
    listed = set(CODE.findall(table))
    sources = sorted((PROJECT / "memory" / "api").rglob("*.py"))
    raised = {code for source in sources for code in RAISED.findall(source.read_text(encoding="utf-8"))}
    mapped = {code.format(name="<field>") for code in FIELD_CODES.values()}
    assert (raised | mapped) - listed == set()


def test_the_commands_of_the_page_work(agent: Client) -> None:
    commands = [shlex.split(line) for line in _commands() if line.startswith("curl")]
    assert len(commands) == 14
    known = {"$LOCI": "", "$MEMORY": "", "$FILE": "", "loci-memories.json": "", "SOUL.md": "# Soul\n"}
    for words in commands:
        address = next(word for word in words if word.startswith("$LOCI"))
        for name, value in known.items():
            address = address.replace(name, value)
        body = next((words[words.index(flag) + 1] for flag in ("-d", "--data-binary") if flag in words), None)
        method = words[words.index("-X") + 1] if "-X" in words else "POST" if body else "GET"
        headers = dict(words[place + 1].split(": ", 1) for place, word in enumerate(words) if word == "-H")
        assert headers.pop("Authorization") == "Bearer $KEY"
        raw = known[body[1:]] if body and body.startswith("@") else body or ""
        response: Any = agent.generic(
            method, f"{API}{address}", raw, content_type=headers.pop("Content-Type", ""), headers=headers
        )
        assert response.status_code in (200, 201), (words, response.content)
        if address == "/memories":
            known["$MEMORY"] = response.json()["id"]
        if address == "/files":
            known["$FILE"] = response.json()["id"]
        if address == "/export":
            known["loci-memories.json"] = b"".join(response.streaming_content).decode()
    assert Permission.TRANSFER in agent.actor.permissions


def _commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    text = "\n".join(blocks).replace("\\\n", " ")
    # A quoted body may go over several lines; a command begins where a line begins with its name.
    return [part.strip() for part in re.split(r"\n(?=curl|export)", text)]
