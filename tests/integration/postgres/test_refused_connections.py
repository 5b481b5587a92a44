"""A server that does not let Loci in: what `up` and `doctor` say of it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import psycopg
import pytest

from memory.services.health.connecting import refused_connection
from runtime.postgres.binaries import find
from tests.integration.operations.conftest import make_home
from tests.integration.operations.installation import Installation
from tests.integration.postgres.servers import OwnServer
from tests.ports import reserved_port

WRONG = "wrong-secret"
LOGIN, DATABASE, TLS, NOBODY = (
    "refuses the login",
    "no such database",
    "connection with TLS",
    "No PostgreSQL server answers",
)


@dataclass(slots=True)
class Closed:
    """An installation without a database, and a server that does not let it in."""

    installation: Installation
    server: OwnServer

    def addresses(self) -> dict[str, str]:
        """Give for each reason an address that is refused for it."""
        return {
            LOGIN: self.server.url("postgres", WRONG),
            DATABASE: self.server.url(database="nowhere"),
            TLS: self.server.url() + "?sslmode=require",
            NOBODY: self.server.url(port=reserved_port()),
        }


@pytest.fixture(scope="module")
def closed() -> Iterator[Closed]:
    with ExitStack() as stack:
        homes = [make_home() for _ in range(2)]
        for home in homes:
            stack.callback(shutil.rmtree, home)
        server = OwnServer(homes[0], find())
        stack.callback(server.stop)
        server.start()
        yield Closed(Installation(homes[1]), server)


def test_each_reason_is_told_apart(closed: Closed) -> None:
    for words, address in closed.addresses().items():
        with pytest.raises(psycopg.OperationalError) as error:
            psycopg.connect(address, connect_timeout=20)
        refused = refused_connection(error.value)
        assert refused is not None, error.value
        assert words in refused.detail
    with pytest.raises(psycopg.OperationalError) as error:
        psycopg.connect("postgresql://loci_app@nowhere.invalid/loci", connect_timeout=20)
    refused = refused_connection(error.value)
    assert refused is not None
    assert "name is not known" in refused.detail


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            'FATAL:  no pg_hba.conf entry for host "10.0.0.7", user "x", database "loci", no encryption',
            "does not admit",
        ),
        (
            (
                'FATAL:  password authentication failed for user "x"\nconnection to server at "h" failed: FATAL:  '
                'no pg_hba.conf entry for host "10.0.0.7", user "x", database "loci", no encryption'
            ),
            LOGIN,
        ),
        ("FATAL:  sorry, too many clients already", "no further connections"),
        ("FATAL:  the database system is starting up", "starting or stopping"),
        ("FATAL:  SASL authentication failed", LOGIN),
        ('FATAL:  role "loci_app" does not exist', LOGIN),
        ("SSL error: certificate verify failed", TLS),
        ('column "x" does not exist', ""),
        ("FATAL:  Passwort-Authentifizierung fehlgeschlagen", ""),
    ],
)
def test_what_servers_and_poolers_say_besides(said: str, told: str) -> None:
    refused = refused_connection(psycopg.OperationalError(said))
    assert told in refused.detail if refused is not None else not told


@pytest.mark.slow
def test_up_and_doctor_say_it_without_the_password(closed: Closed) -> None:
    for words, address in closed.addresses().items():
        environment = {"DATABASE_URL": address, "DATABASE_SCHEMA_URL": address}
        looked = closed.installation.run("doctor", "--json", "--no-probe", environment=environment)
        checks = {check["name"]: check for check in json.loads(looked.stdout)["checks"]}
        assert words in checks["database"]["detail"]
        started = closed.installation.run("up", environment=environment)
        assert started.returncode == 1
        assert words in started.stderr
        said = looked.stdout + looked.stderr + started.stdout + started.stderr
        assert WRONG not in said
        assert closed.server.password not in said
