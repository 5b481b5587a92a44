"""What the Dockerfile says, read without a builder: stages, copies, variables, the tree that an image would hold."""

from __future__ import annotations

import fnmatch
import re
import shlex
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from tests.environment import PROJECT

DOCKERFILE = PROJECT / "Dockerfile"
IGNORED = PROJECT / ".dockerignore"


@dataclass
class Stage:
    """One stage: the image that it starts from, and its instructions in their order."""

    base: str
    name: str
    instructions: list[tuple[str, str]] = field(default_factory=list)

    def of(self, instruction: str) -> list[str]:
        """Give the arguments of each instruction of a kind."""
        return [argument for name, argument in self.instructions if name == instruction]


def stages(text: str | None = None) -> list[Stage]:
    """Read the stages of the Dockerfile."""
    plain = re.sub(r"^\s*#.*\n", "", text or DOCKERFILE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    found: list[Stage] = []
    for line in re.sub(r"\\\n", " ", plain).splitlines():
        name, _, argument = line.strip().partition(" ")
        if name == "FROM":
            base, _, alias = argument.partition(" AS ")
            found.append(Stage(base.strip(), alias.strip()))
        elif name:
            found[-1].instructions.append((name, " ".join(argument.split())))
    return found


def last() -> Stage:
    """Give the stage that becomes the image."""
    return stages()[-1]


def environment() -> dict[str, str]:
    """Give the variables that the image sets."""
    return dict(pair.split("=", 1) for argument in last().of("ENV") for pair in shlex.split(argument))


def copies(stage: Stage) -> list[tuple[list[str], str]]:
    """Give what a stage copies from the project: sources and target."""
    found = []
    for argument in stage.of("COPY"):
        *words, target = argument.split()
        if not any(word.startswith("--from=") for word in words):
            found.append(([word for word in words if not word.startswith("--")], target))
    return found


def places() -> list[str]:
    """Give the folders that the image makes for its own user."""
    return [
        word
        for argument in last().of("RUN")
        for command in re.findall(r"install -d ([^&]+)", argument)
        for word in command.split()
        if word.startswith("/")
    ]


def sent(path: str) -> bool:
    """Tell whether a file of the project is sent to the builder; the last rule that fits decides."""
    taken = True
    for rule in IGNORED.read_text(encoding="utf-8").splitlines():
        rule = rule.strip()
        if rule and not rule.startswith("#"):
            wanted, pattern = rule.startswith("!"), rule.removeprefix("!")
            if _fits(path, pattern):
                taken = wanted
    return taken


def _fits(path: str, pattern: str) -> bool:
    parts = path.split("/")
    beginnings = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    if pattern.startswith("**/"):
        return any(fnmatch.fnmatchcase(part, pattern.removeprefix("**/")) for part in parts)
    # A star stands for no slash.
    return any(fnmatch.fnmatchcase(one, pattern) for one in beginnings if one.count("/") == pattern.count("/"))


def materialise(target: Path) -> None:
    """Copy into an empty folder what the image would hold of the project."""
    for sources, where in copies(last()):
        for source in sources:
            path = PROJECT / source
            into = target / (where if path.is_dir() else f"{where}/{path.name}")
            if path.is_dir():
                shutil.copytree(path, into, ignore=_unsent)
            else:
                assert sent(source), f"{source} is copied and not sent"
                shutil.copy2(path, into)


def _unsent(folder: str, names: list[str]) -> set[str]:
    base = Path(folder).relative_to(PROJECT)
    return {name for name in names if not sent((base / name).as_posix())}
