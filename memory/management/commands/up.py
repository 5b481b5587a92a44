"""`manage.py up`: run everything on this machine until stopped."""

from __future__ import annotations

import signal
import threading
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any, Final

import psutil
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError, connections

from config import serving
from config.shared_counts import empty_counts
from memory.errors import LociError
from memory.management import preparation
from memory.management.database import running_database
from memory.management.first_steps import make_ready, secrets_of
from memory.management.ollama_start import ollama_services
from memory.services.accounts import FirstOwner
from runtime.errors import RuntimeFault
from runtime.instance import only_instance, running_instance
from runtime.paths import data_directory
from runtime.postgres.cluster import Cluster
from runtime.postgres.provision import provision
from runtime.processes import Service, Supervisor

POLL: Final = 0.1
SLOW_POLL: Final = 5.0
PATIENCE: Final = 120.0
LATER: Final = (
    "New agent keys: `python3 manage.py agent key NAME`. A new password: `python3 manage.py owner password NAME`."
)


class Command(BaseCommand):
    """Start database, web and worker, and stop all of them together."""

    help = "Run Loci on this machine until stopped: database, web server and background work."
    # Checks may ask the database, which is only started here.
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare where to listen and what to leave out."""
        parser.add_argument("--host", default=settings.LOCI_HOST, help="address to listen on (LOCI_HOST)")
        parser.add_argument("--port", type=int, default=settings.LOCI_PORT, help="port to listen on (LOCI_PORT)")
        parser.add_argument("--no-worker", action="store_true", help="without background work")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run until SIGTERM, SIGINT or SIGHUP; exit code 0 then, 1 when it cannot start or keep running."""
        host, port = options["host"], options["port"]
        self._refuse_second_start()
        self._refuse_taken_port(host, port)
        try:
            with only_instance(data_directory(), listening=(host, port)), _signals_interrupt(), ExitStack() as stack:
                self._start_database(stack)
                first = self._prepare()
                self._greet(first, host, port)
                code = self._run(host, port, with_worker=not options["no_worker"])
        except KeyboardInterrupt:
            self._say("Stopped before it was ready.")
            return
        except (RuntimeFault, LociError) as error:
            raise CommandError(error.message) from error
        except DatabaseError as error:
            raise CommandError(preparation.database_message(error)) from error
        if code:
            raise SystemExit(code)
        self._say("Loci has stopped.")

    def _refuse_second_start(self) -> None:
        pid = running_instance(data_directory())
        if pid is not None:
            raise CommandError(
                f"Loci runs already on this data directory (process {pid}). Stop that one first (kill {pid}), or set "
                "LOCI_DATA_DIR to another directory for a second one."
            )

    def _refuse_taken_port(self, host: str, port: int) -> None:
        try:
            free = serving.port_is_free(host, port)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise CommandError(f"Loci cannot listen on {host} port {port}: {reason}. Nothing was started.") from error
        if not free:
            raise CommandError(
                f"Port {port} of {host} is in use by another program. Nothing was started. Choose another one: "
                f"`python3 manage.py up --port {port + 1}`, or LOCI_PORT."
            )

    def _start_database(self, stack: ExitStack) -> None:
        # Before the database, since a wrong key needs no database to be noticed.
        preparation.check_known_vault()
        if not settings.EMBEDDED_DATABASE:
            return
        cluster = Cluster(data_directory())
        stack.enter_context(running_database(cluster, self._say))
        provision(cluster.socket_directory, str(settings.DATABASES["default"]["NAME"]))

    def _prepare(self) -> FirstOwner | None:
        make_ready(self._say)
        first = preparation.prepare_contents()
        self._empty_counts()
        connections.close_all()
        return first

    def _empty_counts(self) -> None:
        try:
            empty_counts()
        except OSError as error:
            self._say(
                f"Warning: the directory of LOCI_METRICS_DIR cannot be used ({error.strerror}): /metrics will tell of "
                "the web process alone."
            )

    def _greet(self, first: FirstOwner | None, host: str, port: int) -> None:
        if first is None:
            self._say(LATER)
            return
        lines = [
            "",
            "Loci is new here. This is shown once:",
            "",
            f"  Address    {serving.address(host, port)}",
            *secrets_of(first),
            "",
            *self._where_the_key_is(),
            LATER,
            "",
        ]
        self._say("\n".join(lines))

    def _where_the_key_is(self) -> list[str]:
        path = serving.master_key_file()
        if settings.MASTER_KEY_SOURCE == "keyring":
            return ["The master key is in the system's keyring. Back that up: losing it loses every text."]
        if path is None:
            return ["The master key comes from the environment. Losing it loses every text."]
        return [f"The master key is {path}. Back it up apart from the data: losing it loses every text."]

    def _run(self, host: str, port: int, *, with_worker: bool) -> int:
        services: list[Service] = [serving.web_service(host, port)]
        if with_worker:
            services.append(serving.worker_service(host, port))
        if settings.EMBEDDED_DATABASE:
            services.append(serving.database_service())
        services += ollama_services(self._say)
        ended = threading.Event()
        waiting = threading.Thread(target=self._announce, args=(host, port, ended, with_worker), daemon=True)
        waiting.start()
        try:
            return Supervisor(services, say=self._say).run()
        finally:
            ended.set()
            waiting.join()

    def _announce(self, host: str, port: int, ended: threading.Event, with_worker: bool) -> None:
        """Wait until the web process answers, and say so once."""
        deadline = time.monotonic() + PATIENCE
        pause = POLL
        while not ended.wait(pause):
            answer = serving.ask_health(host, port)
            # Something that answers wrongly writes a page of its log for each question.
            pause = POLL if answer is None else SLOW_POLL
            if answer:
                self._say(f"Loci is ready at {serving.address(host, port)} after {_seconds_since_start():.1f} s.")
                # A worker that has just been started has not reported yet.
                expected = {"worker"} if with_worker else set()
                for check in answer["checks"]:
                    if check["status"] != "ok" and check["name"] not in expected:
                        self._say(f"  {check['status']}: {check['name']}: {check['detail']}")
                return
            if time.monotonic() > deadline:
                self._say(f"The web server does not answer after {PATIENCE:.0f} s; the lines above should say why.")
                return

    def _say(self, line: str) -> None:
        self.stdout.write(line)
        self.stdout.flush()


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP interrupt the steps before the supervisor takes over, so that they are undone."""

    def on_signal(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, on_signal) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _seconds_since_start() -> float:
    return max(0.0, time.time() - psutil.Process().create_time())
