"""What can go wrong before or beside the application: preparing it, its database server, its processes.

These modules run without Django and without the application, so they have errors of their own, of the same make:
a machine code and a message that says what happened, what was kept and what to do.
"""

from __future__ import annotations

from typing import ClassVar


class RuntimeFault(Exception):
    """The product cannot be run as it stands."""

    code: ClassVar[str] = "runtime"

    def __init__(self, message: str) -> None:
        """Build the error from one or more sentences for a person."""
        self.message = message
        super().__init__(message)


class EnvironmentFault(RuntimeFault):
    """The virtual environment cannot be made or used."""

    code = "runtime.environment"


class BinariesMissing(RuntimeFault):
    """No usable PostgreSQL server was found on this machine."""

    code = "database.binaries_missing"


class ServerFault(RuntimeFault):
    """The embedded database server cannot be started or stopped."""

    code = "database.server"


class ProvisionFault(RuntimeFault):
    """The database, its extension or its roles cannot be set up."""

    code = "database.provision"


class BackupFault(RuntimeFault):
    """A backup cannot be written or read back. The running database is as it was."""

    code = "database.backup"


class AlreadyRunning(RuntimeFault):
    """Another process does this already."""

    code = "runtime.already_running"

    def __init__(self, message: str, pid: int | None) -> None:
        """Build the error; `pid` is the other process, None when it left no number."""
        super().__init__(message)
        self.pid = pid
