"""Fetch the Bolt server of the tests once: its jars by pinned hashes, and the program that starts it, compiled."""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
PINS: Final = HERE / "jars.sha256"
SOURCES: Final = (HERE / "pom.xml", HERE / "Serve.java", PINS)
COPY: Final = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
# Ends to waiting, not measurements.
FETCH_SECONDS: Final = 600
COMPILE_SECONDS: Final = 120


class CannotFetch(Exception):
    """The server cannot be had here, and why."""


def fetched(cache: Path) -> Path:
    """Give the folder with the server's jars and the compiled program, filled at the first call.

    Args:
        cache: where folders are kept; several processes may share it. The name holds the hash of what is pinned.

    Raises:
        CannotFetch: Maven or a Java compiler is not here, the network is not, or a file has another hash.
    """
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in SOURCES)).hexdigest()[:12]
    folder = cache / f"bolt-{digest}"
    if (folder / "complete").exists():
        return folder
    missing = [program for program in ("mvn", "javac", "java") if shutil.which(program) is None]
    if missing:
        raise CannotFetch(f"{', '.join(missing)} not found (Debian: apt install maven default-jdk-headless)")
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / "bolt.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            _fill(folder)
    return folder


def _fill(folder: Path) -> None:
    jars = folder / "jars"
    jars.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(HERE / "pom.xml", scratch)
        _run(["mvn", "-q", "-B", COPY, "-DincludeScope=runtime", f"-DoutputDirectory={jars}"], scratch, FETCH_SECONDS)
    differing = sorted(pins_of(jars) ^ pinned())
    if differing:
        raise CannotFetch(f"files that are not as pinned: {', '.join(line.split()[1] for line in differing[:5])}")
    _run(
        ["javac", "-proc:none", "-cp", f"{jars}/*", "-d", str(folder), str(HERE / "Serve.java")],
        str(folder),
        COMPILE_SECONDS,
    )
    (folder / "complete").touch()


def pinned() -> set[str]:
    """Give the lines of the pinned hashes."""
    return set(PINS.read_text().splitlines())


def pins_of(jars: Path) -> set[str]:
    """Write a line for each jar of a folder: its hash and its name."""
    return {f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}" for jar in jars.glob("*.jar")}


def _run(command: list[str], directory: str, seconds: float) -> None:
    try:
        subprocess.run(command, cwd=directory, check=True, capture_output=True, text=True, timeout=seconds)
    except subprocess.CalledProcessError as error:
        said = (error.stdout + error.stderr).strip().splitlines()
        raise CannotFetch(f"{command[0]} ended with {error.returncode}: {' '.join(said[:3])}") from error
    except subprocess.TimeoutExpired as error:
        raise CannotFetch(f"{command[0]} did not end within {seconds:.0f} s") from error


if __name__ == "__main__":
    print(fetched(Path(sys.argv[1])))
