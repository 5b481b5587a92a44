"""compose.yaml against the published schema, against Docker's own reader where there is one, and house rules."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import yaml

from config.settings.chosen import VERSION, env
from tests.containers import compose, image
from tests.contract.test_dashboards import ALERTS, DASHBOARDS, SCRAPE
from tests.environment import PROJECT

SCHEMA = PROJECT / "tests" / "contract" / "compose_spec"
SERVICES = compose.services()
ONCE = {"provision", "prepare"}
# Names of what holds a value that nobody else may read; such a variable names a file.
SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY|AUTH|CREDENTIAL|_URL")


def schema() -> Any:
    return json.loads((SCHEMA / "compose-spec.json").read_text(encoding="utf-8"))


def faults(document: Any) -> list[str]:
    return [error.message for error in jsonschema.Draft7Validator(schema()).iter_errors(document)]


class TestSchema:
    def test_the_schema_is_the_published_one(self) -> None:
        digest = hashlib.sha256((SCHEMA / "compose-spec.json").read_bytes()).hexdigest()
        assert digest in (SCHEMA / "README.md").read_text(encoding="utf-8")
        assert "Apache License" in (SCHEMA / "LICENSE").read_text(encoding="utf-8")

    def test_the_file_satisfies_it(self) -> None:
        assert faults(compose.document()) == []

    def test_it_finds_mistakes(self) -> None:
        document = compose.document()
        document["services"]["web"] |= {"read_onyl": True, "healthcheck": {"test": 1}}
        assert len(faults(document)) >= 2

    @pytest.mark.parametrize("profiles", ["", "neo4j,redis,ollama,observability"])
    def test_docker_reads_it(self, profiles: str, tmp_path: Path) -> None:
        reader = compose_reader()
        if reader is None:
            pytest.skip("Docker Compose 2 is not on this machine (Docker's package docker-compose-plugin)")
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "COMPOSE_PROFILES": profiles}
        done = subprocess.run(
            [*reader, "--file", str(compose.COMPOSE), "config", "--format", "json"],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        chosen = set(profiles.split(","))
        expected = {name for name, one in SERVICES.items() if not one.get("profiles") or chosen & set(one["profiles"])}
        assert set(json.loads(done.stdout)["services"]) == expected


def compose_reader() -> list[str] | None:
    """Give the command of Docker Compose 2, a plugin or a program; None where there is none."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]) is None:
            continue
        asked = subprocess.run([*command, "version", "--short"], capture_output=True, text=True, check=False)
        if asked.returncode == 0 and asked.stdout.strip().lstrip("v").startswith(("2.", "3.", "4.", "5.")):
            return command
    return None


@pytest.mark.parametrize("name", SERVICES)
class TestServices:
    def test_it_runs_as_an_unprivileged_user_that_can_gain_nothing(self, name: str) -> None:
        service = SERVICES[name]
        assert service["user"].partition(":")[0] not in ("", "0", "root")
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert not {"privileged", "cap_add", "pid", "network_mode", "ipc", "devices", "userns_mode"} & set(service)

    def test_its_file_system_cannot_be_written(self, name: str) -> None:
        service = SERVICES[name]
        assert service["read_only"] is True
        for volume in service.get("volumes", ()):
            source, target, *modes = volume.split(":")
            # Of the project's own files nothing can be changed; what can is a named volume.
            assert (modes == ["ro"]) == source.startswith("."), volume
            assert target.startswith("/")
            if source.startswith("."):
                assert (PROJECT / source).exists(), source

    def test_it_tells_how_it_is_or_ends_by_itself(self, name: str) -> None:
        service = SERVICES[name]
        assert ("healthcheck" in service) == (name not in ONCE)
        assert service["restart"] == ("no" if name in ONCE else "unless-stopped")

    def test_only_this_machine_reaches_its_ports(self, name: str) -> None:
        assert all(port.startswith("127.0.0.1:") for port in SERVICES[name].get("ports", ()))
        assert ("outer" in SERVICES[name]["networks"]) or not SERVICES[name].get("ports")

    def test_its_image_is_pinned(self, name: str) -> None:
        tag = SERVICES[name]["image"].rpartition(":")[2]
        assert re.match(r"v?\d+\.\d+\.\d+", tag), tag

    def test_it_has_limits_and_its_log_has_an_end(self, name: str) -> None:
        service = SERVICES[name]
        assert set(service["deploy"]["resources"]["limits"]) == {"cpus", "memory", "pids"}
        assert set(service["logging"]["options"]) == {"max-size", "max-file"}

    def test_no_secret_is_in_its_environment(self, name: str) -> None:
        service = SERVICES[name]
        for variable, value in compose.environment(service).items():
            if SECRET.search(variable) and not value.isdigit() and variable != "LOCI_MASTER_KEY_SOURCE":
                assert value.startswith(compose.SECRETS), variable
                assert variable.endswith(("_FILE", "_PATH")), variable
        assert not re.search(r"(?i)password=|://[^/\s]*:[^/\s]*@", json.dumps(service))

    def test_it_is_granted_the_secrets_that_it_uses_and_no_other(self, name: str) -> None:
        service = SERVICES[name]
        used = set(re.findall(r"/run/secrets/(\w+)", json.dumps(service)))
        if name == "prometheus":
            used |= set(re.findall(r"/run/secrets/(\w+)", (PROJECT / "containers/prometheus.yml").read_text()))
        assert set(service.get("secrets", ())) == used

    def test_what_it_depends_on_is_there_and_waited_for(self, name: str) -> None:
        for other, how in SERVICES[name].get("depends_on", {}).items():
            expected = "service_completed_successfully" if other in ONCE else ("service_healthy", "service_started")
            assert how["condition"] in expected
            # What is always there may not wait for what a profile switches on.
            assert not SERVICES[other].get("profiles") or SERVICES[name].get("profiles")


class TestOurs:
    def test_they_are_of_the_image_of_this_version(self) -> None:
        assert set(compose.ours()) == {"provision", "prepare", "web", "worker"}
        for service in compose.ours().values():
            assert service["image"] == f"loci:{VERSION}"
            assert service["user"] == image.last().of("USER")[0]

    def test_every_variable_is_a_setting(self) -> None:
        for service in compose.ours().values():
            for variable in compose.environment(service):
                name = variable.removesuffix("_FILE")
                assert name in env.declarations, variable
                if variable.endswith("_FILE") and name in env.declarations:
                    assert env.declarations[name].secret, variable
        for variable in re.findall(r"\$\{(\w+)", compose.COMPOSE.read_text(encoding="utf-8")):
            assert variable in env.declarations, variable
        for variable in image.environment():
            assert variable in env.declarations or variable in {
                "PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "LOCI_NO_BOOTSTRAP"
            }, variable  # fmt: skip

    def test_a_password_is_given_only_where_its_service_is_used(self) -> None:
        web = SERVICES["web"]
        assert compose.environment(web, {})["REDIS_PASSWORD_FILE"] == ""
        assert compose.environment(web, {"REDIS_URL"})["REDIS_PASSWORD_FILE"] == "/run/secrets/redis_password"
        assert compose.environment(web, {"REDIS_URL"})["NEO4J_PASSWORD_FILE"] == ""

    def test_the_superuser_is_known_to_one_step_alone(self) -> None:
        knowing = {name for name, one in SERVICES.items() if "superuser_url" in one.get("secrets", ())}
        assert knowing == {"provision"}
        assert "master_key" not in SERVICES["provision"]["secrets"]
        # Whoever serves requests cannot change tables.
        assert "database_schema_url" not in SERVICES["web"]["secrets"]

    def test_the_vault_is_a_volume_of_its_own(self) -> None:
        keys, data = image.environment()["LOCI_KEYS_DIR"], SERVICES["postgres"]["volumes"]
        for name in ("prepare", "web", "worker"):
            volumes = dict(reversed(one.split(":")) for one in SERVICES[name]["volumes"])
            assert volumes[keys] == "keys"
            assert volumes[image.environment()["LOCI_METRICS_DIR"]] == "metrics"
            assert set(volumes) <= set(image.places())
        assert all(not one.startswith("keys:") for one in data)

    def test_the_database_can_be_reached_by_containers_only(self) -> None:
        assert compose.document()["networks"]["inner"]["internal"] is True
        for name in ("postgres", "redis", "provision", "prepare"):
            assert SERVICES[name]["networks"] == ["inner"]


class TestFiles:
    def test_every_volume_and_secret_is_declared_and_used(self) -> None:
        document = compose.document()
        named = {one.split(":")[0] for service in SERVICES.values() for one in service.get("volumes", ())}
        assert {name for name in named if not name.startswith(".")} == set(document["volumes"])
        granted = {name for service in SERVICES.values() for name in service.get("secrets", ())}
        assert granted == set(document["secrets"])
        assert document["secrets"] == {name: {"file": f"./secrets/{name}"} for name in granted}

    def test_secrets_and_settings_of_an_operator_are_not_committed(self) -> None:
        ignored = (PROJECT / ".gitignore").read_text(encoding="utf-8").splitlines()
        assert {"/secrets/", "/.env"} <= set(ignored)

    def test_prometheus_reads_as_the_example_does_but_for_the_place(self) -> None:
        here = yaml.safe_load((PROJECT / "containers/prometheus.yml").read_text(encoding="utf-8"))
        example = yaml.safe_load(SCRAPE.read_text(encoding="utf-8"))
        (job,), (shown,) = here["scrape_configs"], example["scrape_configs"]
        assert job["static_configs"] == [{"targets": ["web:8420"]}]
        assert "web" in image.environment()["LOCI_ALLOWED_HOSTS"].split(",")
        for one in (job, shown):
            one.pop("static_configs")
            one["authorization"].pop("credentials_file")
        assert here == example
        assert any(str(ALERTS.relative_to(PROJECT)) in one for one in SERVICES["prometheus"]["volumes"])

    def test_grafana_finds_every_dashboard(self) -> None:
        (provider,) = yaml.safe_load((PROJECT / "containers/grafana/dashboards.yaml").read_text())["providers"]
        (source,) = yaml.safe_load((PROJECT / "containers/grafana/datasources.yaml").read_text())["datasources"]
        folder = str(DASHBOARDS[0].parent.relative_to(PROJECT))
        assert f"./{folder}:{provider['options']['path']}:ro" in SERVICES["grafana"]["volumes"]
        assert source["url"] == "http://prometheus:9090"
        assert source["isDefault"] is True
