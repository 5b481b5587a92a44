"""Make a virtual environment from a hash-locked file, with uv where it is there, else with venv and pip.

Standard library only.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from runtime.errors import EnvironmentFault

STAMP = "loci-stamp.json"
OLDEST_PYTHON = (3, 11)
PROBE = "import sys; print('%d.%d' % sys.version_info[:2])"
PROBE_TIMEOUT = 60
STANDARD_ERROR = 2
# Settings of pip that would send packages elsewhere than into the environment.
MISLEADING = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV")


def say(line: str) -> None:
    """Tell the operator one line of progress."""
    print(line, file=sys.stderr, flush=True)


class VirtualEnvironment:
    """A virtual environment with a stamp that says which lock files it was made from."""

    def __init__(self, path: Path) -> None:
        """Name its directory; nothing is touched."""
        self.path = path
        self._holding: tuple[int, ...] = ()

    @property
    def python(self) -> Path:
        """Give the path of its Python."""
        return self.path / "bin" / "python"

    def is_running(self) -> bool:
        """Tell whether this process runs in it."""
        return Path(sys.prefix).resolve() == self.path.resolve()

    def installed(self) -> Mapping[str, str]:
        """Give the checksums of the lock files that were installed whole, by file name."""
        found = self._stamp().get("locks")
        return found if isinstance(found, dict) else {}

    def is_complete(self, locks: Sequence[Path]) -> bool:
        """Tell whether it works and has the packages of all given lock files as they are now."""
        installed = self.installed()
        if any(installed.get(lock.name) != checksum(lock) for lock in locks):
            return False
        version = self.version()
        return version is not None and version == self._stamp().get("python")

    def version(self) -> str | None:
        """Ask its Python for its version, for example "3.12"; None when there is none that runs."""
        if self.is_running():
            return ".".join(map(str, sys.version_info[:2]))
        try:
            answer = subprocess.run(
                [str(self.python), "-I", "-S", "-c", PROBE], capture_output=True, text=True, timeout=PROBE_TIMEOUT
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return answer.stdout.strip() if answer.returncode == 0 else None

    def build(self, locks: Sequence[Path], *, holding: int) -> None:
        """Make it, or bring it up to date; the stamp is written last, so a broken-off build is repeated.

        Args:
            locks: lock files, the last of which holds everything that the others do.
            holding: an open file with the caller's lock, which the installer shares: should this process be killed,
                the next one waits for the installer to end.

        Raises:
            EnvironmentFault: something is missing, not permitted or not reachable.
        """
        self._require_writable()
        self._holding = (holding,)
        stamp = self.path / STAMP
        try:
            stamp.unlink(missing_ok=True)
            if not self._is_usable():
                self._create()
            self._install(locks[-1])
            self._write_stamp(locks)
        except OSError as error:
            raise EnvironmentFault(
                f"{error.filename or self.path} cannot be written: {error.strerror}. Nothing else was changed."
            ) from error
        say("The environment is ready.")

    def _is_usable(self) -> bool:
        version = self.version()
        return version is not None and tuple(int(part) for part in version.split(".")) >= OLDEST_PYTHON

    def _require_writable(self) -> None:
        target = self.path if self.path.exists() else self.path.parent
        if not target.is_dir():
            raise EnvironmentFault(f"{target} is not a directory, so {self.path} cannot be made there.")
        if os.access(target, os.W_OK):
            return
        if target == self.path:
            raise EnvironmentFault(
                f"{self.path} is out of date, broken or unfinished, and this user cannot write it. Run this command "
                "once as a user who may, or remove that directory, or set LOCI_VENV to a directory of your own."
            )
        raise EnvironmentFault(
            f"{target} cannot be written by this user, so {self.path} cannot be made. Run this command once as a user "
            "who may, or set LOCI_VENV to a directory of your own."
        )

    def _create(self) -> None:
        if self.path.exists():
            self._remove_broken()
        uv = shutil.which("uv")
        if uv is not None:
            say(f"Making {self.path} with uv.")
            arguments = [uv, "venv", "--quiet", "--python", sys.executable, str(self.path)]
            if self._run([*arguments, *self._uv_cache()]):
                return
            say("uv could not make it; using Python's own venv.")
            shutil.rmtree(self.path, ignore_errors=True)
        _require_venv_module()
        say(f"Making {self.path}.")
        if not self._run([sys.executable, "-I", "-m", "venv", str(self.path)]):
            shutil.rmtree(self.path, ignore_errors=True)
            raise EnvironmentFault(f"The virtual environment could not be made. {_how_to_get_venv()}")

    def _remove_broken(self) -> None:
        ours = (self.path / "pyvenv.cfg").exists() or not any(self.path.iterdir())
        if not ours and not (self.path / "bin" / "activate").exists():
            raise EnvironmentFault(
                f"{self.path} exists and is not a virtual environment. Move it away and run the command again."
            )
        say(f"{self.path} has no Python that runs; making it anew.")
        shutil.rmtree(self.path)

    def _install(self, lock: Path) -> None:
        say(f"Installing the packages of requirements/{lock.name}; the first time takes a minute or two.")
        arguments = ["--no-deps", "--require-hashes", "-r", str(lock)]
        uv = shutil.which("uv")
        if uv is not None:
            command = [uv, "pip", "install", "--quiet", "--python", str(self.python), *self._uv_cache()]
            if self._run([*command, *arguments]):
                return
            say("uv could not install them; using pip.")
        self._require_pip()
        command = [str(self.python), "-I", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        if _home() is None:
            command.append("--no-cache-dir")
        if not self._run([*command, *arguments]):
            raise EnvironmentFault(
                "The packages could not be installed; the lines above say why. Run the command again when that is "
                "put right (often the network, a proxy or a full disk). Nothing else was changed."
            )

    def _require_pip(self) -> None:
        if self._run([str(self.python), "-I", "-c", "import pip"], quiet=True):
            return
        if not self._run([str(self.python), "-I", "-m", "ensurepip", "--default-pip"], quiet=True):
            raise EnvironmentFault(f"{self.path} has no pip. {_how_to_get_venv()} Then remove {self.path}.")

    def _uv_cache(self) -> list[str]:
        return [] if _home() is not None else ["--no-cache"]

    def _run(self, command: Sequence[str], *, quiet: bool = False) -> bool:
        environment = {name: value for name, value in os.environ.items() if name not in MISLEADING}
        # The product's own output stays clean for those who read it: progress goes to standard error.
        output = subprocess.DEVNULL if quiet else STANDARD_ERROR
        finished = subprocess.run(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            pass_fds=self._holding,
            check=False,
        )
        return finished.returncode == 0

    def _stamp(self) -> Mapping[str, object]:
        try:
            found = json.loads((self.path / STAMP).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            # No stamp, or a damaged one: the environment counts as unfinished and is installed again.
            return {}
        return found if isinstance(found, dict) else {}

    def _write_stamp(self, locks: Sequence[Path]) -> None:
        content = {"python": self.version(), "locks": {lock.name: checksum(lock) for lock in locks}}
        part = self.path / f"{STAMP}.part"
        part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        part.replace(self.path / STAMP)


def checksum(path: Path) -> str:
    """Give the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _home() -> Path | None:
    home = os.environ.get("HOME", "")
    return Path(home) if home and os.access(home, os.W_OK) else None


def _require_venv_module() -> None:
    if importlib.util.find_spec("venv") is None or importlib.util.find_spec("ensurepip") is None:
        raise EnvironmentFault(f"This Python cannot make virtual environments. {_how_to_get_venv()}")


def _how_to_get_venv() -> str:
    return (
        "Install what is missing and run the command again: `apt install python3-venv` on Debian and Ubuntu "
        f"(`python{sys.version_info[0]}.{sys.version_info[1]}-venv` for this version), or install uv."
    )
