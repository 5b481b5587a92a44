"""What `LOCI_HTTPS` switches on, as Django's own check of deployments sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
TOLD = """
import json, django
from django.conf import settings
django.setup()
names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SESSION_COOKIE_HTTPONLY", "SESSION_COOKIE_SAMESITE",
         "SECURE_HSTS_SECONDS", "SECURE_PROXY_SSL_HEADER", "SECURE_CONTENT_TYPE_NOSNIFF", "SESSION_COOKIE_AGE")
print(json.dumps({name: getattr(settings, name) for name in names}))
"""


def run(*command: str, https: bool) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "LOCI_HTTPS": str(https).lower(), "LOCI_NO_BOOTSTRAP": "1"}
    return subprocess.run(
        [sys.executable, *command], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )


def test_the_check_of_deployments_finds_nothing_behind_tls() -> None:
    answer = run("manage.py", "check", "--deploy", "--fail-level", "WARNING", https=True)
    assert answer.returncode == 0, answer.stdout + answer.stderr


def test_without_tls_the_check_says_so() -> None:
    answer = run("manage.py", "check", "--deploy", "--fail-level", "WARNING", https=False)
    assert answer.returncode == 1
    assert {word for word in ("security.W004", "security.W012", "security.W016") if word in answer.stderr} == {
        "security.W004",
        "security.W012",
        "security.W016",
    }


@pytest.mark.parametrize("https", [True, False])
def test_cookies_and_headers(https: bool) -> None:
    found = json.loads(run("-c", TOLD, https=https).stdout)
    assert found == {
        "SESSION_COOKIE_SECURE": https,
        "CSRF_COOKIE_SECURE": https,
        "SESSION_COOKIE_HTTPONLY": True,
        "SESSION_COOKIE_SAMESITE": "Lax",
        "SECURE_HSTS_SECONDS": 31_536_000 if https else 0,
        "SECURE_PROXY_SSL_HEADER": ["HTTP_X_FORWARDED_PROTO", "https"] if https else None,
        "SECURE_CONTENT_TYPE_NOSNIFF": True,
        "SESSION_COOKIE_AGE": 14 * 24 * 60 * 60,
    }
