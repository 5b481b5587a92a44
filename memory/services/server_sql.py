"""Expressions in SQL that say which database a connection leads to, and whether its role is held by the walls."""

from __future__ import annotations

from typing import Final

IDENTITY: Final = "(current_database() || ' ' || (pg_control_system()).system_identifier)"
"""The same for two ways to one database and for its streaming replicas, and for no other."""

# A role that owns a table is under its walls while they are forced on it, and may end that.
IS_HELD: Final = """coalesce((
    SELECT row_security_active(c.oid) AND pg_get_userbyid(c.relowner) <> current_user
    FROM pg_class c WHERE c.oid = to_regclass('memory_memory')
), false)"""
"""False for a superuser, for a role that passes row-level security by, for the owner of the tables, and without any."""
