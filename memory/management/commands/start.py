"""`manage.py start web|worker`: become one of the processes that `up` runs, without its supervisor."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from config import serving
from config.shared_counts import make_counts_directory
from memory.management.preparation import make_static_directory
from runtime.processes import Service


class Command(BaseCommand):
    """Replace this process by the web server or by the worker; whoever started it restarts it."""

    help = "Become the web server or the worker, for a container or a service manager; `prepare` goes before it."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare which process, and where the web server listens."""
        parser.add_argument("process", choices=["web", "worker"], metavar="PROCESS", help="web or worker")
        parser.add_argument("--host", default=settings.LOCI_HOST, help="address to listen on (LOCI_HOST)")
        parser.add_argument("--port", type=int, default=settings.LOCI_PORT, help="port to listen on (LOCI_PORT)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Become the process; its exit code is that of the process."""
        try:
            # Others that share it may be counting already, so that it is not emptied.
            make_counts_directory()
        except OSError as error:
            self.stderr.write(
                f"Warning: the directory of LOCI_METRICS_DIR cannot be used ({error.strerror}): /metrics will tell of "
                "the web process alone."
            )
        service = _service(options["process"], options["host"], options["port"])
        sys.stdout.flush()
        sys.stderr.flush()
        os.chdir(service.directory or settings.BASE_DIR)
        os.execve(service.command[0], list(service.command), {**os.environ, **service.environment})  # noqa: S606


def _service(process: str, host: str, port: int) -> Service:
    if process == "worker":
        return serving.worker_service(host, port, after_web=False)
    make_static_directory()
    return serving.web_service(host, port)
