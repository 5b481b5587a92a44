"""`manage.py ollama` takes its steps against a real server, starts one where it may, and `up` runs one beside Loci."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import psutil
import pytest
from django.core.management import CommandError, call_command

from memory.management.ollama_start import ollama_services
from memory.providers.composition import forget_providers
from memory.services.ollama import ollama_findings
from runtime.errors import RuntimeFault
from runtime.ollama import environment
from tests.environment import PROJECT
from tests.integration.operations.installation import Installation
from tests.ollama_like import WIDTH, OllamaLike
from tests.ports import reserved_port

MODEL = "nomic-embed-text"
SECRETS = {"LOCI_MASTER_KEY": "of Loci", "EMBEDDING_API_KEY": "of another server", "DATABASE_URL": "with a password"}
PROGRAM = f"""#!/bin/sh
exec "{sys.executable}" "{PROJECT / "tests" / "ollama_like.py"}" "$@"
"""


@pytest.fixture
def server(settings: Any) -> Iterator[OllamaLike]:
    with OllamaLike() as made:
        use(settings, made.address)
        yield made


def use(settings: Any, address: str) -> None:
    settings.EMBEDDING_PROVIDER = "ollama"
    settings.EMBEDDING_MODEL = ""
    settings.EMBEDDING_BASE_URL = ""
    settings.OLLAMA_BASE_URL = address
    forget_providers()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the program, and nothing else."""
    place = tmp_path / "bin"
    place.mkdir()
    (place / "ollama").write_text(PROGRAM)
    (place / "ollama").chmod(0o755)
    return place


@pytest.fixture
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, settings: Any) -> Iterator[str]:
    """Have the program installed and give an address where nothing answers; what is started is ended."""
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LOCI_DATA_DIR", str(tmp_path / "data"))
    address = f"http://localhost:{reserved_port()}"
    use(settings, address)
    yield address
    for child in psutil.Process().children():
        if "ollama_like.py" in " ".join(child.cmdline()):
            child.kill()
            child.wait()


@pytest.fixture
def something_else() -> Iterator[str]:
    """A web server that is not Ollama."""
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def run(*arguments: str) -> tuple[int, dict[str, Any]]:
    """Run the command; give its exit code and what it says."""
    output, code = io.StringIO(), 0
    try:
        call_command("ollama", "--json", *arguments, stdout=output)
    except SystemExit as ended:
        code = int(ended.code or 0)
    return code, json.loads(output.getvalue())


def states(report: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["state"] for step in report["steps"]}


def test_it_only_looks_unless_told_more(server: OllamaLike) -> None:
    code, report = run()
    assert code == 1
    assert not report["ok"]
    assert states(report) == {"reach": "ok", "start": "skipped", "model": "failed", "fetch": "skipped"}
    assert report["steps"][2]["remedy"] == "python3 manage.py ollama --fetch"
    assert server.pulls == 0


@pytest.mark.parametrize("speaks", ["/api/embed", "/api/embeddings", "/v1/embeddings"])
def test_it_fetches_and_embeds_in_whichever_dialect(server: OllamaLike, speaks: str) -> None:
    server.speaks = speaks
    code, report = run("--fetch")
    assert code == 0
    assert report["ok"]
    assert report["configured"]
    assert states(report) == {"reach": "ok", "start": "skipped", "model": "failed", "fetch": "ok", "embed": "ok"}
    assert f"{WIDTH} dimensions" in report["steps"][-1]["detail"]
    code, report = run("--fetch")
    assert states(report) == {"reach": "ok", "start": "skipped", "model": "ok", "fetch": "skipped", "embed": "ok"}
    assert server.pulls == 1


def test_people_see_each_step_and_how_far_it_is(server: OllamaLike) -> None:
    output, errors = io.StringIO(), io.StringIO()
    call_command("ollama", "--fetch", stdout=output, stderr=errors)
    lines = output.getvalue().splitlines()
    assert [line.split(":")[0].split() for line in lines if not line.startswith("        ->")] == [
        ["ok", "reach"],
        ["-", "start"],
        ["FAILED", "model"],
        ["ok", "fetch"],
        ["ok", "embed"],
    ]
    assert "verifying sha256 digest" in errors.getvalue()


def test_a_failed_fetch_ends_it(server: OllamaLike) -> None:
    server.shop.error = "no space left on device"
    code, report = run("--fetch")
    assert code == 1
    assert report["steps"][-1]["step"] == "fetch"
    assert "no space left on device" in report["steps"][-1]["detail"]


def test_another_model_can_be_named(server: OllamaLike, settings: Any) -> None:
    code, report = run("--fetch", "--model", "tiny")
    assert (code, report["model"]) == (0, "tiny")
    assert server.models == ["tiny:latest"]
    with pytest.raises(CommandError, match="name of a model"):
        call_command("ollama", "--model", "a b")


def test_where_another_provider_embeds_it_says_what_to_set(server: OllamaLike, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "stub"
    settings.EMBEDDING_BASE_URL = "http://127.0.0.1:9"
    settings.EMBEDDING_API_KEY = "key-of-another-server"
    forget_providers()
    server.models.append(f"{MODEL}:latest")
    output = io.StringIO()
    call_command("ollama", stdout=output)
    assert f"EMBEDDING_PROVIDER=ollama and EMBEDDING_MODEL={MODEL}" in output.getvalue()
    assert "Authorization" not in server.headers


def test_nothing_is_started_unless_asked(installed: str) -> None:
    code, report = run("--fetch")
    assert code == 1
    assert states(report) == {"reach": "failed", "start": "skipped"}
    assert report["steps"][0]["remedy"] == "python3 manage.py ollama --start"


def test_it_is_started_where_it_is_installed_and_stays(installed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    code, report = run("--start", "--fetch")
    assert code == 0, report
    assert states(report) == {"reach": "failed", "start": "ok", "model": "failed", "fetch": "ok", "embed": "ok"}
    code, report = run()
    assert (code, states(report)["reach"]) == (0, "ok")
    (started,) = [child for child in psutil.Process().children() if "ollama_like.py" in " ".join(child.cmdline())]
    assert not SECRETS.keys() & started.environ().keys()


def test_one_that_ends_again_is_told_with_where_to_look(
    installed: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OLLAMA_LIKE_FAILS", "1")
    code, report = run("--start")
    assert code == 1
    assert "exit code 7" in report["steps"][-1]["detail"]
    assert "no room for models" in (tmp_path / "data" / "ollama.log").read_text()


def test_one_that_is_not_installed_is_told_so(installed: str, folder: Path) -> None:
    (folder / "ollama").unlink()
    code, report = run("--start")
    assert code == 1
    assert "not installed" in report["steps"][-1]["detail"]
    assert ["ollama.com/download" in step["remedy"] for step in report["steps"]] == [True, True]


@pytest.mark.parametrize("arguments", [(), ("--start",)])
def test_where_something_else_listens_the_address_is_wrong(
    installed: str, settings: Any, something_else: str, arguments: tuple[str, ...]
) -> None:
    settings.OLLAMA_BASE_URL = something_else
    code, report = run(*arguments)
    assert code == 1
    remedies = {step["remedy"] for step in report["steps"] if step["state"] == "failed"}
    assert remedies == {"Set OLLAMA_BASE_URL, or EMBEDDING_BASE_URL, to where Ollama listens."}
    assert states(report) == {"reach": "failed", "start": "failed" if arguments else "skipped"}


def test_who_embeds_otherwise_is_told_that_it_is_not_needed(installed: str, settings: Any) -> None:
    settings.EMBEDDING_PROVIDER = "stub"
    forget_providers()
    output = io.StringIO()
    with pytest.raises(SystemExit):
        call_command("ollama", stdout=output)
    assert "does not need it. To embed with it, set EMBEDDING_PROVIDER=ollama" in output.getvalue()


def test_nothing_is_started_for_another_machine(installed: str, settings: Any) -> None:
    settings.OLLAMA_BASE_URL = "http://ollama.invalid:11434"
    code, report = run("--start")
    assert code == 1
    assert report["steps"][-1]["state"] == "failed"
    assert "another machine" in report["steps"][-1]["detail"]


@pytest.mark.parametrize(
    ("address", "listens"),
    [
        ("http://localhost:11434", "127.0.0.1:11434"),
        ("http://127.0.0.2:8000", "127.0.0.2:8000"),
        ("http://[::1]:11434", "[::1]:11434"),
        ("http://localhost", "127.0.0.1:80"),
    ],
)
def test_it_listens_where_it_is_asked(address: str, listens: str) -> None:
    assert environment(address)["OLLAMA_HOST"] == listens
    with pytest.raises(RuntimeFault):
        environment(address.replace("http:", "https:"))


def test_it_gets_what_it_needs_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    needed = {"PATH": "/bin", "LC_CTYPE": "C", "HTTPS_PROXY": "http://p:1", "no_proxy": "x", "OLLAMA_MODELS": "/models"}
    needed |= {"CUDA_VISIBLE_DEVICES": "0", "ROCR_VISIBLE_DEVICES": "1"}
    for name, value in {**needed, **SECRETS}.items():
        monkeypatch.setenv(name, value)
    given = environment("http://localhost:11434")
    assert needed.items() <= given.items()
    assert not SECRETS.keys() & given.keys()


class TestBesideUp:
    def test_a_service_where_the_setting_asks_and_nothing_answers(self, installed: str, settings: Any) -> None:
        said: list[str] = []
        assert ollama_services(said.append) == []
        settings.OLLAMA_START = True
        (service,) = ollama_services(said.append)
        assert service.environment["OLLAMA_HOST"].startswith("127.0.0.1:")
        assert service.bare
        assert not service.essential
        assert not said

    def test_none_where_one_answers(self, server: OllamaLike, installed: str, settings: Any) -> None:
        settings.OLLAMA_START = True
        settings.OLLAMA_BASE_URL = server.address
        assert ollama_services(print) == []

    @pytest.mark.parametrize("address", ["http://ollama.invalid:11434", "https://localhost:1", "nonsense"])
    def test_a_reason_why_not_is_said(self, installed: str, settings: Any, address: str) -> None:
        settings.OLLAMA_START = True
        settings.OLLAMA_BASE_URL = address
        said: list[str] = []
        assert ollama_services(said.append) == []
        assert len(said) == 1
        assert said[0].startswith("Warning: ")

    @pytest.mark.slow
    def test_it_runs_with_loci_and_ends_with_it(self, installation: Installation, folder: Path) -> None:
        port = reserved_port()
        installation.environment |= {
            "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}",
            "EMBEDDING_PROVIDER": "ollama",
            "OLLAMA_BASE_URL": f"http://127.0.0.1:{port}",
            "OLLAMA_START": "true",
        }
        installation.start("--no-worker")
        fetched = json.loads(installation.run("ollama", "--fetch", "--json").stdout)
        assert states(fetched) == {"reach": "ok", "start": "skipped", "model": "failed", "fetch": "ok", "embed": "ok"}
        checks = {one["name"]: one for one in json.loads(installation.run("doctor", "--json").stdout)["checks"]}
        assert checks["ollama"]["status"] == "ok"
        assert f"{WIDTH} dimensions" in checks["ollama"]["detail"]
        assert checks["embedder"]["status"] == "ok"
        assert installation.stop() == 0
        gone = json.loads(installation.run("ollama", "--json").stdout)
        assert states(gone)["reach"] == "failed"


def test_doctor_names_the_step_that_fails(
    server: OllamaLike, settings: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    (found,) = ollama_findings()
    assert (found.status, found.remedy) == ("degraded", "python3 manage.py ollama --fetch")
    assert found.detail == f"Ollama does not have {MODEL}."
    server.models.append(f"{MODEL}:latest")
    assert [one.status for one in ollama_findings()] == ["ok"]
    settings.OLLAMA_BASE_URL = "http://127.0.0.1:9"
    assert [one.remedy for one in ollama_findings()] == ["python3 manage.py ollama --start"]
    (folder / "ollama").unlink()
    monkeypatch.setenv("PATH", str(folder))
    assert "ollama.com/download" in ollama_findings()[0].remedy
