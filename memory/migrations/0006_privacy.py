"""Add what privacy keeps: purges, the chain of the audit, who read what, what left the machine, and the bus."""

from __future__ import annotations

import django.contrib.postgres.fields
import django.contrib.postgres.functions
import django.db.models.deletion
from django.db import migrations, models

import memory.ids
import memory.models.encrypted
import memory.models.tenancy
from memory.models.tenant_tables import TenantTable

TENANT_TABLES = ["AuditSeal", "BusMessage", "MemoryRead", "OutboundRequest"]

# An event may be put into its seal once; old reads may go when they are sealed; and what a purge has moved may go.
GUARD_EVENTS = """
CREATE FUNCTION loci_guard_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before memory_auditevent;
BEGIN
    IF TG_OP = 'UPDATE' THEN
        before := NEW;
        before.sealed_in := NULL;
        IF OLD.sealed_in IS NULL AND NEW.sealed_in IS NOT NULL AND before IS NOT DISTINCT FROM OLD THEN
            RETURN NEW;
        END IF;
    ELSIF OLD.verb = 'read' AND OLD.sealed_in IS NOT NULL AND OLD.created_at < now() - interval '90 days' THEN
        RETURN OLD;
    ELSIF EXISTS (
        SELECT FROM memory_retiredauditevent r JOIN memory_owner o ON o.pseudonym = r.pseudonym
        WHERE r.id = OLD.id AND o.id = OLD.owner_id AND o.purging_at IS NOT NULL
          AND (r.actor, r.verb, r.object_kind, r.object_id, r.reason, r.count, r.created_at, r.sealed_in, r.proof)
            IS NOT DISTINCT FROM (OLD.actor, OLD.verb, OLD.object_kind, OLD.object_id, OLD.reason, OLD.count,
                                  OLD.created_at, OLD.sealed_in, OLD.proof)
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit is append-only';
END $$
"""
GUARD_SEALS = """
CREATE FUNCTION loci_guard_audit_seals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND EXISTS (
        SELECT FROM memory_owner o JOIN memory_retiredauditseal r ON r.pseudonym = o.pseudonym
        WHERE o.id = OLD.owner_id AND o.purging_at IS NOT NULL AND r.number = OLD.number AND r.digest = OLD.digest
    ) THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'the audit is append-only';
END $$
"""
# What was recorded by an earlier version has no proof and stays; a new event without one is refused.
PROVE_EVENTS = """
CREATE FUNCTION loci_prove_audit_events() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF octet_length(NEW.proof) = 32 AND NEW.sealed_in IS NULL THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'an event of the audit begins with its proof and without a seal';
END $$
"""
# Moments that the application cannot read would keep it from sealing and from purging.
READABLE_MOMENTS = "BETWEEN timestamptz '0001-01-02 00:00:00+00' AND timestamptz '9999-12-30 00:00:00+00'"
MOMENTS = {
    "memory_auditevent": "created_at",
    "memory_auditseal": "sealed_at",
    "memory_retiredauditevent": "created_at",
    "memory_retiredauditseal": "sealed_at",
}
# Whoever changes an owner's row could lead a login to another's memories, and let the audit begin anew.
GUARD_OWNERS = """
CREATE FUNCTION loci_guard_owners() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    outer_owner text := coalesce(current_setting('loci.owner', true), '');
    has_rows boolean;
BEGIN
    IF TG_OP = 'INSERT' THEN
        PERFORM set_config('loci.owner', NEW.id::text, true);
        has_rows := EXISTS (SELECT FROM memory_auditevent WHERE owner_id = NEW.id)
            OR EXISTS (SELECT FROM memory_auditseal WHERE owner_id = NEW.id)
            OR EXISTS (SELECT FROM memory_agent WHERE owner_id = NEW.id)
            OR EXISTS (SELECT FROM memory_memory WHERE owner_id = NEW.id);
        PERFORM set_config('loci.owner', outer_owner, true);
        IF NOT has_rows AND NEW.purging_at IS NULL
           AND NOT EXISTS (SELECT FROM memory_retiredauditevent r WHERE r.pseudonym = NEW.pseudonym) THEN
            RETURN NEW;
        END IF;
        RAISE EXCEPTION 'an owner begins with nothing';
    ELSIF TG_OP = 'DELETE' THEN
        IF OLD.purging_at IS NOT NULL THEN
            RETURN OLD;
        END IF;
        RAISE EXCEPTION 'an owner goes by a purge only';
    END IF;
    IF (NEW.id, NEW.created_at, NEW.pseudonym) IS NOT DISTINCT FROM (OLD.id, OLD.created_at, OLD.pseudonym)
       AND (OLD.purging_at IS NULL OR NEW.purging_at IS NOT DISTINCT FROM OLD.purging_at)
       AND (NEW.user_id IS NOT DISTINCT FROM OLD.user_id OR (NEW.user_id IS NULL AND OLD.purging_at IS NOT NULL)) THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'an owner stays who it is';
END $$
"""


def guarded(table: str, function: str) -> migrations.RunSQL:
    """Let a function decide which changes of a table's rows are refused."""
    return migrations.RunSQL(
        f"CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON {table} "
        f"FOR EACH ROW EXECUTE FUNCTION {function}()",
        f"DROP TRIGGER audit_is_append_only ON {table}",
    )


class Migration(migrations.Migration):
    dependencies = [
        ("memory", "0005_consolidation"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditSeal",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("number", models.PositiveIntegerField()),
                ("acts", models.PositiveIntegerField()),
                ("reads", models.PositiveIntegerField()),
                ("acts_digest", models.BinaryField(max_length=32)),
                ("reads_digest", models.BinaryField(max_length=32)),
                ("previous", models.BinaryField(max_length=32)),
                ("digest", models.BinaryField(max_length=32)),
                ("signature", models.BinaryField(max_length=64)),
                ("sealed_at", models.DateTimeField()),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="BusMessage",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                (
                    "visibility",
                    models.CharField(
                        choices=[("agent", "Agent"), ("squad", "Squad"), ("project", "Project"), ("owner", "Owner")],
                        max_length=8,
                    ),
                ),
                ("scope", models.UUIDField()),
                ("text", memory.models.encrypted.EncryptedTextField()),
                ("topics", memory.models.encrypted.EncryptedJSONField()),
                (
                    "topic_hashes",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), default=list, size=None
                    ),
                ),
                ("importance", models.FloatField()),
                (
                    "pii_kinds",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.CharField(max_length=32), default=list, size=None
                    ),
                ),
                ("published_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="MemoryRead",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "owner_id", "memory_id", "reader", blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                (
                    "memory",
                    memory.models.tenancy.TenantForeignKey(
                        db_index=False, related_name="+", to="memory.memory", when_deleted="CASCADE"
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        editable=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="memory.owner",
                    ),
                ),
                ("reader", models.UUIDField()),
                ("reads", models.PositiveIntegerField(default=0)),
                ("first_at", models.DateTimeField()),
                ("last_at", models.DateTimeField()),
            ],
            options={
                "abstract": False,
                "base_manager_name": "objects",
            },
        ),
        migrations.CreateModel(
            name="OutboundRequest",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("kind", models.CharField(max_length=16)),
                ("component", models.CharField(blank=True, default="", max_length=32)),
                ("host", models.CharField(max_length=253)),
                ("size", models.PositiveIntegerField()),
                ("digest", models.BinaryField(max_length=32)),
                ("signature", models.BinaryField(max_length=32)),
                ("outcome", models.CharField(max_length=32)),
                ("created_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Purge",
            fields=[
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("of_owner", models.UUIDField(null=True)),
                ("pseudonym", models.UUIDField()),
                (
                    "subject",
                    models.CharField(
                        choices=[("owner", "Owner"), ("agent", "Agent"), ("source", "Source"), ("memory", "Memory")],
                        max_length=8,
                    ),
                ),
                ("target", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="waiting",
                        max_length=8,
                    ),
                ),
                ("stage", models.CharField(blank=True, default="", max_length=64)),
                ("position", models.JSONField(default=dict)),
                ("expected", models.JSONField(default=dict)),
                ("erased", models.JSONField(default=dict)),
                ("samples", models.JSONField(null=True)),
                ("requested_by", models.CharField(max_length=64)),
                ("requested_at", models.DateTimeField()),
                ("began_at", models.DateTimeField(null=True)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("finished_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("error_code", models.CharField(blank=True, default="", max_length=64)),
                ("not_before", models.DateTimeField(null=True)),
                ("token_digest", models.BinaryField(max_length=32)),
                ("proof", models.BinaryField(default=bytes, max_length=64)),
                ("receipt", models.JSONField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="RetiredAuditEvent",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("pseudonym", models.UUIDField()),
                ("actor", models.CharField(max_length=64)),
                ("verb", models.CharField(max_length=32)),
                ("object_kind", models.CharField(max_length=32)),
                ("object_id", models.UUIDField(null=True)),
                ("reason", models.CharField(blank=True, default="", max_length=64)),
                ("count", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField()),
                ("sealed_in", models.PositiveIntegerField(blank=True, null=True)),
                ("proof", models.BinaryField(default=bytes, max_length=32)),
            ],
        ),
        migrations.CreateModel(
            name="RetiredAuditSeal",
            fields=[
                ("number", models.PositiveIntegerField()),
                ("acts", models.PositiveIntegerField()),
                ("reads", models.PositiveIntegerField()),
                ("acts_digest", models.BinaryField(max_length=32)),
                ("reads_digest", models.BinaryField(max_length=32)),
                ("previous", models.BinaryField(max_length=32)),
                ("digest", models.BinaryField(max_length=32)),
                ("signature", models.BinaryField(max_length=64)),
                ("sealed_at", models.DateTimeField()),
                ("id", models.UUIDField(default=memory.ids.new_id, editable=False, primary_key=True, serialize=False)),
                ("pseudonym", models.UUIDField()),
            ],
        ),
        migrations.AddField(
            model_name="agent",
            name="capability_epoch",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="agent",
            name="trust",
            field=models.FloatField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="auditevent",
            name="sealed_in",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="auditevent",
            name="proof",
            field=models.BinaryField(default=bytes, max_length=32),
        ),
        migrations.AddField(
            model_name="memory",
            name="classified_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="owner",
            name="pseudonym",
            field=models.UUIDField(
                db_default=django.contrib.postgres.functions.RandomUUID(), editable=False, unique=True
            ),
        ),
        migrations.AddField(
            model_name="owner",
            name="purging_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.AddIndex(
            model_name="memory",
            index=models.Index(
                condition=models.Q(("reply_to__isnull", False)), fields=["owner", "reply_to"], name="memory_by_reply"
            ),
        ),
        migrations.AddIndex(
            model_name="auditevent",
            index=models.Index(condition=models.Q(("sealed_in", None)), fields=["owner", "id"], name="audit_unsealed"),
        ),
        migrations.AddField(
            model_name="auditseal",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="memory.owner",
            ),
        ),
        migrations.AddField(
            model_name="busmessage",
            name="group",
            field=memory.models.tenancy.TenantForeignKey(
                blank=True, db_index=False, null=True, related_name="+", to="memory.agentgroup", when_deleted="CASCADE"
            ),
        ),
        migrations.AddField(
            model_name="busmessage",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="memory.owner",
            ),
        ),
        migrations.AddField(
            model_name="busmessage",
            name="publisher",
            field=memory.models.tenancy.TenantForeignKey(
                db_index=False, related_name="+", to="memory.agent", when_deleted="CASCADE"
            ),
        ),
        migrations.AddField(
            model_name="outboundrequest",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                editable=False,
                on_delete=django.db.models.deletion.DO_NOTHING,
                related_name="+",
                to="memory.owner",
            ),
        ),
        migrations.AddIndex(
            model_name="purge",
            index=models.Index(
                condition=models.Q(("state__in", ["waiting", "running"])), fields=["requested_at"], name="purge_open"
            ),
        ),
        migrations.AddIndex(
            model_name="purge",
            index=models.Index(fields=["of_owner", "-requested_at"], name="purge_by_owner"),
        ),
        migrations.AddConstraint(
            model_name="purge",
            constraint=models.UniqueConstraint(fields=("token_digest",), name="purge_token_once"),
        ),
        migrations.AddIndex(
            model_name="retiredauditevent",
            index=models.Index(fields=["pseudonym", "created_at"], name="retired_audit_by_time"),
        ),
        migrations.AddConstraint(
            model_name="retiredauditseal",
            constraint=models.UniqueConstraint(fields=("pseudonym", "number"), name="retired_seal_once"),
        ),
        migrations.AddConstraint(
            model_name="auditseal",
            constraint=models.UniqueConstraint(fields=("owner", "number"), name="audit_seal_once"),
        ),
        migrations.AddIndex(
            model_name="busmessage",
            index=models.Index(fields=["owner", "publisher", "-published_at"], name="bus_by_publisher"),
        ),
        migrations.AddIndex(
            model_name="outboundrequest",
            index=models.Index(fields=["owner", "-created_at"], name="outbound_by_time"),
        ),
        *[TenantTable(name) for name in TENANT_TABLES],
        migrations.RunSQL(
            "DROP TRIGGER audit_is_append_only ON memory_auditevent",
            "CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON memory_auditevent "
            "FOR EACH ROW EXECUTE FUNCTION loci_refuse_change()",
        ),
        migrations.RunSQL(GUARD_EVENTS, "DROP FUNCTION loci_guard_audit_events()"),
        migrations.RunSQL(GUARD_SEALS, "DROP FUNCTION loci_guard_audit_seals()"),
        migrations.RunSQL(PROVE_EVENTS, "DROP FUNCTION loci_prove_audit_events()"),
        migrations.RunSQL(
            "CREATE TRIGGER audit_event_is_proved BEFORE INSERT ON memory_auditevent "
            "FOR EACH ROW EXECUTE FUNCTION loci_prove_audit_events()",
            "DROP TRIGGER audit_event_is_proved ON memory_auditevent",
        ),
        *[
            migrations.RunSQL(
                f"ALTER TABLE {table} ADD CONSTRAINT {table}_readable CHECK ({column} {READABLE_MOMENTS})",
                f"ALTER TABLE {table} DROP CONSTRAINT {table}_readable",
            )
            for table, column in MOMENTS.items()
        ],
        guarded("memory_auditevent", "loci_guard_audit_events"),
        guarded("memory_auditseal", "loci_guard_audit_seals"),
        guarded("memory_retiredauditevent", "loci_refuse_change"),
        guarded("memory_retiredauditseal", "loci_refuse_change"),
        migrations.RunSQL(GUARD_OWNERS, "DROP FUNCTION loci_guard_owners()"),
        migrations.RunSQL(
            "CREATE TRIGGER owner_stays_who_it_is BEFORE INSERT OR UPDATE OR DELETE ON memory_owner "
            "FOR EACH ROW EXECUTE FUNCTION loci_guard_owners()",
            "DROP TRIGGER owner_stays_who_it_is ON memory_owner",
        ),
    ]
