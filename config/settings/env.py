"""Typed readers of environment variables that remember what was declared, for checks and the reference page.

Every secret can also come as `NAME_FILE`, the path of a file that holds it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from django.core.exceptions import ImproperlyConfigured

T = TypeVar("T")

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off", ""})


class SettingError(ImproperlyConfigured):
    """An environment variable cannot be used as it stands."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One setting as the reference page shows it."""

    name: str
    kind: str
    default: str
    meaning: str
    section: str
    secret: bool
    seed_names: Mapping[str, str]


class Environment:
    """Reads settings from a mapping of environment variables and records their declarations."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Read from `values`, the process environment when left out."""
        self._values = os.environ if values is None else values
        self._section = "General"
        self.declarations: dict[str, Declaration] = {}
        self.read: dict[str, Any] = {}
        """What was read for each name, secrets left out."""

    def section(self, title: str) -> None:
        """Begin a section of the reference page; later declarations belong to it.

        One that is begun again is read anew, as Django does with a file of settings of which one cannot be used.
        """
        self._section = title
        self.declarations = {name: kept for name, kept in self.declarations.items() if kept.section != title}

    def string(self, name: str, default: str = "", *, meaning: str, secret: bool = False, **seeds: str) -> str:
        """Read a text; a secret can also be read from the file that `NAME_FILE` names.

        Raises:
            SettingError: both forms are set, or the file cannot be read.
        """
        self._declare(name, "text", default, meaning, secret=secret, seeds=seeds)
        value = self._values.get(name)
        if not secret:
            return self._kept(name, default if value is None else value)
        path = self._values.get(f"{name}_FILE")
        # An empty one is left out: files of services can set a variable to nothing and cannot leave it unset.
        if not path:
            return default if value is None else value
        if value:
            raise SettingError(f"{name} and {name}_FILE are both set. Keep one of them.")
        try:
            return Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SettingError(f"{name}_FILE cannot be read: {error.__class__.__name__}.") from error

    def boolean(self, name: str, default: bool, *, meaning: str, **seeds: str) -> bool:
        """Read a switch: 1, true, yes, on or 0, false, no, off."""

        def parse(text: str) -> bool:
            lowered = text.strip().lower()
            if lowered in TRUE:
                return True
            if lowered in FALSE:
                return False
            raise ValueError("not one of 1, true, yes, on, 0, false, no, off")

        return self._typed(name, "switch", default, parse, meaning, seeds)

    def integer(
        self, name: str, default: int, *, meaning: str, minimum: int = 0, maximum: int | None = None, **seeds: str
    ) -> int:
        """Read a whole number within bounds."""
        bounded = _bounded(int, minimum, maximum, form="a whole number")
        return self._typed(name, "whole number", default, bounded, meaning, seeds)

    def number(
        self, name: str, default: float, *, meaning: str, minimum: float = 0, maximum: float | None = None, **seeds: str
    ) -> float:
        """Read a number within bounds."""
        return self._typed(name, "number", default, _bounded(float, minimum, maximum, form="a number"), meaning, seeds)

    def choice(self, name: str, default: str, options: tuple[str, ...], *, meaning: str, **seeds: str) -> str:
        """Read one of several words."""

        def parse(text: str) -> str:
            if text not in options:
                raise ValueError(f"not one of {', '.join(options)}")
            return text

        return self._typed(name, " or ".join(f"`{option}`" for option in options), default, parse, meaning, seeds)

    def words(self, name: str, default: str = "", *, meaning: str, **seeds: str) -> list[str]:
        """Read a list of words separated by commas."""
        self._declare(name, "comma-separated list", default, meaning, seeds=seeds)
        return self._kept(name, [word.strip() for word in self._values.get(name, default).split(",") if word.strip()])

    def mapping(self, name: str, *, meaning: str, **seeds: str) -> dict[str, Any]:
        """Read a JSON object; empty when left out."""

        def parse(text: str) -> dict[str, Any]:
            try:
                value = json.loads(text or "{}")
            except (ValueError, RecursionError):
                value = None
            if not isinstance(value, dict):
                raise ValueError("not a JSON object")
            return value

        return self._typed(name, "JSON object", {}, parse, meaning, seeds)

    def path(self, name: str, default: Path, *, shown: str, meaning: str) -> Path:
        """Read a directory or file; `shown` stands for the default on the reference page.

        Raises:
            SettingError: it begins with the home of nobody, or its links go round.
        """
        self._declare(name, "path", shown, meaning)
        value = self._values.get(name, "").strip()
        try:
            return self._kept(name, Path(value).expanduser().resolve() if value else default)
        except (OSError, RuntimeError, ValueError) as error:
            raise SettingError(f"{name} cannot be used: not a path that can be followed.") from error

    def _typed(
        self, name: str, kind: str, default: T, parse: Callable[[str], T], meaning: str, seeds: Mapping[str, str]
    ) -> T:
        shown = json.dumps(default) if isinstance(default, bool | dict) else str(default)
        self._declare(name, kind, shown, meaning, seeds=seeds)
        value = self._values.get(name)
        if value is None:
            return self._kept(name, default)
        try:
            return self._kept(name, parse(value))
        except ValueError as error:
            raise SettingError(f"{name} cannot be used: {error}.") from error

    def _kept(self, name: str, value: T) -> T:
        self.read[name] = value
        return value

    def _declare(
        self,
        name: str,
        kind: str,
        default: str,
        meaning: str,
        *,
        secret: bool = False,
        seeds: Mapping[str, str] | None = None,
    ) -> None:
        if name in self.declarations:
            raise SettingError(f"{name} is declared twice.")
        self.declarations[name] = Declaration(name, kind, default, meaning, self._section, secret, dict(seeds or {}))


def _bounded(kind: Callable[[str], Any], minimum: float, maximum: float | None, *, form: str) -> Callable[[str], Any]:
    def parse(text: str) -> Any:
        try:
            value = kind(text)
        except ValueError:
            # The language's own words for it quote the value, and would not tell what is expected.
            raise ValueError(f"not {form}") from None
        if not math.isfinite(value):
            raise ValueError(f"not {form}")
        if value < minimum or (maximum is not None and value > maximum):
            raise ValueError(f"not between {minimum} and {'any number' if maximum is None else maximum}")
        return value

    return parse
