"""Targets that are tables with an owner in each row."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import connection, models

from memory.services.purge.registry import Subject, Traces

# By their places, so that a step costs what it deletes. Of a partitioned table the owner picks one partition, in which
# a place is one row.
DELETE = """
    DELETE FROM {table} WHERE owner_id = %(owner)s
    AND ctid = ANY (ARRAY(SELECT ctid FROM {table} WHERE owner_id = %(owner)s LIMIT %(most)s))
"""


class TableTarget:
    """The rows of one table that belong to an owner."""

    outside = False

    def __init__(self, name: str, model: type[models.Model]) -> None:
        """Build it.

        Args:
            name: what previews and receipts call the rows.
            model: a model with an owner.
        """
        self.name = name
        self.table: str = model._meta.db_table
        self.tables: Sequence[str] = (self.table,)

    def count(self, subject: Subject) -> int:
        """Count the owner's rows."""
        with connection.cursor() as cursor:
            cursor.execute(f'SELECT count(*) FROM "{self.table}" WHERE owner_id = %s', [subject.owner_id])
            return int(cursor.fetchone()[0])

    def erase(self, subject: Subject, most: int) -> int:
        """Delete some of the owner's rows."""
        with connection.cursor() as cursor:
            cursor.execute(
                DELETE.format(table=connection.ops.quote_name(self.table)), {"owner": subject.owner_id, "most": most}
            )
            return int(cursor.rowcount)

    def remains(self, subject: Subject, traces: Traces) -> int:
        """Count the owner's rows that are left."""
        return self.count(subject)
