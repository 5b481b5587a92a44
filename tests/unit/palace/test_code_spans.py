"""Commands in sentences are set as code, and nothing else becomes markup."""

from __future__ import annotations

import pytest
from django.utils.translation import gettext_lazy

from memory.palace.code_spans import code_spans


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("Run `manage.py worker`.", 'Run <code translate="no">manage.py worker</code>.'),
        ("One ` alone", "One ` alone"),
        ("<b>`x`</b>", '&lt;b&gt;<code translate="no">x</code>&lt;/b&gt;'),
        ("`<script>`", '<code translate="no">&lt;script&gt;</code>'),
        (gettext_lazy("Recall"), "Recall"),
    ],
)
def test_backticks(written: str, shown: str) -> None:
    assert code_spans(written) == shown
