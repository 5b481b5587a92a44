"""The SQL that sets up a database."""

from __future__ import annotations

import pytest

from runtime.errors import ProvisionFault
from runtime.postgres.roles import BEFORE_RESTORE, ROLES, checked_name, script

LONGEST_IDENTIFIER = 63


@pytest.mark.parametrize("name", ["loci", "Loci_2", "_a", "my-db", "x" * 48])
def test_usable_names(name: str) -> None:
    assert checked_name(name) == name
    assert len(name + BEFORE_RESTORE) <= LONGEST_IDENTIFIER


@pytest.mark.parametrize("name", ["", "1st", "-a", 'a"b', "a b", "a;b", "x" * 49, "é", "a\x00", "a\n", "a'b"])
def test_unusable_names(name: str) -> None:
    with pytest.raises(ProvisionFault):
        checked_name(name)
    with pytest.raises(ProvisionFault):
        script(name)


def test_only_the_backup_role_passes_row_level_security() -> None:
    assert [role.name for role in ROLES if role.reads_all] == ["loci_backup"]
    for role in ROLES:
        assert ("NOBYPASSRLS" in role.attributes) is not role.reads_all
