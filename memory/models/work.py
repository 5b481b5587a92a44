"""Which owners have background work waiting, so that jobs need not look at everybody."""

from __future__ import annotations

from django.db import models


class DueWork(models.Model):
    """One kind of work that waits for one owner. Ids and times only, outside row-level security for the workers."""

    VECTORS = "vectors"
    TOKENS = "tokens"
    ERASE = "erase"
    EXPIRE = "expire"
    CONSOLIDATE = "consolidate"
    CONSOLIDATE_NOW = "consolidate_now"
    CONSOLIDATE_RETRY = "consolidate_retry"
    REKEY = "rekey"
    CLASSIFY = "classify"
    LAYOUT = "layout"
    PROJECT = "project"
    SPACES = "spaces"

    owner = models.ForeignKey("memory.Owner", on_delete=models.CASCADE, related_name="+")
    job = models.CharField(max_length=32)
    due_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "job"], name="due_work_once")]
        indexes = [models.Index(fields=["job", "due_at"], name="due_work_by_time")]

    def __str__(self) -> str:
        return f"{self.job} for {self.owner_id}"
