#!/usr/bin/env python3
"""Run a command of Loci: `python3 manage.py up`, `python3 manage.py test`, `python3 manage.py help`."""
# This file must parse on any Python, old ones too, so that those can be told what is missing.

import os
import sys

OLDEST_PYTHON = (3, 11)


def main():
    # type: () -> int
    """Prepare the virtual environment and run the command in it."""
    if sys.version_info < OLDEST_PYTHON:
        sys.stderr.write(
            "Loci needs Python 3.11 or newer; this is Python " + ".".join(map(str, sys.version_info[:2])) + ".\n"
            "Install one (Debian: apt install python3.11 python3.11-venv; macOS: brew install python) and run it\n"
            "by name, for example: python3.11 manage.py up\n"
        )
        return 1
    from runtime import bootstrap
    from runtime.errors import RuntimeFault

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        bootstrap.prepare(sys.argv)
        if sys.argv[1:2] in (["test"], ["lint"]):
            # Neither sees, nor makes, the data and keys of the user who runs it.
            import tests.environment  # noqa: F401
        return run()
    except RuntimeFault as error:
        sys.stderr.write(error.message + "\n")
        return 1
    except KeyboardInterrupt:
        return 130


def run():
    # type: () -> int
    """Run the command in this process, which has the packages for it."""
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        # A setting that cannot be used; where in the code it is read helps nobody.
        sys.stderr.write(str(error) + "\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
