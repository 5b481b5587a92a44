"""Make `manage.py` run on a bare machine: find or make the virtual environment, then run the command inside it.

Standard library only, since nothing else is there yet. Three variables steer it: `LOCI_VENV` (another place for the
environment than `.venv`), `LOCI_NO_BOOTSTRAP=1` (take the running Python as it is) and what pip and uv read themselves.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from runtime.errors import EnvironmentFault
from runtime.virtualenv import VirtualEnvironment, say

PROJECT = Path(__file__).resolve().parent.parent
RUN = "run.txt"
DEVELOP = "develop.txt"
DEVELOPER_COMMANDS = frozenset({"test", "lint"})
# Stands in the environment of the process that was re-executed, so that a mistake cannot make it go round for ever.
MARK = "LOCI_BOOTSTRAPPED"


def prepare(arguments: Sequence[str]) -> None:
    """Return when this process has the packages that its command needs; else make them and start it again.

    Args:
        arguments: the command line, `sys.argv`.

    Raises:
        EnvironmentFault: the environment cannot be made; the message says what to install or to do.
    """
    _forget_empty_home()
    if os.environ.get("LOCI_NO_BOOTSTRAP") == "1":
        _require_packages()
        return
    chosen = os.environ.get("LOCI_VENV", "").strip()
    environment = VirtualEnvironment(Path(chosen).expanduser().absolute() if chosen else PROJECT / ".venv")
    changed = ensure(environment, command(arguments))
    if environment.is_running() and not changed:
        os.environ.pop(MARK, None)
        return
    if not environment.is_running() and os.environ.get(MARK) == str(environment.path):
        raise EnvironmentFault(
            f"{environment.path} does not start its own Python. Remove that directory and run the command again."
        )
    os.environ[MARK] = str(environment.path)
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(environment.python, [str(environment.python), *arguments])  # noqa: S606


def command(arguments: Sequence[str]) -> str:
    """Give the management command of a command line, an empty text when there is none."""
    return next((argument for argument in arguments[1:] if not argument.startswith("-")), "")


def wanted_locks(name: str, environment: VirtualEnvironment) -> list[str]:
    """Name the lock files whose packages a command needs, the last being the one to install.

    The developers' file holds all of the other, so an environment that has it keeps it in step with both.
    """
    if name in DEVELOPER_COMMANDS or DEVELOP in environment.installed():
        return [RUN, DEVELOP]
    return [RUN]


def ensure(environment: VirtualEnvironment, name: str) -> bool:
    """Bring the environment to what a command needs; tell whether anything was done.

    The usual case reads two files and starts one Python. Commands that run at once do the work once.

    Raises:
        EnvironmentFault: it cannot be made.
    """
    if environment.is_complete(_locks(wanted_locks(name, environment))):
        return False
    with _locked(environment.path.parent) as holding:
        locks = _locks(wanted_locks(name, environment))
        if environment.is_complete(locks):
            return True
        environment.build(locks, holding=holding)
    return True


def _locks(names: Sequence[str]) -> list[Path]:
    paths = [PROJECT / "requirements" / name for name in names]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise EnvironmentFault(f"requirements/{missing[0]} is missing. Get a whole copy of the project.")
    return paths


def _require_packages() -> None:
    if importlib.util.find_spec("django") is None:
        raise EnvironmentFault(
            "LOCI_NO_BOOTSTRAP=1 is set, but this Python has no Django. Run the command with a Python that has the "
            "packages of requirements/run.txt, or unset LOCI_NO_BOOTSTRAP."
        )


def _forget_empty_home() -> None:
    # An empty HOME would put the user's directories at the root; without it the user database is asked.
    if os.environ.get("HOME", "-").strip() == "":
        del os.environ["HOME"]


@contextmanager
def _locked(directory: Path) -> Iterator[int]:
    """Let one command at a time prepare the environment.

    The lock is on the directory itself: no file is left behind, and the environment can be made anew below it. Gives
    the open directory.
    """
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise EnvironmentFault(f"{directory} cannot be opened: {error.strerror}.") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another command is preparing the environment; waiting for it.")
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield descriptor
    finally:
        os.close(descriptor)
