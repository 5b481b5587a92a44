"""Build the model's runtime files once and keep them in the cache; safe when several processes start together.

`python -m memory.providers.minilm.build [DIRECTORY]` does it ahead of time.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import EmbedderUnavailable
from memory.providers.minilm.source_files import DIGESTS, installed_files, sha256, verify
from runtime.paths import cache_directory

NAME = "all-MiniLM-L6-v2"
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
MANIFEST = "manifest.json"
# The published limit of the model; one limit everywhere, because vectors of longer cuts differ.
MAX_TOKENS = 256
# Raise it when `graph.py` writes other files than before.
GRAPH_VERSION = 2
# The build takes a few seconds; a machine under load gets a generous multiple of it.
BUILD_SECONDS = 180.0
LOCK_POLL_SECONDS = 0.05


def default_directory() -> Path:
    """Give the folder of the built files; its name changes with the weights, the token limit and the graph."""
    identity = json.dumps([dict(DIGESTS), MAX_TOKENS, GRAPH_VERSION], sort_keys=True)
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    return cache_directory() / "models" / f"{NAME}-{digest}"


def ensure_built(directory: Path | None = None) -> Path:
    """Give the folder with intact runtime files, building them when they are missing or damaged.

    The build runs in a process of its own, so that its libraries and buffers do not stay in this one. It takes about
    4 seconds and 90 MB of disk; afterwards a call costs the reading of those 90 MB.

    Args:
        directory: where the files belong; `default_directory()` when left out.

    Raises:
        EmbedderUnavailable: the model is not installed or not the published one, or the folder cannot be written.
    """
    target = directory or default_directory()
    if intact(target):
        return target
    with _locked(target):
        if not intact(target):
            _run_build(target)
    if not intact(target):
        raise EmbedderUnavailable("The local embedding model was built, but its files are not intact.")
    return target


def intact(directory: Path) -> bool:
    """Tell whether the folder holds every file of its manifest, unchanged."""
    try:
        digests = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
        return bool(digests) and all(sha256(directory / name) == digest for name, digest in digests.items())
    except (OSError, ValueError, AttributeError, EmbedderUnavailable):
        return False


def build(target: Path) -> None:
    """Build the files beside `target` and move them into place; whoever calls it holds the lock.

    Raises:
        EmbedderUnavailable: the installed files are missing or not the published ones.
        OSError: the folder cannot be written.
    """
    from memory.providers.minilm.graph import write_graph

    source = installed_files()
    verify(source)
    with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as made:
        work = Path(made) / target.name
        work.mkdir(mode=0o755)
        write_graph(source, work / MODEL_FILE, positions=MAX_TOKENS)
        shutil.copyfile(source / TOKENIZER_FILE, work / TOKENIZER_FILE)
        digests = {path.name: _settled(path) for path in sorted(work.iterdir())}
        (work / MANIFEST).write_text(json.dumps(digests, indent=2), encoding="utf-8")
        if target.exists():
            # Damaged, or made by hand: it goes away with the temporary folder.
            target.rename(Path(made) / "replaced")
        work.rename(target)


def _settled(path: Path) -> str:
    path.chmod(0o644)
    with path.open("rb") as file:
        os.fsync(file.fileno())
    return sha256(path)


def _run_build(target: Path) -> None:
    root = str(Path(__file__).resolve().parents[3])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    command = [sys.executable, "-m", "memory.providers.minilm.build", "--locked", str(target)]
    try:
        done = subprocess.run(
            command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, timeout=BUILD_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EmbedderUnavailable(
            f"The local embedding model could not be built ({error.__class__.__name__})."
        ) from error
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise EmbedderUnavailable(f"The local embedding model could not be built: {said[-1] if said else 'no reason'}")


@contextmanager
def _locked(target: Path) -> Iterator[None]:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(target.parent / f".{target.name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise EmbedderUnavailable(
            f"The folder for the local embedding model cannot be written ({error.__class__.__name__}). "
            "Set LOCI_CACHE_DIR to a folder that can."
        ) from error
    try:
        _wait_for(descriptor)
        yield
    finally:
        # Closing releases the lock; so does the end of the process.
        os.close(descriptor)


def _wait_for(descriptor: int) -> None:
    deadline = time.monotonic() + BUILD_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise EmbedderUnavailable(
                    "Another process is building the local embedding model and does not finish."
                ) from None
            time.sleep(LOCK_POLL_SECONDS)


def main(arguments: list[str]) -> int:
    """Build from the command line; with `--locked` the caller already holds the lock."""
    held = "--locked" in arguments
    given = [argument for argument in arguments if argument != "--locked"]
    target = Path(given[0]).resolve() if given else default_directory()
    try:
        if held:
            build(target)
        else:
            ensure_built(target)
    except (EmbedderUnavailable, OSError, ValueError) as error:
        said = error.message if isinstance(error, EmbedderUnavailable) else error.__class__.__name__
        sys.stderr.write(f"{said}\n")
        return 1
    if not held:
        sys.stdout.write(f"{target}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
